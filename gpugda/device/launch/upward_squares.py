"""Counts undirected squares in the oriented graph; launcher of ``upward_squares.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["UpwardSquareKernels"]

_FILE = "upward_squares.cl"
_GROUPS_PER_UNIT = 4
_TASKS_PER_GROUP = 64
_MAX_TASK_NODES = 8


class UpwardSquareKernels:
    """Counts pairs of paths from the highest node of a square to the opposite one."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._degrees = get_kernel(context, _FILE, "count_relationships", f"{GRAPH}Ib")
        self._count = get_kernel(context, _FILE, "count_upward_squares", f"{GRAPH}IIbIQbbb")

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int, groups: int) -> int:
        """Nodes of a task."""
        return share_of_nodes(nodes, groups, _TASKS_PER_GROUP, _MAX_TASK_NODES)

    def count_relationships(self, graph: Sequence[Any], nodes: int, degrees: DeviceArray) -> None:
        """Writes the degree of each node.

        Args:
            graph: Arguments for ``GRAPH_PARAMETERS``.
            nodes: The number of nodes of the data graph.
            degrees: ``uint32[nodes]``.
        """
        self._degrees(nodes, *graph, nodes, degrees)

    def count(
        self,
        graph: Sequence[Any],
        type_id: int | None,
        degrees: DeviceArray,
        groups: int,
        tasks: CycleTasks,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``.

        Args:
            graph: Arguments for ``GRAPH_PARAMETERS``.
            type_id: The type of all relationships; None for any.
            degrees: Output of `count_relationships`.
            groups: The number of work groups; each has one word of ``scratch`` per node.
            tasks: The tasks, and the scratch.
        """
        self._count.launch_groups(
            groups,
            *graph,
            NONE if type_id is None else type_id,
            tasks.nodes,
            degrees,
            self.task_nodes(tasks.nodes, groups),
            tasks.max_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )
