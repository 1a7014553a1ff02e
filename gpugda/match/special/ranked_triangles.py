"""Triangles of any nodes that are only counted: on a GPU, without rows, from their lowest nodes."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from gpugda.device.launch.cycle_tasks import CycleTasks
from gpugda.device.launch.ranked_triangles import RankedTriangleKernels
from gpugda.match.special.any_nodes import asks_nothing, common_type
from gpugda.match.special.tasks import launches
from gpugda.match.special.upward_squares import counts_upwards

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["count_triangles", "weights_of"]

_FEWEST = 1 << 17
"""Relationships: of fewer, ranks take longer than they save."""
_WORK_PER_LAUNCH = 1 << 24
_MOST_COUNT = 1 << 63
_SIDES = ((0, 1), (1, 2), (0, 2))
"""Of a triangle whose nodes rise."""


def weights_of(bound: BoundQuery) -> int | None:
    """Embeddings of a triangle of the graph, for each way its sides may run; None where it is none.

    Four bits each, as ``ranked_triangles.cl`` has them.
    """
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(bound.nodes) != 3 or len(bound.relationships) != 3 or len(ends) != 3:
        return None
    if any(len(each) != 2 for each in ends):
        return None
    weights = 0
    for kind in range(8):
        turned = [bool(kind >> bit & 1) for bit in (2, 1, 0)]
        runs = {side[::-1] if back else side for side, back in zip(_SIDES, turned, strict=True)}
        weights += sum(_fits_runs(bound, each, runs) for each in permutations(range(3))) << 4 * kind
    return weights


def _fits_runs(bound: BoundQuery, at: tuple[int, ...], runs: set[tuple[int, int]]) -> bool:
    """Do the relationships of the query run so where its nodes lie at these places?"""
    return all(
        (at[each.source], at[each.target]) in runs
        or (not each.directed and (at[each.target], at[each.source]) in runs)
        for each in bound.relationships
    )


def _find(bound: BoundQuery, graph: DataGraph) -> tuple[int, int] | None:
    """The type of all relationships and the weights."""
    if not asks_nothing(bound) or not any(each.directed for each in bound.relationships):
        return None
    weights = weights_of(bound)
    kind = None if weights is None else common_type(bound, graph)
    if weights is None or kind is None:
        return None
    degrees = [graph.statistics.degrees(kind, outgoing=each).largest for each in (True, False)]
    fits = 6 * graph.relationship_count * max(degrees) * max(graph.parallel_counts()) < _MOST_COUNT
    return (kind, weights) if fits else None


def count_triangles(
    bound: BoundQuery,
    graph: DataGraph,
    strategy: Matcher,
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings; None where that is not the way, or there is no place for it.

    Args: as of `count_oriented`, and

        bound: The pattern.
    """
    if graph.relationship_count < _FEWEST or not counts_upwards(strategy.graph):
        return None
    found = _find(bound, graph)
    if found is None or not strategy.placement().is_whole:
        return None
    kind, weights = found
    with strategy.running(report, deadline) as run, run.locked():
        lists = strategy.ranked.lists(run, kind)
        if lists is None:
            return None
        with run.stage("join"):
            count = _counted(run, lists, weights, looks_up=graph.parallel_counts()[kind] > 1)
    report.steps.append(
        f"triangles counted from their node of fewest relationships: {count:,} rows"
    )
    return count


def _counted(run: Run, lists: RankedLists, weights: int, *, looks_up: bool) -> int:
    kernels, workspace = RankedTriangleKernels(run.graph.context), run.workspace
    tasks = CycleTasks.new(workspace, 1, lists.nodes, _WORK_PER_LAUNCH, kernels.groups)
    for _ in launches(run, tasks.counters, -(-lists.nodes // kernels.task_nodes(lists.nodes))):
        kernels.count(lists, weights, tasks, looks_up=looks_up)
    return tasks.total(workspace)
