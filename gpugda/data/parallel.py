"""Maximum number of relationships of a type between two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpugda.data.node_ranges import bits_for
from gpugda.data.runs import positions, repeated
from gpugda.data.threads import core_count, in_threads
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["ParallelCounts"]

_PIECE = 1 << 18
"""Approximate number of outgoing relationships per piece: each core takes 60 bytes for each."""
_NODE_BITS = 16
_PIECES_PER_CORE = 4
"""Pieces of each core between two checks of the deadline."""

_Found: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"
"""Types of relationships that have parallel ones, and how many are parallel."""


class ParallelCounts:
    """Counts per type id the most relationships between two nodes; 1 if there are none.

    It counts piece by piece in several threads. A count that a deadline interrupts continues where
    it stopped.

    Args:
        csrs: The rows of one direction, to count relationships with the same start and end; or of
            both, to count these in either order. Then a loop counts once.
        type_count: Number of types.
        bounds: Twice the counts of one direction, which replace counts above 1 in either order: a
            type is no longer looked at once two parallel relationships of it are known, and one
            direction may have shown them already. None: exact counts.
    """

    def __init__(
        self, csrs: Sequence[Csr], type_count: int, bounds: Sequence[int] | None = None
    ) -> None:
        self._csrs, self._bounds = csrs, bounds
        self._type_bits = bits_for(type_count)
        self._counts = np.ones(type_count, dtype=np.int64)
        self._is_open = np.ones(type_count, dtype=np.bool_)
        if bounds is not None:
            self._is_open = np.array(bounds, dtype=np.int64) <= 2
            self._counts[~self._is_open] = 2
        most = _NODE_BITS if len(csrs) == 1 else min(_NODE_BITS, 32 - self._type_bits)
        self._left = list(_pieces(csrs[0], 1 << most))[::-1]

    def found(self) -> tuple[int, ...]:
        """The counts.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        look = self._one_way if len(self._csrs) == 1 else self._either_way
        at_once = _PIECES_PER_CORE * core_count()
        while self._left and self._is_open.any():
            check_time()
            for types, lengths in in_threads(look, self._left[-at_once:]):
                np.maximum.at(self._counts, types, lengths)
            del self._left[-at_once:]
        counts = self._counts.tolist()
        if self._bounds is None:
            return tuple(counts)
        bounded = zip(counts, self._bounds, strict=True)
        return tuple([1 if most == 1 else bound for most, bound in bounded])

    def _one_way(self, nodes: tuple[int, int]) -> _Found:
        (csr,), (first, last) = self._csrs, nodes
        begin, end = int(csr.row_offsets[first]), int(csr.row_offsets[last])
        runs = slice(int(csr.run_offsets[first]), int(csr.run_offsets[last]))
        starts, neighbours = csr.run_starts[runs] - np.uint32(begin), csr.neighbours[begin:end]
        is_first = np.ones(end - begin, dtype=np.bool_)
        np.not_equal(neighbours[1:], neighbours[:-1], out=is_first[1:])
        is_first[starts] = True
        firsts = np.flatnonzero(is_first)
        lengths = np.diff(firsts, append=end - begin)
        several = lengths > 1
        of_runs = np.searchsorted(starts, firsts[several], side="right") - 1
        return csr.run_types[runs][of_runs], lengths[several]

    def _either_way(self, nodes: tuple[int, int]) -> _Found:
        first, last = nodes
        bits, node_shift = self._type_bits, np.uint64(32 + self._type_bits)
        open_types = None if self._is_open.all() else self._is_open
        keys = np.concatenate([_keys(csr, first, last, bits, open_types) for csr in self._csrs])
        keys.sort(kind="stable")  # merges two sorted parts
        firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
        lengths = np.diff(firsts, append=len(keys))
        several = firsts[lengths > 1]
        lengths = lengths[lengths > 1]
        found = keys[several]
        is_loop = (found >> node_shift) + np.uint64(first) == found & np.uint64(0xFFFFFFFF)
        types = (found >> np.uint64(32)) & np.uint64((1 << bits) - 1)
        lengths = np.where(is_loop, lengths // 2, lengths)
        if self._bounds is not None:
            types, lengths = types[lengths > 1], lengths[lengths > 1]
            self._is_open[types] = False
        return types, lengths


def _keys(
    csr: Csr, first: int, last: int, type_bits: int, wanted: NDArray[np.bool_] | None
) -> NDArray[np.uint64]:
    """Keys of the entries of a node range: node, type, neighbour (low 32 bits); increasing.

    ``wanted`` tells by type which runs to take; None: all.
    """
    offsets = csr.run_offsets[first : last + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    types, starts = csr.run_types[begin:end], csr.run_starts[begin : end + 1]
    if wanted is None:
        owners = repeated(np.arange(last - first, dtype=np.uint64), np.diff(offsets))
        lengths = np.diff(starts)
        neighbours = csr.neighbours[int(starts[0]) : int(starts[-1])]
    else:
        runs = np.flatnonzero(wanted[types])
        places = runs.astype(np.uint32) + np.uint32(begin)
        owners = (np.searchsorted(offsets, places, side="right") - 1).astype(np.uint64)
        types, lengths = types[runs], starts[runs + 1] - starts[runs]
        neighbours = csr.neighbours[positions(starts[runs], lengths)]
    heads = owners << np.uint64(32 + type_bits)
    heads |= types.astype(np.uint64) << np.uint64(32)
    keys = repeated(heads, lengths)
    keys |= neighbours
    return keys


def _pieces(csr: Csr, max_nodes: int = 1 << _NODE_BITS) -> Iterator[tuple[int, int]]:
    """First node and end (exclusive) of pieces of at least one node each."""
    first = 0
    while first < csr.node_count:
        limit = np.uint32(min(int(csr.row_offsets[first]) + _PIECE, csr.relationship_count))
        last = int(np.searchsorted(csr.row_offsets, limit, side="right")) - 1
        last = min(max(first + 1, last), first + max_nodes, csr.node_count)
        yield first, last
        first = last
