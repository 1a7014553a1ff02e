"""Counts and groups of undirected symmetric patterns in the degree-oriented graph."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.deadline import check_deadline
from gpugda.errors import MemoryLimitError
from gpugda.execute.patterns.matching import select
from gpugda.execute.patterns.oriented_form import (
    disable_orienting,
    oriented_query_of,
    plan_upwards,
    upwards_graph,
)
from gpugda.execute.patterns.oriented_rows import concatenated, in_all_orders
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.engine import Engine
from gpugda.match.need import Count, Groups
from gpugda.match.report import oriented_text
from gpugda.match.special.composed import count_composed
from gpugda.match.special.ranked_counts import ranked_count
from gpugda.match.tuple_counts import TupleCounts, multiply_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.exchange import Exchange
    from gpugda.match.matcher import Matcher
    from gpugda.plan.pattern.orient import OrientedQuery
    from gpugda.plan.plan import Plan

__all__ = ["count_oriented", "groups_oriented"]

T = TypeVar("T")


def count_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
    exchange: Exchange | None = None,
) -> int | None:
    """The number of embeddings, found in the oriented graph; None if that does not apply.

    Args:
        plan: Plan of a pattern of which only the number of embeddings is needed.
        graph: The data graph.
        strategy: The matcher on the device.
        parameters: Parameter values by name.
        report: Filled during the run.
        deadline: Time of ``time.monotonic``.
        exchange: Divides counts between several places; None if there is only one.

    Raises:
        Any error of the strategy's ``count``.
    """
    if not isinstance(strategy, Engine):
        return None
    found, ranked = None, ranked_count(plan.bound, strategy)
    if ranked is not None and exchange is not None:
        found = exchange.count_shares(plan, ranked, report, deadline)
    if ranked is not None and found is None:
        found = ranked.count_share(strategy, report, deadline)
    if found is None:
        found = count_composed(plan.bound, graph, strategy, report, deadline)
    if found is None and may_use_vectors(plan.bound):
        from gpugda.match.count.vectors import chosen_vectors  # few patterns

        vectors = chosen_vectors(plan, graph, strategy.graph.context.profile.intersection)
        if vectors is not None and exchange is not None:
            found = exchange.count_shares(plan, vectors, report, deadline)
        elif vectors is not None:
            found = vectors.count_share(strategy, report, deadline)
    query = oriented_query_of(plan, graph) if found is None else None
    if query is None:
        return found

    def count(upwards: DataGraph, beside: Engine) -> int | None:
        return _query_count(query, plan, upwards, beside, parameters, report, deadline)

    return _found_upwards(count, plan, graph, strategy, report, deadline)


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
    query = oriented_query_of(plan, graph, need)
    if query is None:
        return None

    def group(upwards: DataGraph, beside: Engine) -> Embeddings | None:
        return _query_groups(query, plan, upwards, beside, need, parameters, report, deadline)

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
    upwards = upwards_graph(graph, report, deadline)
    if upwards is None:
        return None
    with strategy.on(upwards) as beside:
        if beside is None:
            return None
        try:
            return find(upwards, beside)
        except MemoryLimitError:
            # The original graph leaves more memory.
            disable_orienting(plan)
            return None


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
    if made is None:
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
    if made is None:
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
