"""Counts cliques of four or five nodes in ranked lists; launcher of ``cliques.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.cycle_tasks import GroupTasks
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists

__all__ = ["CliqueKernels"]

_FILE = "cliques.cl"


class CliqueKernels(GroupTasks):
    """Counts each clique from its lowest node."""

    groups_per_unit = 8

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._count = get_kernel(context, _FILE, "count_cliques", f"{RANKED}IIQIQbbb")

    @staticmethod
    def group_words(lists: RankedLists) -> int:
        """Scratch words of a work group: one bit for each pair of neighbours above a node."""
        return max(1, lists.max_above * -(-lists.max_above // 32))

    def count(self, lists: RankedLists, size: int, groups: int, tasks: CycleTasks) -> None:
        """Takes tasks from the counter; adds each clique once to ``totals``.

        Args:
            lists: Undirected lists without parallel entries.
            size: Nodes of a clique: 4 or 5.
            groups: The number of work groups.
            tasks: The tasks; for each group `group_words` of scratch.
        """
        whom = (lists.nodes, self.task_nodes(lists.nodes, groups), tasks.max_work)
        words = self.group_words(lists)
        arrays = (tasks.scratch, tasks.counters, tasks.totals)
        self._count.launch_groups(groups, *lists.arguments, *whom, size, words, *arrays)
