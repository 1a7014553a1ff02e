"""Counts cycles of four nodes in ranked lists; launcher of ``ring_squares.cl``."""

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

__all__ = ["RingSquareKernels", "TwoLinkPaths"]

_FILE = "ring_squares.cl"
_WALKING_GROUPS_PER_UNIT = 32
_MARKS, _ADDS, _PAIRS, _WEIGHS = 0, 1, 3, 4


class TwoLinkPaths(NamedTuple):
    """Paths over two links of one direction from the first nodes.

    Args:
        rows: The lists.
        sums: ``uint64``: the number of paths before each entry.
        of_nodes: The number of paths of each node, on the host.
    """

    rows: RankedRows
    sums: DeviceArray
    of_nodes: NDArray[np.uint64]


class RingSquareKernels(GroupTasks):
    """Counts embeddings and corrects the counts. Nodes of the highest ranks take longest."""

    groups_per_unit = 8

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._sums = PrefixSum(context)
        self._measure = get_kernel(context, _FILE, "measure_links", "bbbIIb")
        self._count_paths = get_kernel(context, _FILE, "count_paths", "bbIb")
        self._walk = get_kernel(context, _FILE, "walk_links", "bbbIIIIbbb")
        self._clear = get_kernel(context, _FILE, "clear_marks", "bQ")
        self._count = get_kernel(context, _FILE, "count_ring_squares", f"{RANKED}IIIIIQbbbb")
        self._correct = get_kernel(context, _FILE, "correct_ring_squares", f"{RANKED}IIbb")

    @property
    def walking_groups(self) -> int:
        """The number of work groups that walk together; the length of ``totals``."""
        return self._context.info.compute_units * _WALKING_GROUPS_PER_UNIT

    def paths(
        self, workspace: Workspace, rows: RankedRows, nodes: int, entries: int
    ) -> TwoLinkPaths:
        """The paths from the first ``nodes`` nodes, which have ``entries`` entries.

        Raises:
            MemoryLimitError: The sums do not fit.
        """
        lengths = workspace.allocate(entries, np.uint32, "paths of entries")
        self._measure(entries, *rows, nodes, entries, lengths)
        sums = self._sums.run(workspace, lengths, 0, entries)
        of_nodes = workspace.allocate(nodes, np.uint64, "paths of nodes")
        self._count_paths(nodes, rows.starts, sums, nodes, of_nodes)
        found = workspace.download(of_nodes, 0, nodes)
        workspace.release(lengths, of_nodes)
        return TwoLinkPaths(rows, sums, found)

    def batch(
        self,
        lists: RankedLists,
        paths: Sequence[TwoLinkPaths],
        nodes: range,
        marks: DeviceArray,
        totals: DeviceArray,
        carried: DeviceArray | None = None,
    ) -> None:
        """Adds the cycles whose highest nodes are in ``nodes`` to ``totals``.

        Args:
            lists: Lists of the type of all relationships.
            paths: Outgoing and incoming paths; only one item if they are the same.
            nodes: A range of the first nodes.
            marks: ``uint32``, one per pair of such a node and any node; zero before and after.
            totals: ``uint64``, one per work group.
            carried: ``uint32``: counts totals that pass 2**64, and each cycle is weighed by the
                other relationships of its nodes; see the kernel. None to count cycles.
        """
        groups = totals.count
        both = (paths[0], paths[-1])
        if carried is not None:
            walks = [*zip((_MARKS, _WEIGHS), both, strict=True)]
        elif lists.is_undirected:
            walks = [(_PAIRS, paths[0])]
        else:
            walks = [*zip((_MARKS, _ADDS), both, strict=True)]
        for what, each in walks:
            rows = (each.rows.neighbours, each.rows.starts, each.sums)
            whom = (nodes.start, nodes.stop, lists.nodes)
            self._walk.launch_groups(groups, *rows, *whom, what, marks, totals, carried)
        used = len(nodes) * lists.nodes
        self._clear(used, marks, used)

    def count(
        self,
        lists: RankedLists,
        first: int,
        groups: int,
        tasks: CycleTasks,
        carried: DeviceArray | None = None,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``.

        Args:
            lists: Lists of the type of all relationships.
            first: Highest node of the first task.
            groups: The number of work groups.
            tasks: The tasks; for each group one word of scratch per node.
            carried: As of `batch`.
        """
        task_nodes = self.task_nodes(lists.nodes, groups)
        how = (lists.is_undirected, carried is not None)
        whom = (first, lists.nodes, *how, task_nodes, tasks.max_work)
        arrays = (tasks.scratch, tasks.counters, tasks.totals, carried)
        self._count.launch_groups(groups, *lists.arguments, *whom, *arrays)

    def correct(self, lists: RankedLists, totals: DeviceArray) -> None:
        """Adds the error of these counts, modulo 2**64, except for triangles with a loop."""
        whom = (lists.nodes, lists.is_undirected, lists.loops)
        self._correct.launch_groups(totals.count, *lists.arguments, *whom, totals)
