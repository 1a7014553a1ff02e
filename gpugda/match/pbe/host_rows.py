"""Lists of all nodes on the host, from which those of partitions or of some nodes are taken."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.adjacency import Adjacency
from gpugda.data.runs import offsets_of
from gpugda.deadline import check_time
from gpugda.match.gsi.entries import Entries, sorted_entries
from gpugda.match.gsi.pcsr import HostLists, gathered_lists, hashed_lists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.gsi.entries import Partition
    from gpugda.match.pbe.partitions import PartitionPlan

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
    owners, neighbours, relationships = sorted_entries(graph, key)
    return Adjacency(offsets_of(owners, graph.node_count), neighbours, relationships)


def partition_lists(rows: Adjacency, plan: PartitionPlan, fill: int) -> list[HostLists]:
    """For each partition, the lists of the relationships with both ends in it."""
    owners = rows.nodes()
    check_time()
    own = plan.of_node[owners]
    check_time()
    inside = np.flatnonzero(own == plan.of_node[rows.neighbours])
    check_time()
    inside = inside[np.argsort(own[inside], kind="stable")]
    check_time()
    bounds = np.searchsorted(own[inside], np.arange(plan.count + 1))
    parts = [inside[first:last] for first, last in pairwise(bounds)]
    return [
        hashed_lists(Entries(owners[each], rows.neighbours[each], rows.relationships[each]), fill)
        for each in parts
    ]
