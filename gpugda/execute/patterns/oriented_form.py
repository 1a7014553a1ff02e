"""Decides when the oriented form of a graph is built and when queries run in it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpugda.deadline import seconds_left
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.need import Count, Rows
from gpugda.match.registry import oriented_query, plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.counting.problem import may_be_cycle
from gpugda.plan.pattern.orient import OrientedQuery, may_orient
from gpugda.stages import timed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.need import Groups, Need
    from gpugda.plan.plan import BoundQuery, Plan


__all__ = [
    "add_unoriented_seconds",
    "disable_orienting",
    "may_be_oriented",
    "oriented_query_of",
    "plan_upwards",
    "timing_batches",
    "timing_unoriented",
    "upwards_graph",
]

_SECONDS_PER_RELATIONSHIP = 1.5e-7
"""Expected time to build the oriented graph on one core. Measured: 0.6e-7 to 1.1e-7."""


_QUERY, _PLAN = "oriented query", "oriented plan"
"""Keys of entries kept with a plan, together with the bound query or the graph."""

_COUNT = Count()


@dataclass(slots=True, eq=False)
class _Form:
    """The oriented form of one graph.

    Args:
        seconds: Time of the queries that would have used it.
        graph: The oriented graph; None until it is built.
    """

    seconds: float = 0.0
    graph: DataGraph | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_FORMS: WeakKeyDictionary[DataGraph, _Form] = WeakKeyDictionary()


@contextmanager
def timing_unoriented(plan: Plan, graph: DataGraph) -> Iterator[None]:
    """Records the time of a count inside the block, even if it is given up."""
    started = time.perf_counter()
    try:
        yield
    finally:
        add_unoriented_seconds(plan, graph, time.perf_counter() - started)


def timing_batches(
    chunks: Generator[Embeddings], plan: Plan, graph: DataGraph, need: Groups | Rows
) -> Generator[Embeddings]:
    """Records the time of groups or rows that are found in the original graph."""
    if isinstance(need, Rows) and need.enough is not None:
        yield from chunks
        return
    yield from timed(chunks, lambda seconds: add_unoriented_seconds(plan, graph, seconds, need))


def may_be_oriented(bound: BoundQuery) -> bool:
    """True if an oriented graph, rank lists or vectors may count it.

    It is undirected, a cycle of 3 or 4 nodes, or has more nodes and a cycle.
    """
    relationships = bound.relationships
    return (
        may_be_cycle(relationships)
        or not any([each.directed for each in relationships])
        or may_use_vectors(bound)
    )


def add_unoriented_seconds(
    plan: Plan, graph: DataGraph, seconds: float, need: Need = _COUNT
) -> None:
    """Records the time of a run that could have used the oriented graph but did not."""
    if oriented_query_of(plan, graph, need) is not None:
        _FORMS.setdefault(graph, _Form()).seconds += seconds


def oriented_query_of(plan: Plan, graph: DataGraph, need: Need = _COUNT) -> OrientedQuery | None:
    """The oriented query that replaces the plan's pattern; None if there is none."""
    known = plan.kept.get(_QUERY)
    if known is None or known[0] is not plan.bound:
        known = plan.kept[_QUERY] = (plan.bound, _found_query(plan.bound, graph, need))
    query: OrientedQuery | None = known[1]
    return query


def disable_orienting(plan: Plan) -> None:
    """Stops using the oriented graph for this plan: it leaves too little memory."""
    plan.kept[_QUERY] = (plan.bound, None)


def _found_query(bound: BoundQuery, graph: DataGraph, need: Need) -> OrientedQuery | None:
    return oriented_query(bound, _folding_loops(graph), need) if may_orient(bound) else None


def _folding_loops(graph: DataGraph) -> tuple[int, ...]:
    """Per type, the number of loops that could map two interchangeable query nodes to one node.

    A third query node is joined to both in the same way, so by two relationships to that one node.
    If no two nodes have two relationships between them, and no node has two loops, no such
    embedding exists.
    """
    counts = graph.statistics.loop_counts
    if len(counts) == 1 and counts[0] and graph.undirected_parallel_counts() == (1,):
        return (0,)
    return counts


def upwards_graph(
    graph: DataGraph, report: StrategyReport, deadline: float | None
) -> DataGraph | None:
    """The oriented graph, if it exists or is worth building."""
    form = _FORMS.setdefault(graph, _Form())
    return _built(form, graph, report) if _is_worth_building(form, graph, deadline) else None


def _is_worth_building(form: _Form, graph: DataGraph, deadline: float | None) -> bool:
    if form.graph is not None:
        return True
    expected = graph.relationship_count * _SECONDS_PER_RELATIONSHIP
    left = seconds_left(deadline)
    return form.seconds >= expected and (left is None or left > 4 * expected)


def _built(form: _Form, graph: DataGraph, report: StrategyReport) -> DataGraph:
    with form.lock:
        if form.graph is None:
            started = time.perf_counter()
            from gpugda.data.oriented import oriented  # at most once per graph

            form.graph = oriented(graph)
            report.timings["orient"] = time.perf_counter() - started
    return form.graph


def plan_upwards(upwards: DataGraph, plan: Plan, query: OrientedQuery, need: Need) -> Plan | None:
    """The plan of the replacement query in the oriented graph; None if it makes as many rows."""
    known = plan.kept.get(_PLAN)
    if known is None or known[0] is not upwards:
        bound = bind(query.query, upwards)
        made = plan_pattern(bound, upwards.statistics, plan.strategy, need)
        known = plan.kept[_PLAN] = (upwards, made if _saves_rows(made, plan) else None)
    chosen: Plan | None = known[1]
    return chosen


def _saves_rows(made: Plan, plan: Plan) -> bool:
    return not made.declined and made.joined_rows < plan.joined_rows
