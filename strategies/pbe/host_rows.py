"""Lists of all nodes on the host, from which those of partitions or of some nodes are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.entries import PIECE, SortedLists, sorted_lists
from gpugda_strategies.gsi.pcsr import HostLists, gathered_lists, hashed_lists

from gpugda.data.adjacency import Adjacency
from gpugda.data.runs import positions, repeated, windows_of
from gpugda.data.threads import in_threads_ahead, take_in_threads
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from gpugda_strategies.gsi.entries import Partition
    from gpugda_strategies.pbe.partitions import PartitionPlan
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["ENTRY_BYTES", "list_bytes", "lists_of", "make_host_rows", "partition_lists"]

ENTRY_BYTES = 8
"""Neighbour and relationship index."""
_GROUP_BYTES = 128


def lists_of(rows: Adjacency, nodes: NDArray[np.uint32], fill: int) -> HostLists:
    """The lists of distinct nodes."""
    firsts = rows.offsets[nodes]
    lengths = rows.offsets[nodes.astype(np.int64) + 1] - firsts
    has = lengths > 0
    entries = rows.neighbours, rows.relationships
    return gathered_lists(nodes[has], (firsts[has], lengths[has]), entries, fill)


def list_bytes(entries: int, owners: int, fill: int) -> int:
    """Estimated bytes of lists on the device."""
    return ENTRY_BYTES * entries + _GROUP_BYTES * (owners // fill + 2)


def make_host_rows(graph: DataGraph, key: Partition) -> Adjacency:
    """The lists of all nodes for some types and directions.

    Raises:
        MemoryLimitError: They have more entries than 32-bit offsets can address.
    """
    found = sorted_lists(graph, key)
    offsets = found.row_offsets(graph.node_count)
    return Adjacency(offsets, found.neighbours, found.relationships)


def partition_lists(rows: Adjacency, plan: PartitionPlan, fill: int) -> list[HostLists]:
    """For each partition, the lists of the relationships with both ends in it."""
    return [hashed_lists(_inside(rows, plan, each), fill) for each in range(plan.count)]


def _inside(rows: Adjacency, plan: PartitionPlan, partition: int) -> SortedLists:
    """The lists of the relationships within a partition, made piece by piece in threads."""
    nodes = plan.nodes_of(partition)
    firsts = rows.offsets[nodes]
    lengths = rows.offsets[nodes.astype(np.int64) + 1] - firsts

    def look(piece: slice) -> tuple[NDArray[np.int64], ...]:
        own, begins = lengths[piece], firsts[piece]
        places = positions(begins, own)
        is_inside = plan.of_node[rows.neighbours[places]] == partition
        owners = repeated(np.arange(len(own)), own)[is_inside]
        return places[is_inside], np.bincount(owners, minlength=len(own))

    node_pieces = [slice(*each) for each in windows_of(lengths, PIECE)]
    left, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for places, found in in_threads_ahead(look, node_pieces):
        check_time()
        left.append(places)
        counts.append(found)
    places, inside = np.concatenate(left), np.concatenate(counts)
    has = np.flatnonzero(inside)
    offsets = np.concatenate([[0], np.cumsum(inside[has])])
    neighbours = take_in_threads(rows.neighbours, places)
    return SortedLists(nodes[has], offsets, neighbours, take_in_threads(rows.relationships, places))
