"""Answers that depend only on which nodes some query nodes take together, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.tail import needed
from gpugda.match.embeddings import WantedGroups
from gpugda.query import ast
from gpugda.query.unsupported import FUNCTIONS

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["wanted_groups"]


def wanted_groups(query: Query, bound: BoundQuery) -> WantedGroups | None:
    """The groups that are as good as all embeddings; None where the tail must see each of these.

    So it is for ``RETURN a, count(*)``, ``RETURN DISTINCT a.name, b`` or ``count(DISTINCT a)``.
    Nothing is computed from what is grouped by: a NaN that is made anew in every row is never the
    same.
    """
    wanted = needed(query, bound)
    if bound.residuals or wanted.relationships or not wanted.nodes:
        return None
    calls = [each for each in query.aggregates if isinstance(each, ast.FunctionCall)]
    if query.aggregating:
        read = [*query.grouping, *(each.arguments[0] for each in calls)]
    elif query.distinct:
        read = [each.expression for each in query.columns]
    else:
        return None
    if not all(map(_is_of_one_node, read)):
        return None
    all_distinct = len(calls) == len(query.aggregates) and all(each.distinct for each in calls)
    counted = query.aggregating and not all_distinct
    streamed = not query.aggregating and query.limit is not None and not query.order_by
    return WantedGroups(tuple(sorted(wanted.nodes)), counted, streamed)


def _is_of_one_node(expression: ast.Expression) -> bool:
    if isinstance(expression, ast.FunctionCall):
        return expression.name.lower() in FUNCTIONS and all(
            isinstance(each, ast.Variable) for each in expression.arguments
        )
    if isinstance(expression, ast.Property):
        expression = expression.subject
    return isinstance(expression, ast.Variable)
