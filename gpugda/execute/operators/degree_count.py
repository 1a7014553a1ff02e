"""Counts the rows of a pattern with looked-up degrees without creating rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.matching import select
from gpugda.execute.operators.match import Match
from gpugda.match.engine import Engine
from gpugda.match.need import Groups
from gpugda.plan.estimate import estimate

if TYPE_CHECKING:
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operator import Operator
    from gpugda.execute.operators.degree_lookup import DegreeLookup
    from gpugda.match.embeddings import StrategyReport

__all__ = ["count_by_degrees"]


def count_by_degrees(
    child: Operator, context: ExecutionContext, report: StrategyReport
) -> int | None:
    """The number of rows of an operator; None if it has another form, or this is no faster.

    Degrees are multiplied with the group counts on the device, so no group is copied to the host.

    Args:
        child: The operator.
        context: Context of the run.
        report: Filled during the run.
    """
    if isinstance(child, Match):
        return None
    from gpugda.execute.operators.degree_lookup import DegreeLookup  # few queries have any

    looked_up: list[DegreeLookup] = []
    while isinstance(child, DegreeLookup):
        looked_up.append(child)
        (child,) = child.children
    names = {each.only_node for each in looked_up}
    if len(names) != 1 or None in names or not isinstance(child, Match) or child.children:
        return None
    (name,) = names
    assert name is not None
    return _weighted_count(child, name, looked_up, context, report)


def _weighted_count(
    match: Match,
    name: str,
    looked_up: list[DegreeLookup],
    context: ExecutionContext,
    report: StrategyReport,
) -> int | None:
    from gpugda.execute.operators.degree_lookup import pays_for_all_nodes

    graph, strategy = context.graph, context.strategy
    plan = match.plan_on(graph, strategy.name)
    expected, need = estimate(plan).rows, match.need(plan.bound)
    if not isinstance(strategy, Engine):
        return None
    if not pays_for_all_nodes(expected, graph):
        return None
    if not isinstance(need, Groups) or not need.counted:
        return None
    if [plan.bound.nodes[each].name for each in need.nodes] != [name]:
        return None
    selected = select(plan, graph, strategy, context.values, report, context.deadline)
    if selected is None or selected.rest.residuals:
        return None
    factors = [each.factors(graph) for each in looked_up]
    masks, deadline = selected.masks, context.deadline
    return strategy.weighted_count(selected.plan, masks, need, factors, report, deadline)
