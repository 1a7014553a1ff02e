"""Counts triangles over relationships in ranked lists; launcher of ``edge_triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.cycle_tasks import CycleTasks, GroupTasks
from gpugda.device.launch.prefix_sum import PrefixSum
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["EdgeTriangleKernels", "EdgeTriangles"]

_FILE = "edge_triangles.cl"


class EdgeTriangles(NamedTuple):
    """Triangles over each relationship.

    Args:
        firsts: ``uint64[nodes + 1]``: number of the first relationship of each lower node.
        counts: ``uint32``, one per relationship.
    """

    firsts: DeviceArray
    counts: DeviceArray


class EdgeTriangleKernels(GroupTasks):
    """Finds each triangle from its lowest node."""

    groups_per_unit = 16

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._sums = PrefixSum(context)
        self._measure = get_kernel(context, _FILE, "measure_above", "bbIb")
        self._count = get_kernel(context, _FILE, "count_edges", f"{RANKED}IIQbbb")
        self._fans = get_kernel(context, _FILE, "add_fans", f"{RANKED}IIQbbbbb")
        self._diamonds = get_kernel(context, _FILE, "add_diamonds", "bQbb")

    def zeros(self, workspace: Workspace, lists: RankedLists) -> EdgeTriangles:
        """Counts of 0 for all relationships.

        Raises:
            MemoryLimitError: They do not fit.
        """
        lengths = workspace.allocate(lists.nodes, np.uint32, "lengths of lists")
        rows = lists.outgoing
        self._measure(lists.nodes, rows.starts, rows.middles, lists.nodes, lengths)
        firsts = self._sums.run(workspace, lengths, 0, lists.nodes)
        workspace.release(lengths)
        counts = workspace.allocate(max(1, lists.size // 2), np.uint32, "triangles over each")
        workspace.fill(counts, 0)
        return EdgeTriangles(firsts, counts)

    def count(self, lists: RankedLists, edges: EdgeTriangles, tasks: CycleTasks) -> None:
        """Takes tasks; adds the triangles over each relationship to ``edges.counts``."""
        self._count.launch_groups(self.max_groups, *self._whom(lists, edges, tasks))

    def fans(
        self, lists: RankedLists, edges: EdgeTriangles, tasks: CycleTasks, carried: DeviceArray
    ) -> None:
        """Takes tasks; adds per triangle the products of the other triangles over two sides.

        ``carried``: ``uint32``, counts totals that pass 2**64.
        """
        whom = (*self._whom(lists, edges, tasks), tasks.totals, carried)
        self._fans.launch_groups(self.max_groups, *whom)

    def diamonds(self, edges: EdgeTriangles, totals: DeviceArray, carried: DeviceArray) -> None:
        """Adds the ordered pairs of different triangles over a relationship to ``totals``."""
        given = (edges.counts, edges.counts.count, totals, carried)
        self._diamonds.launch_groups(totals.count, *given)

    def _whom(
        self, lists: RankedLists, edges: EdgeTriangles, tasks: CycleTasks
    ) -> tuple[object, ...]:
        share = self.task_nodes(lists.nodes, self.max_groups)
        counts = (lists.nodes, share, tasks.max_work)
        return (*lists.arguments, *counts, *edges, tasks.counters)
