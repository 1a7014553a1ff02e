"""The nodes with self-loops, and pairs of their other relationships with one other node."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.derived import Derived
from gpugda.data.runs import positions, repeated
from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

    _Counted = tuple[NDArray[np.uint64], NDArray[np.int64]]

__all__ = ["LoopNodes", "LoopPairs", "SelfLoops"]

_PIECE = 1 << 20
"""Entries that a thread reads at a time: the arrays stay in the caches."""


class LoopNodes(NamedTuple):
    """Nodes with self-loops of one type.

    Args:
        nodes: ``uint32``, ascending.
        counts: ``int64``, the number of self-loops of each.
    """

    nodes: NDArray[np.uint32]
    counts: NDArray[np.int64]


class LoopPairs(NamedTuple):
    """Sums over nodes with self-loops of one type, each as many times as it has loops.

    Args:
        out_out: Ordered pairs of relationships from the node to one other node.
        in_in: Ordered pairs from one other node to the node.
        out_in: Pairs of one from the node to another node and one back.
        loops: Ordered pairs of the node's other self-loops.
    """

    out_out: int
    in_in: int
    out_in: int
    loops: int


class SelfLoops:
    """The self-loops of a graph, found when they are first needed.

    Args:
        outgoing: The graph's relationships by start node.
        incoming: The same by end node.
        counts: Number of self-loops per type.
    """

    def __init__(self, outgoing: Csr, incoming: Csr, counts: Sequence[int]) -> None:
        self._outgoing, self._incoming, self._counts = outgoing, incoming, counts
        self._known = Derived()

    def nodes(self, type_id: int) -> LoopNodes:
        """The nodes with self-loops of a type.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        return self._known.get(("nodes", type_id), lambda: self._nodes(type_id))

    def pairs(self, type_id: int) -> LoopPairs:
        """Pairs of relationships of the type at nodes with self-loops of it.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        return self._known.get(("pairs", type_id), lambda: self._pairs(type_id))

    def _nodes(self, type_id: int) -> LoopNodes:
        found = np.empty(0, dtype=np.uint32)
        if self._counts[type_id]:
            entries = self._known.get("entries", self._entries)
            runs = np.searchsorted(self._outgoing.run_starts, entries, side="right") - 1
            found = self._outgoing.neighbours[entries[self._outgoing.run_types[runs] == type_id]]
        nodes, counts = np.unique(found, return_counts=True)
        return LoopNodes(nodes, counts.astype(np.int64))

    def _entries(self) -> NDArray[np.uint32]:
        """Places of all self-loops among the outgoing entries; stops after the last one."""
        found, left = [np.empty(0, dtype=np.uint32)], sum(self._counts)
        pieces = pieces_of(self._outgoing.relationship_count, _PIECE)
        for some in in_threads_ahead(self._entries_in, pieces):
            check_time()
            found.append(some)
            left -= len(some)
            if left == 0:
                break
        return np.concatenate(found)

    def _entries_in(self, piece: slice) -> NDArray[np.uint32]:
        offsets, low, high = self._outgoing.row_offsets, np.uint32(piece.start), piece.stop
        first = int(np.searchsorted(offsets, low, side="right")) - 1
        last = int(np.searchsorted(offsets, np.uint32(high), side="left"))
        lengths = np.diff(offsets[first : last + 1].clip(low, np.uint32(high)))
        starts = repeated(np.arange(first, last, dtype=np.uint32), lengths)
        places = np.flatnonzero(starts == self._outgoing.neighbours[piece])
        return places.astype(np.uint32) + low

    def _pairs(self, type_id: int) -> LoopPairs:
        nodes, counts = self.nodes(type_id)
        degrees = np.zeros(len(nodes), dtype=np.int64)
        for csr in (self._outgoing, self._incoming):
            degrees += csr.row_offsets[nodes.astype(np.int64) + 1]
            degrees -= csr.row_offsets[nodes]
        # A piece ends before the node whose rows begin after its share.
        shares = np.cumsum(degrees) // _PIECE
        cuts = [0, *(np.flatnonzero(np.diff(shares)) + 1).tolist(), len(nodes)]
        pieces = [slice(*each) for each in pairwise(cuts)]

        def count(piece: slice) -> tuple[int, int, int]:
            return self._pairs_at(nodes[piece], counts[piece], type_id)

        out_out = in_in = out_in = 0
        for some in in_threads_ahead(count, pieces):
            check_time()
            out_out, in_in, out_in = out_out + some[0], in_in + some[1], out_in + some[2]
        loops = int((counts * (counts - 1) * (counts - 2)).sum())
        return LoopPairs(out_out, in_in, out_in, loops)

    def _pairs_at(
        self, nodes: NDArray[np.uint32], loops: NDArray[np.int64], type_id: int
    ) -> tuple[int, int, int]:
        def sum_of(found: NDArray[np.uint64], products: NDArray[np.int64]) -> int:
            return int((loops[(found >> np.uint64(32)).astype(np.int64)] * products).sum())

        ahead, outgoing = _neighbours_of(self._outgoing, nodes, type_id)
        behind, incoming = _neighbours_of(self._incoming, nodes, type_id)
        both, one, other = np.intersect1d(ahead, behind, assume_unique=True, return_indices=True)
        return (
            sum_of(ahead, outgoing * (outgoing - 1)),
            sum_of(behind, incoming * (incoming - 1)),
            sum_of(both, outgoing[one] * incoming[other]),
        )


def _neighbours_of(csr: Csr, nodes: NDArray[np.uint32], type_id: int) -> _Counted:
    """Other nodes that relationships of a type connect with some nodes, and how many do.

    Each has the position of the node in its upper 32 bits, the neighbour in the lower ones.
    """
    first = csr.run_offsets[nodes]
    count = csr.run_offsets[nodes.astype(np.int64) + 1] - first
    owners = repeated(np.arange(len(nodes), dtype=np.uint64), count)
    runs = positions(first, count)
    of_type = csr.run_types[runs] == type_id
    owners, runs = owners[of_type], runs[of_type]
    starts = csr.run_starts[runs]
    lengths = csr.run_starts[runs.astype(np.int64) + 1] - starts
    neighbours = csr.neighbours[positions(starts, lengths)]
    places = repeated(owners, lengths)
    keys = (places << np.uint64(32) | neighbours)[neighbours != nodes[places.astype(np.int64)]]
    firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
    return keys[firsts], np.diff(firsts, append=len(keys))
