"""Directed cycles of four nodes of any kind that are only counted: on a GPU, without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycle_tasks import CycleTasks
from gpugda.device.launch.ring_squares import RingSquareKernels
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.match.special.upward_squares import counts_upwards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["count_ring", "find_ring"]

_FEWEST = 1 << 17
"""Relationships: of fewer, ranks take longer than they save."""
_WORK_PER_LAUNCH = 1 << 24
_MOST_MARK = 1 << 32
_MOST_COUNT = 1 << 63


def find_ring(bound: BoundQuery, graph: DataGraph) -> int | None:
    """The type of all relationships of the ring that a query is; None where it is none.

    Nor where loops can match it, or counts might not fit.
    """
    if not _is_ring(bound) or not _asks_nothing(bound):
        return None
    kinds = {(each.types, each.clause) for each in bound.relationships}
    types = (0,) if len(graph.types) == 1 else next(iter(kinds))[0]
    if len(kinds) > 1 or types is None or len(types) != 1:
        return None
    (kind,) = types
    return kind if not graph.statistics.loop_counts[kind] and _fits(graph, kind) else None


def _is_ring(bound: BoundQuery) -> bool:
    """Does each of four nodes lead to the next one?"""
    after = {each.source: each.target for each in bound.relationships if each.directed}
    if len(bound.nodes) != 4 or len(bound.relationships) != 4 or len(after) != 4:
        return False
    path = [0]
    while len(path) < 4:
        path.append(after[path[-1]])
    return len(set(path)) == 4 and after[path[-1]] == 0


def _asks_nothing(bound: BoundQuery) -> bool:
    """Is nothing asked but that relationships differ?"""
    return (
        bound.no_rows is None
        and not bound.residuals
        and not bound.constants
        and not any(each.labels or each.predicates for each in bound.nodes)
        and not any(each.predicates for each in bound.relationships)
        and not any(test.equal or test.on_nodes for test in bound.tests)
    )


def _fits(graph: DataGraph, kind: int) -> bool:
    """Do marks fit 32 bits, and the count 63? All between is taken modulo 2**64."""
    degrees = [graph.statistics.degrees(kind, outgoing=each).largest for each in (True, False)]
    longest, parallel = max(degrees), max(graph.parallel_counts(), default=1)
    ways = graph.relationship_count * longest
    return longest * parallel < _MOST_MARK and ways * longest * parallel < _MOST_COUNT


def count_ring(
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
    kind = find_ring(bound, graph)
    if kind is None or not strategy.placement().is_whole:
        return None
    with strategy.running(report, deadline) as run, run.locked(), run.stage("join"):
        found = _counted(run, kind)
    if found is not None:
        report.steps.append(
            f"cycle of 4 nodes counted from the one of most relationships: {found:,} rows"
        )
    return found


def _by_degree(graph: DataGraph) -> NDArray[np.uint32]:
    """Nodes, those of most relationships first."""

    def made() -> NDArray[np.uint32]:
        degrees = graph.outgoing.degrees().astype(np.int64) + graph.incoming.degrees()
        return np.argsort(-degrees, kind="stable").astype(np.uint32)

    return graph.kept_numbers("nodes by degree", made)


def _ranks(graph: DataGraph) -> NDArray[np.uint32]:
    def made() -> NDArray[np.uint32]:
        ranks = np.empty(graph.node_count, dtype=np.uint32)
        ranks[_by_degree(graph)] = np.arange(graph.node_count, dtype=np.uint32)
        return ranks

    return graph.kept_numbers("ranks by degree", made)


def _counted(run: Run, kind: int) -> int | None:
    kernels, workspace, graph = RingSquareKernels(run.graph.context), run.workspace, run.graph.graph
    nodes = graph.node_count
    arguments = run.graph.csr_arguments(workspace.budget)
    groups = groups_with_scratch(run, nodes, kernels.most_groups, 8 * nodes)
    if groups == 0:
        return None
    order = workspace.upload(_by_degree(graph), "nodes by degree")
    ranks = workspace.upload(_ranks(graph), "ranks of nodes")
    tasks = CycleTasks.new(workspace, groups * nodes, nodes, _WORK_PER_LAUNCH, groups)
    task_count = -(-nodes // kernels.task_nodes(nodes, groups))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(arguments, kind, (order, ranks), groups, tasks)
    kernels.correct(arguments, kind, nodes, ranks, groups, tasks.totals)
    workspace.release(order, ranks)
    return tasks.total(workspace)
