"""Counting triangles in ranked lists; launcher of ``ranked_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists

__all__ = ["RankedTriangleKernels"]

_FILE = "ranked_triangles.cl"
_GROUPS_PER_UNIT = 16
_TASKS_PER_GROUP = 256
_MOST_TASK_NODES = 16


class RankedTriangleKernels:
    """Counts them from their lowest nodes."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_ranked_triangles", f"{RANKED}IIQIIbb")

    @property
    def groups(self) -> int:
        """Work groups that keep the device busy: as many sums there are."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task."""
        return share_of_nodes(nodes, self.groups, _TASKS_PER_GROUP, _MOST_TASK_NODES)

    def count(self, lists: RankedLists, weights: int, tasks: CycleTasks, *, looks_up: bool) -> None:
        """Takes tasks; adds what they count to ``totals``.

        Args:
            lists: Of the type of all relationships.
            weights: Embeddings per kind of triangle, see the kernel.
            tasks: What is done, without scratch.
            looks_up: May nodes have parallel relationships?
        """
        whom = (lists.nodes, self.task_nodes(lists.nodes), tasks.most_work)
        arrays = (tasks.counters, tasks.totals)
        self._count.launch_groups(self.groups, *lists.arguments, *whom, weights, looks_up, *arrays)
