"""Directed cycles of four nodes of any kind that are only counted: on a GPU, without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycle_tasks import CycleTasks
from gpugda.device.launch.ring_squares import RingSquareKernels, Ways
from gpugda.errors import MemoryLimitError
from gpugda.match.special.any_nodes import asks_nothing, common_type
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.match.special.upward_squares import counts_upwards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray
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

_FIRST_NODES = 1 << 16
"""Of these at most all work groups walk together."""
_FEWEST_WAYS = 1 << 16
"""Of a node for which they do."""
_WAYS_OF_BATCH = 1 << 23
_BATCH_BYTES = 1 << 27
"""Of marks: those in use should fit the cache."""
_BATCHES_TOGETHER = 64
"""So many are launched before anybody looks at the clock."""


def find_ring(bound: BoundQuery, graph: DataGraph) -> int | None:
    """The type of all relationships of the ring that a query is; None where it is none.

    Nor where loops can match it, or counts might not fit.
    """
    if not _is_ring(bound) or not asks_nothing(bound):
        return None
    kind = common_type(bound, graph)
    return kind if kind is not None and _fits(graph, kind) else None


def _is_ring(bound: BoundQuery) -> bool:
    """Does each of four nodes lead to the next one?"""
    after = {each.source: each.target for each in bound.relationships if each.directed}
    if len(bound.nodes) != 4 or len(bound.relationships) != 4 or len(after) != 4:
        return False
    path = [0]
    while len(path) < 4:
        path.append(after[path[-1]])
    return len(set(path)) == 4 and after[path[-1]] == 0


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
    with strategy.running(report, deadline) as run, run.locked():
        lists = strategy.ranked.lists(run, kind)
        with run.stage("join"):
            found = None if lists is None else _counted(run, lists)
    if found is not None:
        report.steps.append(
            f"cycle of 4 nodes counted from the one of most relationships: {found:,} rows"
        )
    return found


def _counted(run: Run, lists: RankedLists) -> int | None:
    kernels, workspace, nodes = RingSquareKernels(run.graph.context), run.workspace, lists.nodes
    groups = groups_with_scratch(run, nodes, kernels.most_groups)
    if groups == 0:
        return None
    most = max(groups, kernels.walking_groups)
    tasks = CycleTasks.new(workspace, groups * nodes, nodes, _WORK_PER_LAUNCH, most)
    first = _from_first_nodes(run, kernels, lists, tasks.totals)
    task_count = -(-(nodes - first) // kernels.task_nodes(nodes, groups))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(lists, first, groups, tasks)
    kernels.correct(lists, tasks.totals)
    return tasks.total(workspace)


def _from_first_nodes(
    run: Run, kernels: RingSquareKernels, lists: RankedLists, totals: DeviceArray
) -> int:
    """Counts from the highest nodes, in batches. Returns the first node that is left."""
    workspace = run.workspace
    try:
        with workspace.given_up(MemoryLimitError):
            ways = _ways(run, kernels, lists)
            most_nodes = max(1, min(_BATCH_BYTES, workspace.available // 4) // (4 * lists.nodes))
            marks = workspace.allocate(most_nodes * lists.nodes, np.uint32, "marks of nodes")
    except MemoryLimitError:
        return 0
    workspace.fill(marks, 0)
    of_nodes = ways[0].of_nodes + ways[1].of_nodes
    done = 0
    for number, nodes in enumerate(_batches(of_nodes, most_nodes)):
        if number % _BATCHES_TOGETHER == 0:
            run.graph.context.finish()
            run.check_deadline()
        kernels.batch(lists, ways, nodes, marks, totals)
        done = nodes.stop
    workspace.release(marks, *(each.sums for each in ways))
    return done


def _ways(run: Run, kernels: RingSquareKernels, lists: RankedLists) -> tuple[Ways, Ways]:
    """Outgoing and incoming ones from the first nodes."""
    nodes = min(lists.nodes, _FIRST_NODES)
    found = []
    for rows in (lists.outgoing, lists.incoming):
        entries = int(run.workspace.download(rows.starts, nodes, 1)[0])
        found.append(kernels.ways(run.workspace, rows, nodes, entries))
    return found[0], found[1]


def _batches(ways: NDArray[np.uint64], most_nodes: int) -> Iterator[range]:
    """The nodes up to the last one of many ways, few at a time where they have very many."""
    many = np.flatnonzero(ways >= _FEWEST_WAYS)
    last = int(many[-1]) + 1 if len(many) else 0
    before = np.concatenate([[0], np.cumsum(ways[:last])])
    first = 0
    while first < last:
        stop = int(np.searchsorted(before, before[first] + _WAYS_OF_BATCH, side="left"))
        stop = min(max(first + 1, stop), first + most_nodes, last)
        yield range(first, stop)
        first = stop
