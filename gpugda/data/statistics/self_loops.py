"""The nodes with self-loops, and pairs of their other relationships with one other node."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.runs import positions, repeated
from gpugda.data.statistics.derived import Derived
from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

    _Runs = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]
    _Counted = tuple[NDArray[np.uint64], NDArray[np.int64]]

__all__ = ["LoopNodes", "LoopPairs", "SelfLoops"]

_PIECE = 1 << 18
"""Runs, or entries beside loops, that a thread reads at a time: the arrays stay in the caches."""


class LoopNodes(NamedTuple):
    """Nodes with self-loops of one type, or of some.

    Args:
        nodes: ``uint32``, ascending.
        counts: ``int64``, the number of self-loops of each.
    """

    nodes: NDArray[np.uint32]
    counts: NDArray[np.int64]


_NO_LOOPS = LoopNodes(np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64))


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

    def of(self, types: frozenset[int]) -> LoopNodes:
        """The nodes with self-loops of any of these types, and all such loops of each.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        return self._known.get(("of", types), lambda: self._of(types))

    def pairs(self, type_id: int) -> LoopPairs:
        """Pairs of relationships of the type at nodes with self-loops of it.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        return self._known.get(("pairs", type_id), lambda: self._pairs(type_id))

    def _nodes(self, type_id: int) -> LoopNodes:
        if not self._counts[type_id]:
            return _NO_LOOPS
        runs, nodes, counts = self._known.get("runs", self._runs)
        of_type = self._outgoing.run_types[runs] == type_id
        return LoopNodes(nodes[of_type], counts[of_type])

    def _of(self, types: frozenset[int]) -> LoopNodes:
        some = [self.nodes(each) for each in sorted(types)]
        if len(some) == 1:
            return some[0]
        all_nodes, all_counts = (
            np.concatenate([none, *parts]) for none, *parts in zip(_NO_LOOPS, *some, strict=True)
        )
        nodes, places = np.unique(all_nodes, return_inverse=True)
        counts = np.zeros(len(nodes), dtype=np.int64)
        np.add.at(counts, places, all_counts)
        return LoopNodes(nodes, counts)

    def _runs(self) -> _Runs:
        """All runs with self-loops, the node of each, and its number of loops."""
        found: list[_Runs] = []
        left = sum(self._counts)
        for some in in_threads_ahead(
            self._runs_in, pieces_of(len(self._outgoing.run_types), _PIECE)
        ):
            check_time()
            found.append(some)
            left -= int(some[2].sum())
            if left == 0:
                break
        runs, nodes, counts = zip(*found, strict=True)
        return np.concatenate(runs), np.concatenate(nodes), np.concatenate(counts)

    def _runs_in(self, piece: slice) -> _Runs:
        offsets, low, high = self._outgoing.run_offsets, np.uint32(piece.start), piece.stop
        first = int(np.searchsorted(offsets, low, side="right")) - 1
        last = int(np.searchsorted(offsets, np.uint32(high), side="left"))
        lengths = np.diff(offsets[first : last + 1].clip(low, np.uint32(high)))
        nodes = repeated(np.arange(first, last, dtype=np.uint32), lengths)
        starts = self._outgoing.run_starts[piece.start : high + 1]
        neighbours = self._outgoing.neighbours
        places = _places_from(neighbours, starts[:-1], starts[1:], nodes)
        reached = neighbours.take(places, mode="clip")
        runs = np.flatnonzero((places < starts[1:]) & (reached == nodes))
        nodes = nodes[runs]
        ends = _places_from(neighbours, places[runs], starts[runs + 1], nodes + np.uint32(1))
        return (runs + piece.start).astype(np.uint32), nodes, (ends - places[runs]).astype(np.int64)

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


def _places_from(
    neighbours: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    wanted: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """First place in each run whose neighbour is at least the wanted one, else the run's end."""
    found = starts.copy()
    left, places, sizes = np.arange(len(starts)), starts.copy(), ends - starts
    while len(left):
        half = sizes >> 1
        middles = places + half
        is_less = (neighbours.take(middles, mode="clip") < wanted) & (sizes > 0)
        places = np.where(is_less, middles + np.uint32(1), places)
        sizes = np.where(is_less, sizes - half - np.uint32(1), half)
        found[left] = places
        going = np.flatnonzero(sizes)
        if len(going) < len(left) // 2 or not len(going):
            left, places = left[going], places[going]
            sizes, wanted = sizes[going], wanted[going]
    return found
