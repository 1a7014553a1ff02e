"""Selects the entries of one direction that some link can follow, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gpugda.device.launch.kept_entries import (
    HEADER_WORDS,
    WORDS_OF_32,
    Chunk,
    KeptBits,
    KeptEntries,
    KeptKernels,
    KeptRuns,
    ListedKernels,
    NodeStarts,
    RunKernels,
    Runs,
    entry_words,
)
from gpugda.device.launch.query_words import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.csr import Csr
    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run


__all__ = [
    "SAFETY",
    "FullDirectory",
    "Kept",
    "ListedRows",
    "Reducer",
    "RunDirectory",
    "StreamedDirectory",
    "directory_of",
    "listed_bytes",
    "listed_count",
]

_BYTES = 4
_LIST_BYTES = 8 + 4 + 8
"""Bytes per 32 nodes: of the list, and of marks and their sums while it is made."""
_FILLED_SHARE = 3 / 4
"""Rows without entries are dropped if at most this share of the rows has any."""
_LISTED_SHARE = 1 / 8
"""Share of the free memory for the row offsets of two chunks."""


class ListedRows:
    """See `RunDirectory`: the rows that a test may start from, one after the other.

    Args:
        run: The query's run.
        csr: The rows on the host.
        offsets: ``uint32[n+1]``, row offsets on the device; None if they are sent with entries.
        candidates: Candidates of the query nodes.
        tests: What entries are tested for.
    """

    entry_bytes = 0

    def __init__(
        self,
        run: Run,
        csr: Csr,
        offsets: DeviceArray | None,
        candidates: Candidates,
        tests: Sequence[EntryTest],
    ) -> None:
        self._run, self._csr, self._offsets, self._candidates = run, csr, offsets, candidates
        self._sends = offsets is None
        self._kernels = ListedKernels(run.graph.context)
        bound = {NONE if each.bound_row is None else each.bound_row for each in tests}
        self._rows = [NONE] if NONE in bound else sorted(bound)
        nodes, entries = csr.node_count, csr.relationship_count
        self.chunk_bytes = _BYTES * -(-nodes // max(1, entries)) if self._sends else 0
        self.fixed_bytes = listed_bytes(nodes, listed_count(candidates, tests, nodes))
        self.listed: DeviceArray | None = None
        self._count = 0

    def cut(self, size: int) -> bool:
        """See `RunDirectory.cut`."""
        csr, workspace = self._csr, self._run.workspace
        starts, total = csr.row_offsets, csr.relationship_count
        firsts = np.arange(0, max(1, total), size, dtype=np.uint32)
        self._begins = np.append(
            np.searchsorted(starts, firsts), np.searchsorted(starts, np.uint32(total))
        )
        # The first row of a chunk may start before the chunk.
        self._lows = np.searchsorted(starts, firsts, side="right") - 1
        self._lows = np.minimum(self._lows, self._begins[:-1])
        if not self._sends:
            return True
        self._size = int((self._begins[1:] - self._lows).max(initial=0)) + 1
        if 2 * _BYTES * self._size > workspace.available * _LISTED_SHARE:
            return False  # there are many more nodes than relationships
        self._offsets = workspace.allocate(2 * self._size, np.uint32, "row offsets of a chunk")
        return True

    def arrays(self) -> Sequence[DeviceArray | None]:
        """See `RunDirectory.arrays`."""
        return (self._offsets,) if self._sends else ()

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """See `RunDirectory.target`."""
        del capacity
        workspace, candidates = self._run.workspace, self._candidates
        words, nodes = candidates.arrays.words, self._csr.node_count
        rows = workspace.upload(np.array([len(self._rows), *self._rows], dtype=np.uint32))
        marks = workspace.allocate(max(1, words), np.uint32, "kept rows")
        self._kernels.mark(candidates.matrix, words, nodes, rows, marks)
        sums = self._run.kernels.prefix_sum.run(workspace, marks, 0, words, of_bits=True)
        size = HEADER_WORDS + WORDS_OF_32 * words
        self.listed = workspace.allocate(size, np.uint32, "kept rows")
        self._kernels.list(KeptBits(marks, sums), words, self.listed)
        self._count = int(workspace.download(sums, words, 1)[0])
        workspace.release(rows, marks, sums)
        starts = workspace.allocate(self._count + 1, np.uint32, "starts of kept rows")
        if not chunks:
            workspace.fill(starts, 0)
        return starts, None

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """See `RunDirectory.send`."""
        if not self._sends:
            return []
        assert self._offsets is not None
        low, end = int(self._lows[number]), int(self._begins[number + 1])
        offsets = self._run.graph.page_locked.part(self._csr.row_offsets, low, end + 1)
        return [uploads.begin(self._offsets, number % 2 * self._size, offsets)]

    def seen(self, number: int) -> Runs:
        """See `RunDirectory.seen`."""
        assert self._offsets is not None
        nodes = self._csr.node_count
        if not self._sends:
            return Runs(self._offsets, nodes, None, None, nodes)
        low, end = int(self._lows[number]), int(self._begins[number + 1])
        return Runs(self._offsets, end - low, None, None, nodes, number % 2 * self._size, low)

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """See `RunDirectory.write`."""
        assert self._offsets is not None
        assert self.listed is not None
        number, nodes = chunk.number, self._csr.node_count
        begin, end = (int(each) for each in self._begins[number : number + 2])
        place, known = begin, nodes + 1 - begin
        if self._sends:
            place = number % 2 * self._size + begin - int(self._lows[number])
            known = end + 1 - begin
        last = nodes + 1 if number == len(self._lows) - 1 else end
        window = NodeStarts(self._offsets, place, known, begin, last - begin)
        self._kernels.start(window, nodes, chunk, found, (self.listed, self._count), target)

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """See `RunDirectory.without_empty`: rewrites the list, too."""
        assert self.listed is not None
        workspace, words = self._run.workspace, self._candidates.arrays.words
        if workspace.available < _BYTES * (self._count + 1) + _LIST_BYTES * words:
            return starts
        marks = workspace.allocate(max(1, words), np.uint32, "kept rows")
        self._kernels.mark_filled(self.listed, starts, words, marks)
        sums = self._run.kernels.prefix_sum.run(workspace, marks, 0, words, of_bits=True)
        count, found = int(workspace.download(sums, words, 1)[0]), starts
        if count < self._count * _FILLED_SHARE:
            marked = KeptBits(marks, sums)
            found = workspace.allocate(count + 1, np.uint32, "starts of kept rows")
            self._kernels.move((self.listed, self._count), starts, marked, words, found)
            self._kernels.list(marked, words, self.listed)
            self._count = count
            workspace.release(starts)
        workspace.release(marks, sums)
        return found


def listed_count(candidates: Candidates, tests: Sequence[EntryTest], nodes: int) -> int:
    """Maximum number of nodes that some test may start from."""
    bound = {each.bound_row for each in tests}
    if None in bound:
        return nodes
    return min(nodes, sum(candidates.counts[each] for each in bound if each is not None))


def listed_bytes(nodes: int, count: int) -> int:
    """Bytes of the list of ``count`` rows in a graph, while it is made."""
    return _LIST_BYTES * -(-nodes // 32) + _BYTES * (count + 1)


class RunDirectory(Protocol):
    """The directory of one direction, while its entries pass in chunks.

    Attributes:
        chunk_bytes: Maximum directory bytes per entry of a chunk.
        entry_bytes: Maximum directory bytes per kept entry.
        fixed_bytes: Further bytes of the kept directory.
        listed: The list of the rows that are kept, once `target` was called; None if all are.
    """

    chunk_bytes: int
    entry_bytes: int
    fixed_bytes: int
    listed: DeviceArray | None

    def cut(self, size: int) -> bool:
        """Allocates arrays for the directory parts of chunks of ``size`` entries.

        Returns False if there is no room for them.
        """

    def arrays(self) -> Sequence[DeviceArray | None]:
        """The arrays that `cut` allocated."""

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """Arrays for the starts and runs of ``capacity`` entries."""

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """Starts to send a chunk's part of the directory. Returns the events to wait for."""

    def seen(self, number: int) -> Runs:
        """The runs that have entries in a chunk."""

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """Writes the directory of the entries that are kept of a chunk."""

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """The starts of the runs without those that keep no entry, if many keep none."""


