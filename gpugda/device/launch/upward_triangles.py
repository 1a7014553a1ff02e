"""Counts triangles in lists of upper neighbours; launcher of ``upward_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["NodeLists", "UpwardTriangleKernels", "total_bytes"]

_FILE = "upward_triangles.cl"
_GROUPS_PER_UNIT = 16
_TASKS_PER_GROUP = 256
_MAX_TASK_NODES = 16


def total_bytes(compute_units: int) -> int:
    """Bytes of the totals of all work groups on a device with this many compute units."""
    return 8 * compute_units * _GROUPS_PER_UNIT


class NodeLists(NamedTuple):
    """The lists of a range of nodes, which are on the device.

    Args:
        low: The first node.
        high: The one after the last.
        place: Position of the starts of their lists, which the lists follow.
    """

    low: int
    high: int
    place: int


class UpwardTriangleKernels:
    """Counts each triangle from its lowest node."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_upward_triangles", "bIIQIIQIQIIbb")

    @property
    def groups(self) -> int:
        """The number of work groups that keeps the device busy; the length of ``totals``."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task, for ``nodes`` lowest nodes."""
        return share_of_nodes(nodes, self.groups, _TASKS_PER_GROUP, _MAX_TASK_NODES)

    def count(
        self,
        lists: DeviceArray,
        lowest: NodeLists,
        middle: NodeLists,
        weights: int,
        tasks: CycleTasks,
        *,
        looks_up: bool,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``.

        Args:
            lists: ``uint32``, for each range of nodes the starts of their lists among all lists,
                two per node and the end of the last, followed by the lists.
            lowest: The lowest nodes of the triangles to count.
            middle: The middle nodes of the triangles to count.
            weights: Embeddings per kind of triangle, see ``triangles_above.h``.
            tasks: The tasks, without scratch.
            looks_up: True if nodes may have parallel relationships.
        """
        task_nodes = self.task_nodes(lowest.high - lowest.low)
        self._count.launch_groups(
            self.groups,
            lists,
            *lowest,
            *middle,
            task_nodes,
            tasks.max_work,
            weights,
            looks_up,
            tasks.counters,
            tasks.totals,
        )
