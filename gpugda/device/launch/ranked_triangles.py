"""Counting triangles in ranked lists; launcher of ``ranked_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray

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
        return max(1, min(_MOST_TASK_NODES, nodes // (_TASKS_PER_GROUP * self.groups)))

    def count(
        self,
        lists: RankedLists,
        weights: int,
        most_work: int,
        counters: DeviceArray,
        totals: DeviceArray,
        *,
        looks_up: bool,
    ) -> None:
        """Takes tasks; adds what they count to ``totals``.

        Args:
            lists: Of the type of all relationships.
            weights: Embeddings per kind of triangle, see the kernel.
            most_work: Entries at which a work group may look in this launch.
            counters: ``uint32``, the first one counts tasks that were taken.
            totals: ``uint64``, as many as there are groups.
            looks_up: May nodes have parallel relationships?
        """
        self._count.launch_groups(
            self.groups,
            *lists.arguments,
            lists.nodes,
            self.task_nodes(lists.nodes),
            most_work,
            weights,
            looks_up,
            counters,
            totals,
        )
