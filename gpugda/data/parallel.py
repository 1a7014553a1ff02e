"""Maximum number of relationships of a type between two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpugda.data.node_ranges import bits_for
from gpugda.data.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["max_parallel", "max_parallel_undirected"]

_PIECE = 1 << 20
"""Approximate number of outgoing relationships per piece."""
_NODE_BITS = 16

_Found: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"
"""Types of relationships that have parallel ones, and how many are parallel."""


def max_parallel(csr: Csr, type_count: int) -> tuple[int, ...]:
    """Per type id, the most relationships with the same start and end; 1 if there are none.

    ``csr`` may be of either direction.
    """

    def look(nodes: tuple[int, int]) -> _Found:
        first, last = nodes
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

    return _most(in_threads(look, list(_pieces(csr))), type_count)


def max_parallel_undirected(
    outgoing: Csr, incoming: Csr, type_count: int, bounds: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Like `max_parallel`, with start and end in either order. A loop counts once.

    Args:
        outgoing: Rows by start node.
        incoming: Rows by end node.
        type_count: The number of types.
        bounds: Upper bounds by type, which replace maxima above 1: a type is not looked at again
            when two parallel relationships of it are found. None: exact maxima.
    """
    type_bits = bits_for(type_count)
    node_shift = np.uint64(32 + type_bits)
    is_open = np.ones(type_count, dtype=np.bool_)

    def look(nodes: tuple[int, int]) -> _Found:
        first, last = nodes
        open_types = None if is_open.all() else is_open
        keys = np.concatenate(
            [_keys(csr, first, last, type_bits, open_types) for csr in (outgoing, incoming)]
        )
        keys.sort(kind="stable")  # merges two sorted parts
        firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
        lengths = np.diff(firsts, append=len(keys))
        several = firsts[lengths > 1]
        lengths = lengths[lengths > 1]
        found = keys[several]
        is_loop = (found >> node_shift) + np.uint64(first) == found & np.uint64(0xFFFFFFFF)
        types = (found >> np.uint64(32)) & np.uint64((1 << type_bits) - 1)
        lengths = np.where(is_loop, lengths // 2, lengths)
        if bounds is not None:
            types, lengths = types[lengths > 1], lengths[lengths > 1]
            is_open[types] = False
        return types, lengths

    pieces = list(_pieces(outgoing, 1 << min(_NODE_BITS, 32 - type_bits)))
    counts = _most(in_threads(look, pieces), type_count)
    if bounds is None:
        return counts
    return tuple([1 if most == 1 else bound for most, bound in zip(counts, bounds, strict=True)])


def _most(found: Iterable[_Found], type_count: int) -> tuple[int, ...]:
    """Per type, the largest of the counts found; 1 if there are none."""
    counts = np.ones(type_count, dtype=np.int64)
    for types, lengths in found:
        np.maximum.at(counts, types, lengths)
    return tuple(counts.tolist())


def _keys(
    csr: Csr, first: int, last: int, type_bits: int, wanted: NDArray[np.bool_] | None
) -> NDArray[np.uint64]:
    """Keys of the entries of a node range: node, type, neighbour (low 32 bits); increasing.

    ``wanted`` tells by type which runs to take; None: all.
    """
    runs = csr.run_offsets[first : last + 1]
    begin, end = int(runs[0]), int(runs[-1])
    types, starts = csr.run_types[begin:end], csr.run_starts[begin : end + 1]
    lengths = np.diff(starts)
    owners = np.repeat(np.arange(last - first, dtype=np.uint64), np.diff(runs))
    neighbours = csr.neighbours[int(starts[0]) : int(starts[-1])]
    if wanted is not None:
        taken = wanted[types]
        neighbours = neighbours[np.repeat(taken, lengths)]
        types, lengths, owners = types[taken], lengths[taken], owners[taken]
    heads = owners << np.uint64(32 + type_bits)
    heads |= types.astype(np.uint64) << np.uint64(32)
    return np.repeat(heads, lengths) | neighbours


def _pieces(csr: Csr, max_nodes: int = 1 << _NODE_BITS) -> Iterator[tuple[int, int]]:
    """First node and end (exclusive) of pieces of at least one node each."""
    first = 0
    while first < csr.node_count:
        limit = np.uint32(min(int(csr.row_offsets[first]) + _PIECE, csr.relationship_count))
        last = int(np.searchsorted(csr.row_offsets, limit, side="right")) - 1
        last = min(max(first + 1, last), first + max_nodes, csr.node_count)
        yield first, last
        first = last
