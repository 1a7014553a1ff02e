"""Counting triangles in lists of upper neighbours; launcher of ``upward_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["NodeLists", "UpwardTriangleKernels"]

_FILE = "upward_triangles.cl"
_GROUPS_PER_UNIT = 16
_TASKS_PER_GROUP = 256
_MOST_TASK_NODES = 16


class NodeLists(NamedTuple):
    """The lists of some nodes, which are on the device.

    Args:
        low: The first node.
        high: The one after the last.
        place: Where the entries of the first one begin.
    """

    low: int
    high: int
    place: int


class UpwardTriangleKernels:
    """Counts them from their lowest nodes."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_upward_triangles", "bbIIQIIQIQIIbb")

    @property
    def groups(self) -> int:
        """Work groups that keep the device busy: as many sums there are."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task, where so many are lowest nodes."""
        return share_of_nodes(nodes, self.groups, _TASKS_PER_GROUP, _MOST_TASK_NODES)

    def count(
        self,
        starts: DeviceArray,
        neighbours: DeviceArray,
        lowest: NodeLists,
        middle: NodeLists,
        weights: int,
        tasks: CycleTasks,
        *,
        looks_up: bool,
    ) -> None:
        """Takes tasks; adds what they count to ``totals``.

        Args:
            starts: ``uint32[2 * nodes + 1]``, where each list begins among all.
            neighbours: ``uint32``, the lists that are there.
            lowest: Nodes from which triangles are counted.
            middle: Nodes between the lowest and the highest that they are counted by.
            weights: Embeddings per kind of triangle, see ``triangles_above.h``.
            tasks: What is done, without scratch.
            looks_up: May nodes have parallel relationships?
        """
        task_nodes = self.task_nodes(lowest.high - lowest.low)
        self._count.launch_groups(
            self.groups,
            starts,
            neighbours,
            *lowest,
            *middle,
            task_nodes,
            tasks.most_work,
            weights,
            looks_up,
            tasks.counters,
            tasks.totals,
        )
