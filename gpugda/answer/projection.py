"""Checks that a query stays within the connected database and the part of it that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.pipeline import one_pattern
from gpugda.query import ast
from gpugda.query.prepare import QUERIES_KEPT
from gpugda.query.render import with_colons

if TYPE_CHECKING:
    from collections.abc import Collection

    from gpugda.ports import Projection
    from gpugda.query.query_graph import Query, QueryGraph
    from gpugda.query.statement import Statement


__all__ = ["leads_outside", "refuse_other_databases", "refuse_outside"]


def refuse_other_databases(query: Statement, database: str = "") -> None:
    """Checks that each USE names this database; an embedded graph has no name.

    Raises:
        UnsupportedQueryError: A USE names another database, or computes a name.
    """
    for clause in query.uses:
        graph = clause.graph
        # Database names are case-insensitive.
        if isinstance(graph, ast.Variable) and database and graph.name.lower() == database.lower():
            continue
        message = "USE of another database is not supported by this engine"
        raise UnsupportedQueryError(message, query.text, clause.span, construct="USE")


_patterns: Final[LruCache[str, Query | None]] = LruCache(QUERIES_KEPT)
"""Queries as one pattern, by text: lowering one takes longer than a small query may."""


def refuse_outside(query: Statement, projection: Projection) -> None:
    """Refuses a query that the part that was read cannot answer.

    Raises:
        UnsupportedQueryError: The query leads outside that part.
    """
    if projection.labels is None and projection.types is None:
        return
    pattern = _patterns.get(query.text, lambda: one_pattern(query))
    if pattern is None:
        outside: str | None = "the snapshot is restricted, and the query is more than one pattern"
    else:
        outside = leads_outside(pattern.graph, projection)
    if outside is not None:
        raise UnsupportedQueryError(outside, construct="a part of the graph that was not read")


def leads_outside(query: QueryGraph, projection: Projection) -> str | None:
    """Returns why the part that was read cannot answer the query; None if it can.

    It can if every query node requires a label, and every query relationship a type, that the
    projection holds: then nothing outside the projection can match.
    """
    if projection.labels is not None:
        for node in query.nodes:
            if not any(_within(each, projection.labels) for each in node.labels):
                return (
                    "the snapshot is restricted to the labels "
                    f"{with_colons(projection.labels)}, and a node of the query is not"
                )
    if projection.types is not None:
        for each in query.relationships:
            if each.types is None or not _within(each.types, projection.types):
                return (
                    "the snapshot is restricted to the types "
                    f"{with_colons(projection.types)}, and a relationship of the query is not"
                )
    return None


def _within(expression: ast.LabelExpression, names: Collection[str]) -> bool:
    """True if everything that satisfies the expression has one of the names."""
    match expression:
        case ast.LabelName(name=name):
            return name in names
        case ast.LabelAnd(operands=operands):
            return any(_within(operand, names) for operand in operands)
        case ast.LabelOr(operands=operands):
            return all(_within(operand, names) for operand in operands)
    return False
