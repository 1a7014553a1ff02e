"""Selects the entries of one direction that some link can follow, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.launch.kept_entries import Chunk, KeptBits, KeptEntries, KeptKernels, entry_words
from gpugda.match.extend.segments.kept_runs import directory_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.csr import Csr
    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["SAFETY", "Kept", "Reducer"]

_ENTRY_BYTES = 4
_MAX_CHUNK, _MIN_CHUNK = 1 << 24, 1 << 12
_CHUNK_SHARE = 1 / 16
"""Share of the free memory for each of two chunks with their bits and sums."""
_CHUNK_BYTES = 10
"""Bytes per entry: neighbour, relationship index, and a share of bits and sums."""
_SHARE_WHILE_MADE = 0.8
"""Share of the free memory for kept entries."""
_MIN_FREED_SHARE = 1 / 16
"""Share of the free memory that copying to shorter arrays must free."""
SAFETY = 1.25
"""There must be room for this many times the expected entries."""
_SPARE = 1 << 12


class Kept(NamedTuple):
    """The kept entries of one direction; ``total`` counts them even if not all were written.

    Offsets and types of runs are set if runs without entries are dropped; in a graph with one type,
    the offsets are the list of its rows (see ``csr.h``).
    """

    neighbours: DeviceArray
    numbers: DeviceArray | None
    starts: DeviceArray
    offsets: DeviceArray | None
    types: DeviceArray | None
    total: int

    def arrays(self) -> list[DeviceArray]:
        """The device arrays that it holds."""
        return [each for each in self[:5] if each is not None]


class Reducer:
    """Selects the entries of one direction that pass the tests."""

    def __init__(
        self,
        run: Run,
        candidates: Candidates,
        name: str,
        directory: Sequence[Any],
        tests: Sequence[EntryTest],
        *,
        numbered: bool,
    ) -> None:
        graph = run.graph
        self._run, self._candidates = run, candidates
        self._csr: Csr = graph.direction(name)
        self._numbered = numbered
        self._entry_bytes = _ENTRY_BYTES * (2 if numbered else 1)
        self._total = graph.graph.relationship_count
        self._kernels = KeptKernels(graph.context)
        self._tests = tests
        self._runs = directory_of(run, self._csr, self._kernels, directory, candidates, tests)
        chunk_bytes = _CHUNK_BYTES + self._runs.chunk_bytes
        size = int(run.workspace.available * _CHUNK_SHARE) // chunk_bytes
        self._size = max(_MIN_CHUNK, min(_MAX_CHUNK, size, -(-self._total // 32) * 32)) & ~31

    def run(self, expected: float) -> Kept | None:
        """The entries that pass the tests; None if they do not fit.

        Raises:
            MemoryLimitError: There is no room for chunks.
        """
        workspace = self._run.workspace
        if not self._runs.cut(self._size):
            return None
        asked = np.array(entry_words(self._tests), dtype=np.uint32)
        words = workspace.upload(asked, "what links ask")
        chunk_arrays = self._chunk_arrays()
        free = workspace.available - self._runs.fixed_bytes
        room = int(free * _SHARE_WHILE_MADE) // (self._entry_bytes + self._runs.entry_bytes)
        room = min(room, workspace.context.info.max_allocation_bytes // _ENTRY_BYTES)
        # Nodes with many relationships are more likely candidates than others.
        likely = max(int(SAFETY * expected) + _SPARE, room // 2)
        capacity = max(1, min(room, self._total, likely))
        found = self._kept(words, chunk_arrays, capacity)
        if capacity < found.total <= room:  # their number is known now
            workspace.release(*found.arrays())
            capacity = found.total
            found = self._kept(words, chunk_arrays, capacity)
        workspace.release(words, *chunk_arrays, *self._runs.arrays())
        if found.total <= capacity:
            found = self._shortened(found, capacity)
            return found._replace(starts=self._runs.without_empty(found.starts))
        workspace.release(*found.arrays())
        return None

    def _kept(
        self, words: DeviceArray, chunk_arrays: Sequence[DeviceArray | None], capacity: int
    ) -> Kept:
        """Streams the whole direction; writes at most ``capacity`` entries."""
        workspace = self._run.workspace
        chunks = -(-self._total // self._size)
        starts, runs = self._runs.target(chunks, capacity)
        target = KeptEntries(
            workspace.upload(np.zeros(chunks + 1, dtype=np.uint64), "kept entries"),
            capacity,
            workspace.allocate(capacity, np.uint32, "kept entries"),
            workspace.allocate(capacity, np.uint32, "kept entries") if self._numbered else None,
            starts,
            runs,
        )
        self._stream(words, target, chunk_arrays)
        count = int(workspace.download(target.kept, chunks, 1)[0])
        workspace.release(target.kept)
        if runs is None:
            listed = self._runs.listed
            return Kept(target.neighbours, target.numbers, starts, listed, None, count)
        workspace.release(runs.kept)
        found = target.neighbours, target.numbers, starts, runs.offsets, runs.types
        return Kept(*found, count)

    def _shortened(self, found: Kept, capacity: int) -> Kept:
        """Copies the entries to arrays of exact length, if that frees much memory and fits."""
        each_bytes = self._entry_bytes + self._runs.entry_bytes
        spare = each_bytes * (capacity - found.total)
        workspace = self._run.workspace
        if spare < workspace.available * _MIN_FREED_SHARE:
            return found
        if each_bytes * found.total > workspace.available * _SHARE_WHILE_MADE:
            return found
        neighbours = self._as_long(found.neighbours, found.total)
        numbers = None if found.numbers is None else self._as_long(found.numbers, found.total)
        short = found._replace(neighbours=neighbours, numbers=numbers)
        if found.offsets is not None and found.types is not None:
            runs = int(workspace.download(found.offsets, found.offsets.count - 1, 1)[0])
            types, starts = self._as_long(found.types, runs), self._as_long(found.starts, runs + 1)
            short = short._replace(types=types, starts=starts)
        kept = {id(each) for each in short.arrays()}
        workspace.release(*[each for each in found.arrays() if id(each) not in kept])
        return short

    def _chunk_arrays(self) -> list[DeviceArray | None]:
        """Arrays for two chunks of neighbours and relationship indexes, and for bits."""
        workspace = self._run.workspace
        neighbours = workspace.allocate(2 * self._size, np.uint32, "entries of a chunk")
        numbers = None
        if self._numbered and self._csr.relationship_indexes is not None:
            numbers = workspace.allocate(2 * self._size, np.uint32, "entries of a chunk")
        bits = workspace.allocate(self._size // 32, np.uint32, "kept entries of a chunk")
        return [neighbours, numbers, bits]

    def _as_long(self, array: DeviceArray, count: int) -> DeviceArray:
        workspace = self._run.workspace
        found = workspace.allocate(max(1, count), array.dtype, "kept entries")
        if count:
            workspace.copy_part(array, 0, found, 0, count)
        return found

    def _stream(
        self, words: DeviceArray, target: KeptEntries, arrays: Sequence[DeviceArray | None]
    ) -> None:
        uploads, candidates = self._run.workspace.uploads(), self._candidates
        neighbours, numbers, bits = arrays
        assert neighbours is not None
        assert bits is not None
        sizes = [
            (first, min(self._size, self._total - first))
            for first in range(0, self._total, self._size)
        ]
        coming = self._send(uploads, arrays, 0, sizes[0]) if sizes else []
        for number, (first, count) in enumerate(sizes):
            self._run.check_deadline()
            events = coming
            if number + 1 < len(sizes):
                coming = self._send(uploads, arrays, number + 1, sizes[number + 1])
            uploads.wait_on_device(events)
            place = number % 2 * self._size
            chunk = Chunk(neighbours, numbers, place, first, count, number)
            runs = self._runs.seen(number)
            self._kernels.find(runs, chunk, words, candidates.matrix, candidates.arrays.words, bits)
            sums = self._run.kernels.prefix_sum.run(
                self._run.workspace, bits, 0, -(-count // 32), of_bits=True
            )
            found = KeptBits(bits, sums)
            self._kernels.write(chunk, found, target)
            self._runs.write(chunk, found, target)
            self._run.workspace.release(sums)

    def _send(
        self,
        uploads: Uploads,
        arrays: Sequence[DeviceArray | None],
        number: int,
        size: tuple[int, int],
    ) -> list[Any]:
        first, count = size
        page_locked, place = self._run.graph.page_locked, number % 2 * self._size
        hosts = (self._csr.neighbours, self._csr.relationship_indexes)
        entries = [
            uploads.begin(array, place, page_locked.part(host, first, first + count))
            for array, host in zip(arrays, hosts, strict=False)
            if array is not None and host is not None
        ]
        return [*entries, *self._runs.send(number, uploads)]
