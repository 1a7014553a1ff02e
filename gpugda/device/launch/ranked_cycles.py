"""Counts triangles, squares and cliques in ranked lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.cycles import CycleTasks, GroupTasks
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists, RankedRows
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = [
    "CliqueKernels",
    "EdgeTriangleKernels",
    "EdgeTriangles",
    "LoopWeights",
    "RankedTriangleKernels",
    "RingSquareKernels",
    "TwoLinkPaths",
]


class CliqueKernels(GroupTasks):
    """Counts each clique from its lowest node."""

    groups_per_unit = 8

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._count = get_kernel(context, "cliques.cl", "count_cliques", f"{RANKED}IIQIQbbb")

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
        whom = (lists.nodes, self.task_nodes(lists.nodes), tasks.max_work)
        words = self.group_words(lists)
        arrays = (tasks.scratch, tasks.counters, tasks.totals)
        self._count.launch_groups(groups, *lists.arguments, *whom, size, words, *arrays)


_EDGE_TRIANGLES_FILE = "edge_triangles.cl"


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
        self._measure = get_kernel(context, _EDGE_TRIANGLES_FILE, "measure_above", "bbIb")
        self._count = get_kernel(context, _EDGE_TRIANGLES_FILE, "count_edges", f"{RANKED}IIQbbb")
        self._fans = get_kernel(context, _EDGE_TRIANGLES_FILE, "add_fans", f"{RANKED}IIQbbbbb")
        self._diamonds = get_kernel(context, _EDGE_TRIANGLES_FILE, "add_diamonds", "bQbb")

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
        share = self.task_nodes(lists.nodes)
        counts = (lists.nodes, share, tasks.max_work)
        return (*lists.arguments, *counts, *edges, tasks.counters)


_RANKED_TRIANGLES_FILE = "ranked_triangles.cl"


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
        self._count = get_kernel(
            context, _RANKED_TRIANGLES_FILE, "count_ranked_triangles", f"{RANKED}IIQIIbb"
        )
        self._count_loops = get_kernel(
            context, _RANKED_TRIANGLES_FILE, "count_loop_triangles", f"{RANKED}IIQIIbbb"
        )
        self._add_loops = get_kernel(
            context, _RANKED_TRIANGLES_FILE, "add_loop_triangles", f"{RANKED}IIIIbb"
        )

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
        whom = (lists.nodes, self.task_nodes(lists.nodes), tasks.max_work)
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


_RING_SQUARES_FILE = "ring_squares.cl"
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
        self._measure = get_kernel(context, _RING_SQUARES_FILE, "measure_links", "bbbIIb")
        self._count_paths = get_kernel(context, _RING_SQUARES_FILE, "count_paths", "bbIb")
        self._walk = get_kernel(context, _RING_SQUARES_FILE, "walk_links", "bbbIIIIbbb")
        self._clear = get_kernel(context, _RING_SQUARES_FILE, "clear_marks", "bQ")
        self._count = get_kernel(
            context, _RING_SQUARES_FILE, "count_ring_squares", f"{RANKED}IIIIIQbbbb"
        )
        self._correct = get_kernel(
            context, _RING_SQUARES_FILE, "correct_ring_squares", f"{RANKED}IIbb"
        )

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
        task_nodes = self.task_nodes(lists.nodes)
        how = (lists.is_undirected, carried is not None)
        whom = (first, lists.nodes, *how, task_nodes, tasks.max_work)
        arrays = (tasks.scratch, tasks.counters, tasks.totals, carried)
        self._count.launch_groups(groups, *lists.arguments, *whom, *arrays)

    def correct(self, lists: RankedLists, totals: DeviceArray) -> None:
        """Adds the error of these counts, modulo 2**64, except for triangles with a loop."""
        whom = (lists.nodes, lists.is_undirected, lists.loops)
        self._correct.launch_groups(totals.count, *lists.arguments, *whom, totals)
