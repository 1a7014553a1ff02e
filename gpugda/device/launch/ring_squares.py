"""Counting cycles of four nodes in ranked lists; launcher of ``ring_squares.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.cycle_tasks import GroupTasks
from gpugda.device.launch.prefix_sum import PrefixSum
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists, RankedRows
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["RingSquareKernels", "Ways"]

_FILE = "ring_squares.cl"
_WALKING_GROUPS_PER_UNIT = 32
_MARKS, _ADDS, _PAIRS = 0, 1, 3


class Ways(NamedTuple):
    """Ways over two links of one direction from the first nodes.

    Args:
        rows: The lists.
        sums: ``uint64``: the ways before each entry.
        of_nodes: How many each node has, on the host.
    """

    rows: RankedRows
    sums: DeviceArray
    of_nodes: NDArray[np.uint64]


class RingSquareKernels(GroupTasks):
    """Counts, and corrects, embeddings. Nodes of the highest ranks take longest."""

    groups_per_unit = 8

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._sums = PrefixSum(context)
        self._measure = get_kernel(context, _FILE, "measure_links", "bbbIIb")
        self._take_ways = get_kernel(context, _FILE, "take_ways", "bbIb")
        self._walk = get_kernel(context, _FILE, "walk_links", "bbbIIIIbb")
        self._clear = get_kernel(context, _FILE, "clear_marks", "bQ")
        self._count = get_kernel(context, _FILE, "count_ring_squares", f"{RANKED}IIIIQbbb")
        self._correct = get_kernel(context, _FILE, "correct_ring_squares", f"{RANKED}IIbb")

    @property
    def walking_groups(self) -> int:
        """Work groups that walk together: as many totals there are."""
        return self._context.info.compute_units * _WALKING_GROUPS_PER_UNIT

    def ways(self, workspace: Workspace, rows: RankedRows, nodes: int, entries: int) -> Ways:
        """The ways from the first nodes, which have so many entries.

        Raises:
            MemoryLimitError: The sums do not fit.
        """
        lengths = workspace.allocate(entries, np.uint32, "ways of entries")
        self._measure(entries, *rows, nodes, entries, lengths)
        sums = self._sums.run(workspace, lengths, 0, entries)
        of_nodes = workspace.allocate(nodes, np.uint64, "ways of nodes")
        self._take_ways(nodes, rows.starts, sums, nodes, of_nodes)
        found = workspace.download(of_nodes, 0, nodes)
        workspace.release(lengths, of_nodes)
        return Ways(rows, sums, found)

    def batch(
        self,
        lists: RankedLists,
        ways: Sequence[Ways],
        nodes: range,
        marks: DeviceArray,
        totals: DeviceArray,
    ) -> None:
        """Adds to ``totals`` the cycles whose highest nodes are these.

        Args:
            lists: Of the type of all relationships.
            ways: Outgoing and incoming ones; once where they are the same.
            nodes: Among the first ones.
            marks: ``uint32``, for each of them one per node; zero before and after.
            totals: ``uint64``, one for each work group.
        """
        groups = totals.count
        walks = (
            ((_PAIRS, ways[0]),) if lists.is_undirected else zip((_MARKS, _ADDS), ways, strict=True)
        )
        for what, each in walks:
            rows = (each.rows.neighbours, each.rows.starts, each.sums)
            whom = (nodes.start, nodes.stop, lists.nodes)
            self._walk.launch_groups(groups, *rows, *whom, what, marks, totals)
        used = len(nodes) * lists.nodes
        self._clear(used, marks, used)

    def count(self, lists: RankedLists, first: int, groups: int, tasks: CycleTasks) -> None:
        """Takes tasks; adds what they count to ``totals``.

        Args:
            lists: Of the type of all relationships.
            first: The highest node of a task.
            groups: Work groups.
            tasks: What is done; for each group as many words of scratch as there are nodes.
        """
        task_nodes = self.task_nodes(lists.nodes, groups)
        whom = (first, lists.nodes, lists.is_undirected, task_nodes, tasks.most_work)
        arrays = (tasks.scratch, tasks.counters, tasks.totals)
        self._count.launch_groups(groups, *lists.arguments, *whom, *arrays)

    def correct(self, lists: RankedLists, totals: DeviceArray) -> None:
        """Adds what these counts are wrong by, modulo 2**64, but for triangles with a loop."""
        whom = (lists.nodes, lists.is_undirected, lists.loops)
        self._correct.launch_groups(totals.count, *lists.arguments, *whom, totals)
