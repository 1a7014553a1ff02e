"""Counts undirected patterns that are made of squares or triangles in simple graphs, on a GPU.

Without self-loops and parallel relationships, the nodes of these patterns are distinct if their
relationships are. So their numbers follow from the squares and the triangles of the graph, without
rows (as Pinar et al., ESCAPE, WWW 2017, count patterns of five nodes):

    square with a tail        a square, and another relationship of one of its nodes
    square with a diagonal    two triangles over one relationship
    fan of three triangles    a triangle, and one more over each of two of its sides, whose third
                              nodes differ: they are one if they form a 4-clique with the triangle
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import EdgeTriangleKernels
from gpugda.errors import MemoryLimitError
from gpugda.match.special.cliques import cliques_in
from gpugda.match.special.ring_squares import weighed_squares
from gpugda.match.special.tasks import carried_total, launches, new_carries
from gpugda.match.special.unrestricted import (
    common_link,
    counted_by_rank,
    is_unrestricted,
    ranked_lists_apply,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_cycles import EdgeTriangles
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["count_composed"]

_WORK_PER_LAUNCH = 1 << 24
_MAX_TASK_NODES = 16
_MAX_SUM = 1 << 64


def count_composed(
    bound: BoundQuery,
    graph: DataGraph,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings; None if this method does not apply, or has no room.

    Args: as of `count_oriented`, and
        bound: The pattern.
    """
    if not ranked_lists_apply(graph, strategy) or not is_unrestricted(bound):
        return None
    known = _shape_of(bound)
    links = None if known is None else common_link(bound, graph)
    if known is None or links is None or not links.undirected or links.has_loops(graph):
        return None
    if links.max_between(graph) > 1:
        return None
    said, count = known
    return counted_by_rank(links, strategy, report, deadline, count, said)


def _shape_of(
    bound: BoundQuery,
) -> tuple[str, Callable[[Run, RankedLists], int | None]] | None:
    """What is counted, and how; None for any other pattern."""
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(ends) != len(bound.relationships) or any(len(each) != 2 for each in ends):
        return None
    for wanted, said, count in _SHAPES:
        if len(wanted) != len(ends) or max(map(max, wanted)) != len(bound.nodes) - 1:
            continue
        if _degrees(wanted) != _degrees(ends):
            continue
        for order in permutations(range(len(bound.nodes))):
            if all(frozenset(order[node] for node in pair) in ends for pair in wanted):
                return said, count
    return None


def _degrees(ends: set[frozenset[int]]) -> list[int]:
    return sorted(Counter(node for pair in ends for node in pair).values())


# ------------------------------------------------------------------ how they are counted
def _tailed_squares(run: Run, lists: RankedLists) -> int | None:
    """Two embeddings per square and other relationship of a node: the square may be turned."""
    longest = _longest(run, lists)
    if _work(lists, longest) * 4 * longest**2 >= _MAX_SUM:
        return None
    return weighed_squares(run, lists)


def _diamonds(run: Run, lists: RankedLists) -> int | None:
    """Two directions of the diagonal, and ordered pairs of triangles over it."""
    workspace = run.workspace

    def count(kernels: EdgeTriangleKernels, edges: EdgeTriangles) -> int:
        tasks, carried = _tasks(run, lists, kernels), new_carries(workspace)
        kernels.diamonds(edges, tasks.totals, carried)
        return 2 * (tasks.total(workspace, whole=True) + carried_total(workspace, carried))

    fits = lists.size * _longest(run, lists) ** 2 < _MAX_SUM
    return _over_edges(run, lists, count) if fits else None


def _fans(run: Run, lists: RankedLists) -> int | None:
    """Two orders of the sides at a node, less the pairs of triangles whose third node is one."""
    workspace, longest = run.workspace, _longest(run, lists)
    if _work(lists, longest) * 3 * longest**2 >= _MAX_SUM:
        return None
    cliques = cliques_in(run, lists, 4)
    if cliques is None:
        return None

    def count(kernels: EdgeTriangleKernels, edges: EdgeTriangles) -> int:
        tasks, carried = _tasks(run, lists, kernels), new_carries(workspace)
        for _ in launches(run, tasks.counters, _task_count(lists, kernels)):
            kernels.fans(lists, edges, tasks, carried)
        sums = tasks.total(workspace, whole=True) + carried_total(workspace, carried)
        return 2 * sums - 24 * cliques

    return _over_edges(run, lists, count)


def _longest(run: Run, lists: RankedLists) -> int:
    """The largest degree: that of the highest node."""
    return int(run.workspace.download(lists.outgoing.starts, 1, 1)[0])


def _work(lists: RankedLists, longest: int) -> int:
    """Upper bound of the entries that a work group reads per launch."""
    return _WORK_PER_LAUNCH + _MAX_TASK_NODES * min(longest**2, lists.size)


def _over_edges(
    run: Run,
    lists: RankedLists,
    count: Callable[[EdgeTriangleKernels, EdgeTriangles], int],
) -> int | None:
    """Counts the triangles over each relationship, then calls ``count``; None without room."""
    kernels, workspace = EdgeTriangleKernels(run.graph.context), run.workspace
    try:
        with workspace.reclaiming(MemoryLimitError):
            edges = kernels.zeros(workspace, lists)
    except MemoryLimitError:
        return None
    tasks = _tasks(run, lists, kernels)
    for _ in launches(run, tasks.counters, _task_count(lists, kernels)):
        kernels.count(lists, edges, tasks)
    tasks.release(workspace)
    found = count(kernels, edges)
    workspace.release(*edges)
    return found


def _tasks(run: Run, lists: RankedLists, kernels: EdgeTriangleKernels) -> CycleTasks:
    groups = kernels.max_groups
    return CycleTasks.new(run.workspace, 1, lists.nodes, _WORK_PER_LAUNCH, groups)


def _task_count(lists: RankedLists, kernels: EdgeTriangleKernels) -> int:
    return -(-lists.nodes // kernels.task_nodes(lists.nodes))


def _ends(text: str) -> set[frozenset[int]]:
    return {frozenset("abcde".index(each) for each in pair) for pair in text.split()}


_SHAPES = (
    (
        _ends("ab bc cd da ae"),
        "squares weighed by other relationships of their nodes",
        _tailed_squares,
    ),
    (_ends("ab bc cd da ac"), "pairs of triangles over a relationship", _diamonds),
    (_ends("ab bc cd da ac ae be"), "triangles weighed by others over their sides", _fans),
)
