"""Partitions of a data graph: the partition of each node, and crossing relationships."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.pbe.metis import can_run_metis, run_metis
from gpugda_strategies.pbe.propagation import MAX_PROPAGATED, propagated

from gpugda.data.runs import offsets_of
from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.deadline import check_deadline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["MAX_PARTITIONS", "PartitionPlan", "make_partitions"]

MAX_PARTITIONS = 1 << 14
"""Far more than any graph needs; their numbers are ``uint16``."""
_MAX_METIS = 1 << 21
"""Relationships; METIS takes one process 2 µs for each and more, and hours for a billion."""
_PIECE = 1 << 19


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

    Made by METIS if pymetis is installed and the graph is not too large for it; otherwise by label
    propagation, or from consecutive nodes if there are very many partitions.

    Raises:
        DeviceError: METIS failed.
        QueryTimeoutError: The deadline passed.
    """
    started = time.perf_counter()
    of_node, by = _divided(graph, count, deadline)
    by_partition = np.argsort(of_node, kind="stable").astype(np.uint32)
    firsts = offsets_of(of_node, count)
    crossing = _crossing(graph, of_node, deadline)
    taken = time.perf_counter() - started
    return PartitionPlan(count, of_node, by_partition, firsts, crossing, by, taken)


def _divided(
    graph: DataGraph, count: int, deadline: float | None
) -> tuple[NDArray[np.uint16], str]:
    """The partition of each node, and the method that made it."""
    is_graph = count > 1 and graph.relationship_count > 0 and graph.node_count > 2 * count
    if is_graph and graph.relationship_count <= _MAX_METIS and can_run_metis():
        return run_metis(graph, count, deadline), "METIS"
    if is_graph and count <= MAX_PROPAGATED:
        return propagated(graph, count, deadline), "label propagation"
    return _in_order(graph, count), "order of nodes"


def _crossing(
    graph: DataGraph, of_node: NDArray[np.uint16], deadline: float | None
) -> NDArray[np.uint32]:
    """Relationships whose ends are in different partitions, ascending."""

    def look(piece: slice) -> NDArray[np.uint32]:
        starts, _ = graph.outgoing.entries(piece)
        apart = of_node[starts] != of_node[graph.outgoing.neighbours[piece]]
        return np.flatnonzero(apart).astype(np.uint32) + np.uint32(piece.start)

    found = [np.empty(0, dtype=np.uint32)]
    for each in in_threads_ahead(look, pieces_of(graph.relationship_count, _PIECE)):
        check_deadline(deadline)
        found.append(each)
    return np.concatenate(found)


def _in_order(graph: DataGraph, count: int) -> NDArray[np.uint16]:
    """Partitions of consecutive nodes with equal shares of the relationships."""
    degrees = graph.outgoing.degrees().astype(np.int64) + graph.incoming.degrees() + 1
    before = np.cumsum(degrees) - degrees
    total = max(1, int(degrees.sum()))
    found: NDArray[np.uint16] = np.minimum(before * count // total, count - 1).astype(np.uint16)
    return found
