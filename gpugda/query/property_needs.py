"""Which properties a query reads, so that no others are fetched from a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.query import ast
from gpugda.query.prepare import QUERIES_KEPT
from gpugda.query.query_graph import ColumnReference, KeyReference
from gpugda.query.statement import Statement
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.query_graph import Query

__all__ = ["PropertyNeeds", "property_needs"]


@dataclass(frozen=True, slots=True)
class PropertyNeeds:
    """Property keys that a query names; those of nodes and relationships returned whole apart."""

    of_nodes: frozenset[str]
    of_relationships: frozenset[str]
    all: bool = False
    """Keys are known only when the query runs."""


def property_needs(query: Query | Statement) -> PropertyNeeds:
    """The keys that the query reads of its nodes and of its relationships; kept by its text."""
    return _kept.get(query.text, lambda: _property_needs(query))


_kept: Final[LruCache[str, PropertyNeeds]] = LruCache(QUERIES_KEPT)


_OF_ALL: Final = frozenset(("properties", "keys"))


def _statement_needs(statement: Statement) -> PropertyNeeds:
    """Of what is a node, and what a relationship, the types of several clauses tell too little."""
    keys: set[str] = set()
    every = False
    for node in walk(statement.tree):
        if isinstance(node, ast.Property | ast.MapProperty):
            keys.add(node.key)
        elif isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            if isinstance(node.properties, ast.MapLiteral):
                keys.update(key for key, _ in node.properties.entries)
        elif isinstance(node, ast.MapProjection | ast.Subscript) or (
            isinstance(node, ast.FunctionCall) and node.name.lower() in _OF_ALL
        ):
            every = True
    return PropertyNeeds(frozenset(keys), frozenset(keys), every)


def _property_needs(query: Query | Statement) -> PropertyNeeds:
    if isinstance(query, Statement):
        return _statement_needs(query)
    relationships = {each.name for each in query.graph.relationships}
    of_nodes: set[str] = set()
    of_relationships: set[str] = set()
    for expression in _expressions(query):
        for node in walk(expression):
            if not isinstance(node, ast.Property):
                continue
            subject = _meant(node.subject, query)
            name = subject.name if isinstance(subject, ast.Variable) else None
            # Of what is not plainly a variable, both are read.
            if name is None or name in relationships:
                of_relationships.add(node.key)
            if name is None or name not in relationships:
                of_nodes.add(node.key)
    return PropertyNeeds(frozenset(of_nodes), frozenset(of_relationships))


def _meant(subject: ast.Expression, query: Query) -> ast.Expression:
    """What a reference to a returned column or grouping key stands for."""
    while isinstance(subject, ColumnReference | KeyReference):
        if isinstance(subject, ColumnReference):
            subject = query.columns[subject.position].expression
        else:
            subject = query.grouping[subject.position]
    return subject


def _expressions(query: Query) -> Iterator[ast.Expression]:
    yield from query.graph.predicates
    yield from (column.expression for column in query.columns)
    yield from query.grouping
    yield from query.aggregates
    yield from (key.expression for key in query.order_by)
