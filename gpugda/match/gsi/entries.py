"""The entries of one partition of the relationships on the host, by owner, then neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.deadline import check_time
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph

__all__ = ["PIECE", "Entries", "Partition", "sorted_entries"]

PIECE = 1 << 20
"""Entries that NumPy sorts or copies between two checks of the deadline."""
_MAX_ENTRIES = 0xFFFFFFFE


class Partition(NamedTuple):
    """Relationships of some types (None for any), seen along one or both directions."""

    types: tuple[int, ...] | None
    outgoing: bool
    incoming: bool


class Entries(NamedTuple):
    """Entries of lists: owner, neighbour and relationship index; each ``uint32``."""

    owners: NDArray[np.uint32]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]


def sorted_entries(graph: DataGraph, partition: Partition) -> Entries:
    """The entries of a partition, by owner, then by neighbour.

    Raises:
        MemoryLimitError: There are more than 32-bit offsets can address.
        QueryTimeoutError: The deadline of this thread's work passed.
    """
    if partition.outgoing and partition.incoming and 2 * graph.relationship_count > _MAX_ENTRIES:
        raise MemoryLimitError(
            f"lists of undirected relationships have up to {2 * graph.relationship_count:,} "
            f"entries, and at most {_MAX_ENTRIES:,} are possible: give a direction, or leave the "
            "strategy to gpugda"
        )
    types = partition.types
    if types is not None and len(types) == len(graph.types):
        types = None
    used = ((graph.outgoing, partition.outgoing), (graph.incoming, partition.incoming))
    csrs = [csr for csr, is_used in used if is_used]
    if len(csrs) == 1 and types is None and len(graph.types) <= 1:
        return _all_of(csrs[0])
    is_sorted = len(csrs) == 1 and types is not None and len(types) == 1
    counts = graph.statistics.type_counts
    count = sum(counts) if types is None else sum(counts[each] for each in types)
    found = Entries(*(np.empty(len(csrs) * count, dtype=np.uint32) for _ in range(3)))
    total = 0
    for nodes in _owner_ranges(csrs):
        check_time()
        pieces = [_entries_of(csr, types, len(graph.types), nodes) for csr in csrs]
        if len(pieces) == 2:
            back = pieces[1].owners != pieces[1].neighbours  # a self-loop is in its list once
            pieces[1] = Entries(*(each[back] for each in pieces[1]))
        piece = Entries(*(np.concatenate(each) for each in zip(*pieces, strict=True)))
        if not is_sorted:  # rows are sorted by neighbour within a type
            piece = _sorted(piece, nodes[0], graph.node_count)
        end = total + len(piece.owners)
        for whole, part in zip(found, piece, strict=True):
            whole[total:end] = part
        total = end
    return Entries(*(each[:total] for each in found))


def _owner_ranges(csrs: Sequence[Csr]) -> Iterator[tuple[int, int]]:
    """Yields ranges of nodes with about a `PIECE` of entries in each direction, or one node."""
    first, nodes = 0, csrs[0].node_count
    while first < nodes:
        ends = []
        for csr in csrs:
            most = min(int(csr.row_offsets[first]) + PIECE, csr.relationship_count)
            ends.append(int(np.searchsorted(csr.row_offsets, np.uint32(most), side="right")) - 1)
        last = max(first + 1, min(ends))
        yield first, last
        first = last


def _all_of(csr: Csr) -> Entries:
    """All entries in their order."""
    owners = np.empty(csr.relationship_count, dtype=np.uint32)
    for first, last in _owner_ranges([csr]):
        check_time()
        offsets = csr.row_offsets[first : last + 1]
        nodes = np.arange(first, last, dtype=np.uint32)
        owners[int(offsets[0]) : int(offsets[-1])] = np.repeat(nodes, np.diff(offsets))
    relationships = csr.relationship_indexes
    if relationships is None:
        relationships = np.arange(csr.relationship_count, dtype=np.uint32)
    return Entries(owners, csr.neighbours, relationships)


def _entries_of(
    csr: Csr, types: tuple[int, ...] | None, type_count: int, nodes: tuple[int, int]
) -> Entries:
    """The entries of a range of nodes, by owner."""
    offsets = csr.run_offsets[nodes[0] : nodes[1] + 1].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    starts = csr.run_starts[first : last + 1].astype(np.int64)
    lengths = np.diff(starts)
    owners = np.repeat(np.arange(*nodes, dtype=np.uint32), np.diff(offsets))
    if types is None:
        chosen: slice | NDArray[np.int64] = slice(int(starts[0]), int(starts[-1]))
    else:
        allowed = np.zeros(type_count, dtype=np.bool_)
        allowed[list(types)] = True
        runs = np.flatnonzero(allowed[csr.run_types[first:last]])
        owners, starts, lengths = owners[runs], starts[runs], lengths[runs]
        chosen = np.repeat(starts, lengths) + places_in_runs(lengths)
    numbers = csr.relationship_indexes
    if numbers is not None:
        relationships = numbers[chosen]
    elif isinstance(chosen, slice):
        relationships = np.arange(chosen.start, chosen.stop, dtype=np.uint32)
    else:
        relationships = chosen.astype(np.uint32)
    return Entries(np.repeat(owners, lengths), csr.neighbours[chosen], relationships)


def _sorted(entries: Entries, first: int, node_count: int) -> Entries:
    # A stable sort merges the two sorted halves instead of sorting them again.
    keys = (entries.owners - np.uint32(first)).astype(np.uint64) * np.uint64(max(node_count, 1))
    keys += entries.neighbours
    order = np.argsort(keys, kind="stable")
    return Entries(*(each[order] for each in entries))
