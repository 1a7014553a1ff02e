"""Lists of all nodes on the host, from which those of a partition, or of some nodes, are taken."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpugda.match.gsi.pcsr import Entries, HostLists, gathered_lists, hashed_lists, sorted_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.gsi.pcsr import Partition
    from gpugda.match.pbe.partitions import PartitionPlan

__all__ = ["ENTRY_BYTES", "HostRows", "list_bytes", "make_host_rows", "partition_lists"]

ENTRY_BYTES = 8
"""Neighbour and relationship."""
_GROUP_BYTES = 128


@dataclass(frozen=True, slots=True, eq=False)
class HostRows:
    """The entries of all nodes, sorted by node and neighbour.

    Args:
        offsets: ``int64`` per node and one more.
        neighbours: ``uint32`` per entry.
        relationships: ``uint32`` per entry.
    """

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.offsets.nbytes + self.neighbours.nbytes + self.relationships.nbytes

    @property
    def longest(self) -> int:
        """Entries of the longest list."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def owner_count(self) -> int:
        """Nodes that have a list."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    def entry_count(self, nodes: NDArray[np.uint32]) -> int:
        """Entries of some nodes."""
        return int((self.offsets[nodes + np.uint32(1)] - self.offsets[nodes]).sum())

    def of_nodes(self, nodes: NDArray[np.uint32], fill: int) -> HostLists:
        """The lists of some nodes, each once."""
        firsts = self.offsets[nodes]
        lengths = self.offsets[nodes.astype(np.int64) + 1] - firsts
        has = lengths > 0
        entries = self.neighbours, self.relationships
        return gathered_lists(nodes[has], (firsts[has], lengths[has]), entries, fill)


def list_bytes(entries: int, owners: int, fill: int) -> int:
    """About as much as lists take on the device."""
    return ENTRY_BYTES * entries + _GROUP_BYTES * (owners // fill + 2)


def make_host_rows(graph: DataGraph, key: Partition) -> HostRows:
    """The lists of all nodes for some types and directions.

    Raises:
        MemoryLimitError: They have more entries than offsets of 32 bits can name.
    """
    owners, neighbours, relationships = sorted_entries(graph, key)
    offsets = np.zeros(graph.node_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=graph.node_count), out=offsets[1:])
    return HostRows(offsets, neighbours, relationships)


def partition_lists(rows: HostRows, plan: PartitionPlan, fill: int) -> list[HostLists]:
    """Of each partition, the lists of the relationships both of whose ends are in it."""
    nodes = np.arange(len(plan.of_node), dtype=np.uint32)
    owners = np.repeat(nodes, np.diff(rows.offsets))
    own = plan.of_node[owners]
    inside = np.flatnonzero(own == plan.of_node[rows.neighbours])
    inside = inside[np.argsort(own[inside], kind="stable")]
    bounds = np.searchsorted(own[inside], np.arange(plan.count + 1))
    parts = [inside[first:last] for first, last in pairwise(bounds)]
    return [
        hashed_lists(Entries(owners[each], rows.neighbours[each], rows.relationships[each]), fill)
        for each in parts
    ]