def directory_of(
    run: Run,
    csr: Csr,
    kernels: KeptKernels,
    arguments: Sequence[Any],
    candidates: Candidates,
    tests: Sequence[EntryTest],
) -> RunDirectory:
    """The directory of one direction.

    Args:
        run: The query's run.
        csr: The rows on the host.
        kernels: Kernels of the device.
        arguments: The direction's part of ``GRAPH_PARAMETERS`` on the device.
        candidates: Candidates of the query nodes.
        tests: What entries are tested for.
    """
    _, offsets, types, all_starts = arguments
    if len(run.graph.graph.types) <= 1:
        return ListedRows(run, csr, all_starts, candidates, tests)
    if all_starts is None:
        return StreamedDirectory(run, csr)
    runs = Runs(all_starts, len(csr.run_starts) - 1, offsets, types, csr.node_count)
    return FullDirectory(run, csr.run_starts, kernels, runs)


class FullDirectory:
    """A directory in which all runs stay: only their starts are rewritten.

    Args:
        run: The query's run.
        starts: Starts of the runs, on the host.
        kernels: Kernels of the device.
        runs: All runs.
    """

    chunk_bytes = entry_bytes = 0
    listed: DeviceArray | None = None

    def __init__(self, run: Run, starts: Any, kernels: KeptKernels, runs: Runs) -> None:
        self._workspace, self._starts, self._kernels, self._runs = (
            run.workspace,
            starts,
            kernels,
            runs,
        )
        self.fixed_bytes = _BYTES * len(starts)
        self._total = int(starts[-1])

    def cut(self, size: int) -> bool:
        """See `RunDirectory.cut`: nothing is sent."""
        del size
        return True

    def arrays(self) -> Sequence[DeviceArray | None]:
        """See `RunDirectory.arrays`."""
        return ()

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """See `RunDirectory.target`."""
        del chunks, capacity
        return self._workspace.allocate(len(self._starts), np.uint32, "starts of runs"), None

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """See `RunDirectory.send`."""
        del number, uploads
        return []

    def seen(self, number: int) -> Runs:
        """See `RunDirectory.seen`: all runs."""
        del number
        return self._runs

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """See `RunDirectory.without_empty`: all runs stay."""
        return starts

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """See `RunDirectory.write`."""
        window = self._window(chunk.first, chunk.count)
        self._kernels.start(self._runs, window, chunk, found, target)

    def _window(self, first: int, count: int) -> tuple[int, int]:
        """The runs that start in a chunk; for the last chunk, also those after it."""
        low = int(np.searchsorted(self._starts, np.uint32(first)))
        if first + count == self._total:
            return low, len(self._starts)
        return low, int(np.searchsorted(self._starts, np.uint32(first + count)))


