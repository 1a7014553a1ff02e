"""Partitions of a data graph: the partition of each node, and crossing relationships."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.match.pbe.metis import can_run_metis, run_metis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["MAX_PARTITIONS", "PartitionPlan", "make_partitions"]

MAX_PARTITIONS = 1 << 14
"""Far more than any graph needs; their numbers are ``uint16``."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionPlan:
    """A division of the nodes.

    Args:
        count: Number of partitions; some may be empty.
        of_node: ``uint16``, the partition of each node.
        nodes: ``uint32``, the nodes of all partitions in turn, ascending in each.
        firsts: Offset of each partition in ``nodes``, and the end.
        crossing: ``uint32``, ascending: relationships whose ends are in different partitions.
        by: The method that made it, as text.
        seconds: Time taken.
    """

    count: int
    of_node: NDArray[np.uint16]
    nodes: NDArray[np.uint32]
    firsts: NDArray[np.int64]
    crossing: NDArray[np.uint32]
    by: str
    seconds: float

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.of_node, self.nodes, self.firsts, self.crossing)
        return sum(each.nbytes for each in arrays)

    def nodes_of(self, partition: int) -> NDArray[np.uint32]:
        """The nodes of one partition."""
        return self.nodes[self.firsts[partition] : self.firsts[partition + 1]]


def make_partitions(graph: DataGraph, count: int, deadline: float | None = None) -> PartitionPlan:
    """Partitions with about equal numbers of relationships, and few relationships between them.

    Made by METIS if pymetis is installed, otherwise from consecutive nodes.

    Raises:
        DeviceError: METIS failed.
        QueryTimeoutError: The deadline passed.
    """
    started = time.perf_counter()
    is_graph = count > 1 and graph.relationship_count > 0 and graph.node_count > 2 * count
    if is_graph and can_run_metis():
        of_node, by = run_metis(graph, count, deadline), "METIS"
    else:
        of_node, by = _in_order(graph, count), "order of nodes"
    by_partition = np.argsort(of_node, kind="stable").astype(np.uint32)
    firsts = offsets_of(of_node, count)
    ends = of_node[graph.start_nodes()], of_node[graph.outgoing.neighbours]
    crossing = np.flatnonzero(ends[0] != ends[1]).astype(np.uint32)
    taken = time.perf_counter() - started
    return PartitionPlan(count, of_node, by_partition, firsts, crossing, by, taken)


def _in_order(graph: DataGraph, count: int) -> NDArray[np.uint16]:
    """Partitions of consecutive nodes with equal shares of the relationships."""
    degrees = graph.outgoing.degrees().astype(np.int64) + graph.incoming.degrees() + 1
    before = np.cumsum(degrees) - degrees
    total = max(1, int(degrees.sum()))
    found: NDArray[np.uint16] = np.minimum(before * count // total, count - 1).astype(np.uint16)
    return found
