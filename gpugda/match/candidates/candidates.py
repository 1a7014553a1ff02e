"""Candidates of query nodes: a bitmap each, and lists of those that are enumerated."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.candidate_filter import Batch
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

__all__ = ["Candidates", "CollectedCandidates"]

_SHARE_FOR_LIST = 1 / 8
"""Share of the free memory for a list of candidates."""
_BYTES_PER_WORD = 8
"""Bytes of prefix sums per word of a row, while its list is made."""
_READ_WORDS = 1 << 16
"""Words of a row that are downloaded at once."""
_MAX_WINDOW = 32 * _READ_WORDS


@value(frozen=True, slots=True, eq=False)
class Candidates:
    """The candidates of all query nodes.

    Args:
        rows: Row of the matrix per position of a query node.
        arrays: The arrays that kernels read.
        adjacencies: Offset in the query's words per (row, relationship).
        matrix: ``uint32[rows * words]``, one bit per candidate.
        counts: Number of candidates per row.
        lists: Per listed row: an array of ``uint32`` node indexes, ascending, and the row's offset
            in it.
        explored: True if neighbours were explored.
        degrees: Degrees of nodes that the host counted, by what was counted; see `DegreeCounts`.
    """

    rows: Mapping[int, int]
    arrays: FilterArrays
    adjacencies: Mapping[tuple[int, int], int]
    matrix: DeviceArray
    counts: Sequence[int]
    lists: dict[int, tuple[DeviceArray, int]]
    explored: bool
    degrees: dict[object, NDArray[Any]] = field(default_factory=dict, kw_only=True)

    def count(self, position: int) -> int:
        """The number of a query node's candidates."""
        return self.counts[self.rows[position]]

    def listed(self, run: Run, position: int) -> tuple[DeviceArray, int, int]:
        """A query node's candidates as node indexes: the array, the first offset, their number.

        The list is made on first use, and kept as long as the candidates.

        Raises:
            MemoryLimitError: There is no room for it.
        """
        row = self.rows[position]
        if row not in self.lists:
            self.lists[row] = self._list(run, row), 0
        return *self.lists[row], self.counts[row]

    def fits_list(self, run: Run, position: int) -> bool:
        """True if a query node's candidates are listed already, or their list leaves much room."""
        row = self.rows[position]
        needed = 4 * self.counts[row] + _BYTES_PER_WORD * self.arrays.words
        return row in self.lists or needed <= run.workspace.available * _SHARE_FOR_LIST

    def windows(self, run: Run, position: int, most: int) -> Iterator[NDArray[np.uint32]]:
        """Yields at most ``most`` node indexes at a time, ascending; the device lists none."""
        words = self.arrays.words
        first = self.rows[position] * words
        for begin in range(0, words, _READ_WORDS):
            size = min(_READ_WORDS, words - begin)
            bits = run.workspace.download(self.matrix, first + begin, size).view(np.uint8)
            found = np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.uint32)
            found += np.uint32(32 * begin)
            for low in range(0, len(found), most):
                yield found[low : low + most]

    def on_host(self, run: Run, position: int) -> NDArray[np.uint32]:
        """A query node's candidates, as node indexes on the host, ascending."""
        if self.fits_list(run, position):
            listed: NDArray[np.uint32] = run.workspace.download(*self.listed(run, position))
            return listed
        return np.concatenate([np.zeros(0, np.uint32), *self.windows(run, position, _MAX_WINDOW)])

    def device_arrays(self) -> Iterator[DeviceArray]:
        """The device arrays that they hold."""
        yield from (self.matrix, self.arrays.query)
        yield from {id(nodes): nodes for nodes, _ in tuple(self.lists.values())}.values()
        for mask in (self.arrays.node_masks, self.arrays.relationship_masks):
            if mask is not None:
                yield mask

    def _list(self, run: Run, row: int) -> DeviceArray:
        workspace, words = run.workspace, self.arrays.words
        ranks = run.kernels.prefix_sum.run(workspace, self.matrix, row * words, words, of_bits=True)
        nodes = workspace.allocate(max(self.counts[row], 1), np.uint32, "listed candidates")
        run.kernels.candidate_filter.collect_candidates(
            self.arrays, Batch(row, 1), self.matrix, ranks, self.matrix, nodes
        )
        workspace.release(ranks)
        workspace.hand_over(nodes)
        return nodes


@value(frozen=True, slots=True, eq=False)
class CollectedCandidates(Candidates):
    """Candidates with all rows listed, one after the other.

    Args:
        ranks: ``uint64[rows * words + 1]``, prefix sums of the bits of the matrix.
        nodes: ``uint32``, node indexes of all candidates.
        firsts: Offset of each row's first candidate in ``nodes``, and the total.
    """

    ranks: DeviceArray
    nodes: DeviceArray
    firsts: Sequence[int]

    def first(self, position: int) -> int:
        """Offset of a query node's first candidate in ``nodes``."""
        return self.firsts[self.rows[position]]