class StreamedDirectory:
    """A directory whose runs are sent with the entries; runs that keep no entry are dropped.

    Args:
        run: The query's run.
        csr: The rows on the host, of a graph with several types.
    """

    listed: DeviceArray | None = None

    def __init__(self, run: Run, csr: Csr) -> None:
        self._run, self._csr = run, csr
        self._kernels = RunKernels(run.graph.context)
        self._types_dtype = csr.run_types.dtype
        self.entry_bytes = _BYTES + self._types_dtype.itemsize
        self.chunk_bytes = self.entry_bytes
        self.fixed_bytes = _BYTES * (csr.node_count + 1)

    def cut(self, size: int) -> bool:
        """See `RunDirectory.cut`."""
        starts, workspace = self._csr.run_starts, self._run.workspace
        firsts = np.arange(0, self._csr.relationship_count, size, dtype=np.uint32)
        # No run is empty. The first run of a chunk may start before the chunk.
        self._begins = np.searchsorted(starts, firsts)
        self._begins = np.append(self._begins, len(starts) - 1)
        self._lows = np.searchsorted(starts, firsts, side="right") - 1
        most = int((self._begins[1:] - self._lows).max(initial=0))
        self._size = most + 1
        self._offsets = workspace.upload(self._csr.run_offsets, "runs of nodes")
        self._starts = workspace.allocate(2 * self._size, np.uint32, "runs of a chunk")
        self._types = workspace.allocate(2 * self._size, self._types_dtype, "runs of a chunk")
        self._bits = workspace.allocate(-(-self._size // 32), np.uint32, "kept runs of a chunk")
        return True

    def arrays(self) -> Sequence[DeviceArray | None]:
        """See `RunDirectory.arrays`."""
        return self._offsets, self._starts, self._types, self._bits

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """See `RunDirectory.target`: each chunk may add one run without entries."""
        workspace, most = self._run.workspace, capacity + chunks
        most = min(most, len(self._csr.run_types))
        starts = workspace.allocate(most + 1, np.uint32, "kept runs")
        kept = workspace.upload(np.zeros(chunks + 1, dtype=np.uint64), "kept runs")
        types = workspace.allocate(most, self._types_dtype, "kept runs")
        offsets = workspace.allocate(self._offsets.count, np.uint32, "runs of nodes")
        return starts, KeptRuns(kept, most, types, offsets)

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """See `RunDirectory.send`."""
        low, high = int(self._lows[number]), int(self._begins[number + 1])
        place, page_locked = number % 2 * self._size, self._run.graph.page_locked
        return [
            uploads.begin(
                self._starts, place, page_locked.part(self._csr.run_starts, low, high + 1)
            ),
            uploads.begin(self._types, place, page_locked.part(self._csr.run_types, low, high)),
        ]

    def seen(self, number: int) -> Runs:
        """See `RunDirectory.seen`."""
        return self._runs(number, int(self._lows[number]))

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """See `RunDirectory.without_empty`: runs without entries were not written."""
        return starts

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """See `RunDirectory.write`."""
        first, last = (int(each) for each in self._begins[chunk.number : chunk.number + 2])
        runs = self._runs(chunk.number, first)
        self._kernels.find(runs, chunk, found, self._bits)
        sums = self._run.kernels.prefix_sum.run(
            self._run.workspace, self._bits, 0, max(1, -(-runs.count // 32)), of_bits=True
        )
        offsets = self._csr.run_offsets
        nodes = [int(np.searchsorted(offsets, np.uint32(each))) for each in (first, last)]
        if chunk.number == len(self._lows) - 1:
            nodes[1] = len(offsets)
        window = (nodes[0], nodes[1])
        self._kernels.write(runs, chunk, found, KeptBits(self._bits, sums), target, window)
        self._run.workspace.release(sums)

    def _runs(self, number: int, first: int) -> Runs:
        """The runs of a chunk, starting with run ``first``."""
        low, high = int(self._lows[number]), int(self._begins[number + 1])
        place = number % 2 * self._size + first - low
        nodes = self._csr.node_count
        return Runs(self._starts, high - first, self._offsets, self._types, nodes, place, first)


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
