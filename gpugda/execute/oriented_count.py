"""Counts of undirected patterns with symmetries, and of groups, in a graph that runs upwards."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.deadline import check_deadline
from gpugda.errors import MemoryLimitError
from gpugda.execute.matching import select
from gpugda.execute.oriented_form import (
    give_up,
    is_oriented,
    kind_of,
    note_unoriented,
    plan_upwards,
    times_of,
    upwards_graph,
)
from gpugda.execute.oriented_rows import in_all_orders, together
from gpugda.execute.ranked_times import RankedTimes
from gpugda.match.need import Count, Groups
from gpugda.match.report import oriented_text
from gpugda.match.special.cliques import count_cliques
from gpugda.match.special.ranked_triangles import count_triangles
from gpugda.match.special.ring_squares import count_ring
from gpugda.match.special.upward_squares import UpwardSquare, count_squares, counts_upwards
from gpugda.match.tuple_counts import TupleCounts, multiplied
from gpugda.plan.rules.orient import OrientedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan

__all__ = ["count_oriented", "groups_oriented"]

T = TypeVar("T")
_RANKED_TIMES = "ranked times"
"""Kept with a plan."""
_SHARE_TO_ORIENT = 1 / 4
"""Of the time that lists by rank took, as spent where the oriented graph would have helped."""


def count_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings by way of the oriented graph; None where that is not the way.

    Args:
        plan: Of a pattern of which only the number of embeddings is asked for.
        graph: The data graph.
        strategy: Joins on the device.
        parameters: Values by name.
        report: Filled while running.
        deadline: A time of ``time.monotonic``.

    Raises:
        As the strategy's ``count``.
    """
    if not strategy.orients:
        return None
    found = count_triangles(plan.bound, graph, strategy, report, deadline)
    if found is not None:
        return found
    kind = kind_of(plan, graph)
    found = _ranked_count(plan, graph, strategy, report, deadline)
    if found is not None:
        return found
    if kind is None or (isinstance(kind, UpwardSquare) and not counts_upwards(strategy.graph)):
        return None

    def count(upwards: DataGraph, beside: Matcher) -> int | None:
        if isinstance(kind, UpwardSquare):
            return _square_count(kind, beside, report, deadline)
        return _query_count(kind, plan, upwards, beside, parameters, report, deadline)

    return _found_upwards(count, plan, graph, strategy, report, deadline)


def _ranked_count(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """Cycles and cliques in lists by rank, undirected ones where that was the fastest."""
    bound = plan.bound
    if any(each.directed for each in bound.relationships):
        return count_ring(bound, graph, strategy, report, deadline)
    times: RankedTimes = plan.kept.setdefault(_RANKED_TIMES, RankedTimes())
    may_orient = kind_of(plan, graph) is not None and is_oriented(graph)
    if not times.is_preferred(times_of(plan), is_oriented=may_orient):
        return None
    started = time.perf_counter()
    count_triangles_too = partial(count_triangles, beside_oriented=True)
    for count_ranked in (count_triangles_too, count_ring, count_cliques):
        found = count_ranked(bound, graph, strategy, report, deadline)
        if found is not None:
            seconds = time.perf_counter() - started
            times.note(seconds)
            note_unoriented(plan, graph, seconds * _SHARE_TO_ORIENT)
            return found
    return None


def groups_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    need: Groups,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Embeddings | None:
    """The groups, each once, by way of the oriented graph; None where that is not the way.

    Args: as of `count_oriented`, and

        need: What is asked for.
    """
    if need.streamed or not strategy.orients:
        return None
    kind = kind_of(plan, graph, need)
    if not isinstance(kind, OrientedQuery):
        return None

    def group(upwards: DataGraph, beside: Matcher) -> Embeddings | None:
        return _query_groups(kind, plan, upwards, beside, need, parameters, report, deadline)

    return _found_upwards(group, plan, graph, strategy, report, deadline)


def _found_upwards(
    find: Callable[[DataGraph, Matcher], T | None],
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    report: StrategyReport,
    deadline: float | None,
) -> T | None:
    """What is found in the oriented graph, if that is there, or worth building, and has room."""
    upwards = upwards_graph(plan, graph, report, deadline)
    if upwards is None:
        return None
    with strategy.on(upwards) as beside:
        if beside is None:
            return None
        started = time.perf_counter()
        try:
            found = find(upwards, beside)
        except MemoryLimitError:
            # The graph as it is leaves more room.
            give_up(plan)
            return None
        if found is not None:
            times_of(plan).note(time.perf_counter() - started, is_oriented=True)
        return found


def _square_count(
    square: UpwardSquare, strategy: Matcher, report: StrategyReport, deadline: float | None
) -> int | None:
    with strategy.running(report, deadline) as run:
        found = count_squares(run, square)
    if found is not None:
        report.steps.append(
            f"cycle of 4 nodes counted from the one of most relationships: {found:,} rows"
        )
    return found


def _query_count(
    query: OrientedQuery,
    plan: Plan,
    upwards: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    made = plan_upwards(upwards, plan, query, Count())
    if made.declined:
        return None
    selected = select(made, upwards, strategy, parameters, report, deadline)
    if selected is None:
        return 0
    report.steps.append(oriented_text(plan.bound, query))
    count = strategy.count(selected.plan, selected.masks, report, deadline)
    return count * query.multiplicity


def _query_groups(
    query: OrientedQuery,
    plan: Plan,
    upwards: DataGraph,
    strategy: Matcher,
    need: Groups,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Embeddings | None:
    made = plan_upwards(upwards, plan, query, need)
    if made.declined:
        return None
    selected = select(made, upwards, strategy, parameters, report, deadline)
    check = partial(check_deadline, deadline)
    tuples = TupleCounts(need.nodes, counted=need.counted, check=check)
    if selected is None:
        return tuples.found()
    report.steps.append(oriented_text(plan.bound, query))
    for places in query.places:
        asked = replace(need, nodes=tuple(sorted(places)))
        chunks = strategy.groups(selected.plan, selected.masks, asked, report, deadline)
        with closing(chunks):
            for chunk in chunks:
                columns = zip(need.nodes, places, strict=True)
                nodes = {node: chunk.nodes[place] for node, place in columns}
                tuples.add(replace(chunk, nodes=nodes))
    found = tuples.found()
    if query.as_rows:
        return together(in_all_orders(found, query.sets, need.nodes))
    return multiplied(found, query.multiplicity) if need.counted else found
