"""Counts of undirected patterns with symmetries, in the graph whose relationships all run upwards.

The oriented graph has to be built and copied to the device first. It is, as soon as the queries
that it would have helped took as long as that is expected to take.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gpugda.data.oriented import oriented
from gpugda.deadline import seconds_left
from gpugda.execute.matching import select
from gpugda.match.report import node_text
from gpugda.plan.bind import bind
from gpugda.plan.matching_order import make_plan
from gpugda.plan.rules.orient import OrientedQuery, orient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Strategy, StrategyReport
    from gpugda.plan.plan import Plan

__all__ = ["count_oriented", "note_unoriented"]

logger = logging.getLogger(__name__)

_SECONDS_PER_RELATIONSHIP = 1.5e-7
"""To build the oriented graph, on one core. Measured: 0.6e-7 to 1.1e-7."""


@dataclass(slots=True, eq=False)
class _Form:
    """The oriented form of one graph.

    Args:
        seconds: What queries took that would have used it.
        graph: The form, None until it is built.
    """

    seconds: float = 0.0
    graph: DataGraph | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_FORMS: WeakKeyDictionary[DataGraph, _Form] = WeakKeyDictionary()


def count_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Strategy,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings by way of the oriented graph; None where that is not the way.

    Args:
        plan: Whose query counts embeddings and nothing else.
        graph: The data graph.
        strategy: Joins on the device.
        parameters: Values by name.
        report: Filled while running.
        deadline: A time of ``time.monotonic``.

    Raises:
        As the strategy's ``count``.
    """
    query = _oriented_query(plan, graph)
    if query is None:
        return None
    form = _FORMS.setdefault(graph, _Form())
    if not _is_worth_building(form, graph, deadline):
        return None
    upwards = _built(form, graph)
    with strategy.on(upwards) as beside:
        if beside is None:
            return None
        return _counted(plan, query, upwards, beside, parameters, report, deadline)


def note_unoriented(plan: Plan, graph: DataGraph, seconds: float) -> None:
    """Remembers how long a count took that had to do without the oriented graph."""
    if _oriented_query(plan, graph) is not None:
        _FORMS.setdefault(graph, _Form()).seconds += seconds


def _oriented_query(plan: Plan, graph: DataGraph) -> OrientedQuery | None:
    known = plan.kept.get("oriented query")
    if known is None or known[0] is not plan.bound:
        found = orient(plan.bound, graph.statistics.loop_counts)
        known = plan.kept["oriented query"] = (plan.bound, found)
    query: OrientedQuery | None = known[1]
    return query


def _is_worth_building(form: _Form, graph: DataGraph, deadline: float | None) -> bool:
    if form.graph is not None:
        return True
    expected = graph.relationship_count * _SECONDS_PER_RELATIONSHIP
    left = seconds_left(deadline)
    return form.seconds >= expected and (left is None or left > 4 * expected)


def _built(form: _Form, graph: DataGraph) -> DataGraph:
    with form.lock:
        if form.graph is None:
            started = time.perf_counter()
            form.graph = oriented(graph)
            logger.debug("oriented graph built in %.3f s", time.perf_counter() - started)
    return form.graph


def _counted(
    plan: Plan,
    oriented_query: OrientedQuery,
    graph: DataGraph,
    strategy: Strategy,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int:
    known = plan.kept.get("oriented plan")
    if known is None or known[0] is not graph:
        bound = bind(oriented_query.query, graph)
        made = make_plan(bound, graph.statistics, plan.strategy, plan.strategy_reason)
        known = plan.kept["oriented plan"] = (graph, made)
    selected = select(known[1], graph, strategy, parameters, report, deadline)
    if selected is None:
        return 0
    report.steps.append(_described(plan, oriented_query))
    count = strategy.count(selected.plan, selected.masks, report, deadline)
    return count * oriented_query.multiplicity


def _described(plan: Plan, query: OrientedQuery) -> str:
    sets = [", ".join(node_text(plan.bound, position) for position in each) for each in query.sets]
    return (
        f"of embeddings that exchange {'; or '.join(sets)} one is counted, "
        f"{query.multiplicity} times: relationships run from the node of fewer to that of more"
    )
