"""What a query of one pattern needs from a strategy: embeddings, groups of them, or a count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.match.need import Count, Groups, Rows
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["identifies_embeddings", "names_read", "need_of", "needed_rows"]


def need_of(query: Query, bound: BoundQuery) -> Need:
    """The least that suffices for the answer.

    Args:
        query: The pattern with its projection.
        bound: The bound query, with the predicates tested on rows.
    """
    if _is_plain_count(query, bound):
        return Count()
    rows = needed_rows(query, bound)
    return _groups(query, bound, rows) or rows


def names_read(query: Query) -> set[str]:
    """The pattern's variables that its projection reads."""
    expressions = [
        *(column.expression for column in query.columns),
        *query.grouping,
        *(aggregate for aggregate in query.aggregates if not _counts_rows(aggregate)),
        *(key.expression for key in query.order_by),
    ]
    return _names(expressions)


def needed_rows(query: Query, bound: BoundQuery) -> Rows:
    """The query nodes and relationships that are read."""
    names = names_read(query) | _names(bound.residuals)
    nodes = frozenset(node.position for node in bound.nodes if node.name in names)
    relationships = (each.position for each in bound.relationships if each.name in names)
    return Rows(nodes, frozenset(relationships))


def _names(expressions: Iterable[ast.Expression]) -> set[str]:
    return {
        node.name
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, ast.Variable)
    }


def _is_plain_count(query: Query, bound: BoundQuery) -> bool:
    """True if the answer depends only on the number of embeddings."""
    if not query.aggregating or query.grouping or bound.residuals:
        return False
    return all(map(_counts_rows, query.aggregates))


def _counts_rows(aggregate: ast.Expression) -> bool:
    # A pattern variable is never null, so counting it counts rows.
    if not isinstance(aggregate, ast.FunctionCall):
        return isinstance(aggregate, ast.CountStar)
    return not aggregate.distinct and isinstance(aggregate.arguments[0], ast.Variable)


def _groups(query: Query, bound: BoundQuery, rows: Rows) -> Groups | None:
    """Groups that can replace the embeddings; None if the tail must see each embedding.

    Examples: ``RETURN a, count(*)``, ``RETURN DISTINCT a.name, b``, ``count(DISTINCT a)``. Keys are
    nodes and their properties.
    """
    if bound.residuals or rows.relationships or not rows.nodes:
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
    return Groups(tuple(sorted(rows.nodes)), counted, streamed)


_OF_ONE_NODE: Final = ("id", "elementid", "labels", "type")


def _is_of_one_node(expression: ast.Expression) -> bool:
    if isinstance(expression, ast.FunctionCall):
        return expression.name.lower() in _OF_ONE_NODE and all(
            isinstance(each, ast.Variable) for each in expression.arguments
        )
    if isinstance(expression, ast.Property):
        expression = expression.subject
    return isinstance(expression, ast.Variable)


def identifies_embeddings(held: Collection[tuple[bool, int]], bound: BoundQuery) -> bool:
    """True if rows hold all parts of an embedding, so that no two rows are equal.

    ``held``: for each column, True if it holds nodes, and its position.
    """
    nodes = all((True, each.position) in held for each in bound.nodes)
    return nodes and all((False, each.position) in held for each in bound.relationships)
