"""Counts triangles in ranked lists; launcher of ``ranked_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.cycle_tasks import GroupTasks
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["LoopWeights", "RankedTriangleKernels"]

_FILE = "ranked_triangles.cl"


class LoopWeights(NamedTuple):
    """Numbers of embeddings with one relationship on a loop and two between the node and another.

    Args:
        out_out: Per ordered pair of relationships that leave the node with the loop.
        in_in: Per ordered pair that enters it.
        out_in: Per relationship that leaves it and one that enters it.
    """

    out_out: int
    in_in: int
    out_in: int


class RankedTriangleKernels(GroupTasks):
    """Counts each triangle from its lowest node."""

    groups_per_unit = 16

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._count = get_kernel(context, _FILE, "count_ranked_triangles", f"{RANKED}IIQIIbb")
        self._count_loops = get_kernel(context, _FILE, "count_loop_triangles", f"{RANKED}IIQIIbbb")
        self._add_loops = get_kernel(context, _FILE, "add_loop_triangles", f"{RANKED}IIIIbb")

    def count(
        self,
        lists: RankedLists,
        weights: int,
        tasks: CycleTasks,
        loops: DeviceArray | None = None,
        *,
        looks_up: bool,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``.

        Args:
            lists: Lists of the type of all relationships.
            weights: Embeddings per kind of triangle, see the kernel.
            tasks: The tasks, without scratch; `max_groups` groups take them.
            loops: Loops of each rank: a triangle counts as many times as its nodes have loops. None
                to count each once.
            looks_up: True if nodes may have parallel relationships.
        """
        groups = self.max_groups
        whom = (lists.nodes, self.task_nodes(lists.nodes, groups), tasks.max_work)
        arrays = (tasks.counters, tasks.totals)
        if loops is None:
            how = (weights, looks_up)
            self._count.launch_groups(groups, *lists.arguments, *whom, *how, *arrays)
        else:
            how_often = (weights, looks_up, loops)
            self._count_loops.launch_groups(groups, *lists.arguments, *whom, *how_often, *arrays)

    def add_loops(
        self,
        lists: RankedLists,
        weights: LoopWeights,
        loops: DeviceArray,
        totals: DeviceArray,
    ) -> None:
        """Adds the embeddings that map relationships of the triangle to loops.

        Args:
            lists: Lists of the type of all relationships.
            weights: Weights for the other two relationships.
            loops: Loops of each rank.
            totals: ``uint64``, one per work group.
        """
        whom = (lists.nodes, *weights, loops)
        self._add_loops.launch_groups(totals.count, *lists.arguments, *whom, totals)
