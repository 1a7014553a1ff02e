"""Lists of one partition of the relationships on the host, by owner, then neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.runs import positions, repeated
from gpugda.data.sorting import bits_for, stable_order
from gpugda.data.threads import in_threads_ahead, written_in_threads
from gpugda.deadline import check_time
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph

__all__ = ["PIECE", "Partition", "SortedLists", "sorted_lists"]

PIECE = 1 << 19
"""Entries that a thread sorts or copies between two checks of the deadline."""
_MAX_ENTRIES = 0xFFFFFFFE


class Partition(NamedTuple):
    """Relationships of some types (None for any), seen along one or both directions."""

    types: tuple[int, ...] | None
    outgoing: bool
    incoming: bool


class SortedLists(NamedTuple):
    """Lists of distinct owners.

    Args:
        owners: ``uint32`` per list, increasing.
        offsets: ``int64``: start of each list, and the end of the last one; no list is empty.
        neighbours: ``uint32`` per entry, ascending within a list.
        relationships: ``uint32`` per entry: relationship index.
    """

    owners: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]

    def row_offsets(self, node_count: int) -> NDArray[np.int64]:
        """``int64[node_count+1]``: offsets of the lists of all nodes, empty ones too."""
        found = np.zeros(node_count + 1, dtype=np.int64)
        found[self.owners.astype(np.int64) + 1] = np.diff(self.offsets)
        return np.cumsum(found, out=found)


class _Piece(NamedTuple):
    """The lists of a range of nodes; ``lengths`` (``int64``) per owner."""

    owners: NDArray[np.uint32]
    lengths: NDArray[np.int64]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]


def sorted_lists(graph: DataGraph, partition: Partition) -> SortedLists:
    """The lists of a partition, made piece by piece in several threads.

    Raises:
        MemoryLimitError: There are more entries than 32-bit offsets can address.
        QueryTimeoutError: The deadline of this thread's work passed.
    """
    types = partition.types
    if types is not None and len(types) == len(graph.types):
        types = None
    used = ((graph.outgoing, partition.outgoing), (graph.incoming, partition.incoming))
    csrs = [csr for csr, is_used in used if is_used]
    counts = graph.statistics.type_counts
    count = len(csrs) * (sum(counts) if types is None else sum(counts[each] for each in types))
    _check_count(count)
    if len(csrs) == 1 and types is None and len(graph.types) <= 1:
        return _all_of(csrs[0])
    reader = _Reader(csrs, types, len(graph.types), graph.node_count)
    neighbours, relationships = (written_in_threads(count, np.uint32) for _ in range(2))
    owners, lengths = [np.empty(0, dtype=np.uint32)], [np.zeros(1, dtype=np.int64)]
    total = 0
    for piece in in_threads_ahead(reader.read, list(_owner_ranges(csrs))):
        check_time()
        end = total + len(piece.neighbours)
        neighbours[total:end] = piece.neighbours
        relationships[total:end] = piece.relationships
        owners.append(piece.owners)
        lengths.append(piece.lengths)
        total = end
    offsets = np.concatenate(lengths)
    np.cumsum(offsets, out=offsets)
    return SortedLists(np.concatenate(owners), offsets, neighbours[:total], relationships[:total])


def _check_count(count: int) -> None:
    if count > _MAX_ENTRIES:
        raise MemoryLimitError(
            f"the lists of these relationships have up to {count:,} entries, and at most "
            f"{_MAX_ENTRIES:,} are possible: give a direction or a type, or leave the strategy to "
            "gpugda"
        )


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


def _all_of(csr: Csr) -> SortedLists:
    """All entries in their order."""
    check_time()
    degrees = csr.degrees()
    owners = np.flatnonzero(degrees).astype(np.uint32)
    offsets = np.zeros(len(owners) + 1, dtype=np.int64)
    np.cumsum(degrees[owners], out=offsets[1:])
    relationships = csr.relationship_indexes
    if relationships is None:
        relationships = np.arange(csr.relationship_count, dtype=np.uint32)
    return SortedLists(owners, offsets, csr.neighbours, relationships)


class _Runs(NamedTuple):
    """Runs of some types of a range of nodes: the node (relative), first entry, and length."""

    nodes: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]


class _Reader:
    """Reads the lists of ranges of nodes.

    Args:
        csrs: The rows of the directions.
        types: The types; None for all.
        type_count: The number of types of the graph.
        node_count: The number of nodes.
    """

    def __init__(
        self, csrs: Sequence[Csr], types: tuple[int, ...] | None, type_count: int, node_count: int
    ) -> None:
        self._csrs = csrs
        self._only = types[0] if types is not None and len(types) == 1 else None
        self._allowed: NDArray[np.bool_] | None = None
        if types is not None and self._only is None:
            self._allowed = np.zeros(type_count, dtype=np.bool_)
            self._allowed[list(types)] = True
        self._are_runs_lists = type_count <= 1 or self._only is not None
        self._node_bits = bits_for(node_count)

    def read(self, nodes: tuple[int, int]) -> _Piece:
        """The lists of a range of nodes."""
        runs = [self._runs_of(csr, nodes) for csr in self._csrs]
        parts = [_entries(csr, each) for csr, each in zip(self._csrs, runs, strict=True)]
        if len(parts) == 1 and self._are_runs_lists:
            (neighbours, relationships), own = parts[0], runs[0]
            return _Piece(
                own.nodes + np.uint32(nodes[0]),
                own.lengths.astype(np.int64),
                neighbours,
                relationships,
            )
        owners = [repeated(each.nodes, each.lengths) for each in runs]
        columns = [[own, *part] for own, part in zip(owners, parts, strict=True)]
        if len(columns) == 2:
            back = columns[1]
            apart = back[0] + np.uint32(nodes[0]) != back[1]
            if not apart.all():  # a self-loop is in its list once
                columns[1] = [each[apart] for each in back]
        if self._are_runs_lists:
            return self._merged(columns, nodes)
        return self._sorted([np.concatenate(each) for each in zip(*columns, strict=True)], nodes)

    def _runs_of(self, csr: Csr, nodes: tuple[int, int]) -> _Runs:
        offsets = csr.run_offsets[nodes[0] : nodes[1] + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        starts = csr.run_starts[first : last + 1]
        if self._only is not None:
            runs = np.flatnonzero(csr.run_types[first:last] == self._only)
        elif self._allowed is not None:
            runs = np.flatnonzero(self._allowed[csr.run_types[first:last]])
        else:
            every = np.arange(nodes[1] - nodes[0], dtype=np.uint32)
            return _Runs(repeated(every, np.diff(offsets)), starts[:-1], np.diff(starts))
        places = runs.astype(np.uint32) + np.uint32(first)
        owners = np.searchsorted(offsets, places, side="right").astype(np.uint32) - np.uint32(1)
        return _Runs(owners, starts[runs], starts[runs + 1] - starts[runs])

    def _merged(
        self, columns: Sequence[list[NDArray[np.uint32]]], nodes: tuple[int, int]
    ) -> _Piece:
        """Merges two directions, each of which is sorted by owner and neighbour."""
        # The lowest bit is the direction: relationships follow in the order of each direction.
        shift = np.uint64(self._node_bits + 1)
        keys = []
        for direction, (owners, neighbours, _) in enumerate(columns):
            key = owners.astype(np.uint64) << shift
            key |= neighbours.astype(np.uint64) << np.uint64(1)
            key |= np.uint64(direction)
            keys.append(key)
        merged = np.concatenate(keys)
        merged.sort(kind="stable")  # merges two sorted parts
        is_back = (merged & np.uint64(1)).astype(np.bool_)
        relationships = np.empty(len(merged), dtype=np.uint32)
        relationships[~is_back] = columns[0][2]
        relationships[is_back] = columns[1][2]
        neighbours = (merged >> np.uint64(1)).astype(np.uint32)
        neighbours &= np.uint32((1 << self._node_bits) - 1)
        merged >>= shift
        return _of_owners(merged, neighbours, relationships, nodes[0])

    def _sorted(self, columns: Sequence[NDArray[np.uint32]], nodes: tuple[int, int]) -> _Piece:
        owners, neighbours, relationships = columns
        order = stable_order([owners, neighbours], [bits_for(nodes[1] - nodes[0]), self._node_bits])
        return _of_owners(owners[order], neighbours[order], relationships[order], nodes[0])


def _entries(csr: Csr, runs: _Runs) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Neighbours and relationship indexes of runs, one after the other."""
    starts, lengths, numbers = runs.starts, runs.lengths, csr.relationship_indexes
    total = int(lengths.sum(dtype=np.int64))
    begin = int(starts[0]) if len(starts) else 0
    if not len(starts) or int(starts[-1]) + int(lengths[-1]) - begin == total:
        piece = slice(begin, begin + total)
        if numbers is None:
            return csr.neighbours[piece], np.arange(begin, begin + total, dtype=np.uint32)
        return csr.neighbours[piece], numbers[piece]
    places = positions(starts, lengths)
    return csr.neighbours[places], places if numbers is None else numbers[places]


def _of_owners(
    owners: NDArray[np.uint32] | NDArray[np.uint64],
    neighbours: NDArray[np.uint32],
    relationships: NDArray[np.uint32],
    first_node: int,
) -> _Piece:
    """Lists of entries that are sorted by owner (relative to the first node)."""
    is_first = np.ones(len(owners), dtype=np.bool_)
    np.not_equal(owners[1:], owners[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    lengths = np.diff(firsts, append=len(owners))
    nodes = owners[firsts].astype(np.uint32) + np.uint32(first_node)
    return _Piece(nodes, lengths, neighbours, relationships)
