"""Counts and groups of undirected symmetric patterns in the degree-oriented graph."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.deadline import check_deadline
from gpugda.errors import MemoryLimitError
from gpugda.execute.patterns.matching import select
from gpugda.execute.patterns.oriented_form import (
    RankedTimes,
    add_unoriented_seconds,
    disable_orienting,
    is_oriented,
    oriented_query_of,
    plan_upwards,
    times_of,
    upwards_graph,
)
from gpugda.execute.patterns.oriented_rows import concatenated, in_all_orders
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.engine import Engine
from gpugda.match.need import Count, Groups
from gpugda.match.report import oriented_text
from gpugda.match.special.cliques import count_cliques
from gpugda.match.special.composed import count_composed
from gpugda.match.special.ranked_triangles import count_triangles
from gpugda.match.special.ring_squares import count_ring
from gpugda.match.special.upward_squares import UpwardSquare, count_squares, counts_upwards
from gpugda.match.tuple_counts import TupleCounts, multiply_counts
from gpugda.plan.pattern.orient import OrientedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan

__all__ = ["count_oriented", "groups_oriented"]

T = TypeVar("T")
_RANKED_TIMES = "ranked times"
"""Key of entries kept with a plan."""
_MIN_AT_ONCE = 1 << 24
"""Number of relationships from which rank lists are used at once: making them, in tenths of a
second, takes less time than other forms."""
_MIN_COMPOSED_AT_ONCE = 1 << 20
"""The same for patterns made of triangles and squares: other forms make rows of them, or visit
each path of two, which takes seconds at hubs."""
_SHARE_TO_ORIENT = 1 / 4
"""Share of the rank lists' time that is charged as time the oriented graph would have saved."""


def count_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings, found in the oriented graph; None if that does not apply.

    Args:
        plan: Plan of a pattern of which only the number of embeddings is needed.
        graph: The data graph.
        strategy: The matcher on the device.
        parameters: Parameter values by name.
        report: Filled during the run.
        deadline: Time of ``time.monotonic``.

    Raises:
        Any error of the strategy's ``count``.
    """
    if not isinstance(strategy, Engine):
        return None
    found = count_triangles(plan.bound, graph, strategy, report, deadline)
    if found is not None:
        return found
    kind = oriented_query_of(plan, graph)
    found = _ranked_count(plan, graph, strategy, report, deadline)
    if found is None and may_use_vectors(plan.bound):
        from gpugda.match.count.vectors import count_vectors  # few patterns

        found = count_vectors(plan, graph, strategy, report, deadline)
    if found is not None:
        return found
    if kind is None or (isinstance(kind, UpwardSquare) and not counts_upwards(strategy.graph)):
        return None

    def count(upwards: DataGraph, beside: Engine) -> int | None:
        if isinstance(kind, UpwardSquare):
            return _square_count(kind, beside, report, deadline)
        return _query_count(kind, plan, upwards, beside, parameters, report, deadline)

    return _found_upwards(count, plan, graph, strategy, report, deadline)


def _ranked_count(
    plan: Plan,
    graph: DataGraph,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """Counts cycles and cliques with rank lists; undirected ones only if that was the fastest."""
    bound = plan.bound
    if any(each.directed for each in bound.relationships):
        return count_ring(bound, graph, strategy, report, deadline)
    times: RankedTimes = plan.kept.setdefault(_RANKED_TIMES, RankedTimes())
    may_orient = oriented_query_of(plan, graph) is not None and is_oriented(graph)
    is_preferred = times.is_preferred(times_of(plan), is_oriented=may_orient)
    forms: Sequence[Callable[..., int | None]]
    if is_preferred or graph.relationship_count >= _MIN_AT_ONCE:
        count_triangles_too = partial(count_triangles, beside_oriented=True)
        forms = (count_triangles_too, count_ring, count_cliques, count_composed)
    elif graph.relationship_count >= _MIN_COMPOSED_AT_ONCE:
        forms = (count_composed,)
    else:
        return None
    started = time.perf_counter()
    for count_ranked in forms:
        found = count_ranked(bound, graph, strategy, report, deadline)
        if found is not None:
            seconds = time.perf_counter() - started
            times.note(seconds)
            add_unoriented_seconds(plan, graph, seconds * _SHARE_TO_ORIENT)
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
    """The groups, each once, found in the oriented graph; None if that does not apply.

    Args: as `count_oriented`, and

        need: The groups that are needed.
    """
    if need.streamed or not isinstance(strategy, Engine):
        return None
    kind = oriented_query_of(plan, graph, need)
    if not isinstance(kind, OrientedQuery):
        return None

    def group(upwards: DataGraph, beside: Engine) -> Embeddings | None:
        return _query_groups(kind, plan, upwards, beside, need, parameters, report, deadline)

    return _found_upwards(group, plan, graph, strategy, report, deadline)


def _found_upwards(
    find: Callable[[DataGraph, Engine], T | None],
    plan: Plan,
    graph: DataGraph,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
) -> T | None:
    """Calls ``find`` on the oriented graph, if that exists or is worth building, and fits."""
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
            # The original graph leaves more memory.
            disable_orienting(plan)
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
        return concatenated(in_all_orders(found, query.sets, need.nodes))
    return multiply_counts(found, query.multiplicity) if need.counted else found
