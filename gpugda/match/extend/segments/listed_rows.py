"""The directory of kept entries in a graph with one type: of rows that some link may start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.kept_entries import (
    HEADER_WORDS,
    WORDS_OF_32,
    KeptBits,
    ListedKernels,
    NodeStarts,
    Runs,
)
from gpugda.device.launch.query_words import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.csr import Csr
    from gpugda.device.launch.kept_entries import Chunk, EntryTest, KeptEntries, KeptRuns
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["ListedRows", "listed_bytes", "listed_count"]

_BYTES = 4
_LIST_BYTES = 8 + 4 + 8
"""Bytes per 32 nodes: of the list, and of marks and their sums while it is made."""
_FILLED_SHARE = 3 / 4
"""Rows without entries are dropped if at most this share of the rows has any."""
_CHUNK_SHARE = 1 / 8
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
        if 2 * _BYTES * self._size > workspace.available * _CHUNK_SHARE:
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
