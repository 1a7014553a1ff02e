"""The properties that a query reads, so that only these are fetched from a server."""

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
    """Property keys that a query names, without those of nodes or relationships returned whole."""

    of_nodes: frozenset[str]
    of_relationships: frozenset[str]
    all: bool = False
    """True if the keys are known only at run time."""


def property_needs(query: Query | Statement) -> PropertyNeeds:
    """The keys that a query reads of nodes and of relationships; cached by text."""
    return _kept.get(query.text, lambda: _property_needs(query))


_kept: Final[LruCache[str, PropertyNeeds]] = LruCache(QUERIES_KEPT)


_OF_ALL: Final = frozenset(("properties", "keys"))


def _statement_needs(statement: Statement) -> PropertyNeeds:
    """Keys of a statement, for nodes and relationships alike: variable kinds are unknown."""
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
            # For anything but a plain variable, the key is read for both.
            if name is None or name in relationships:
                of_relationships.add(node.key)
            if name is None or name not in relationships:
                of_nodes.add(node.key)
    return PropertyNeeds(frozenset(of_nodes), frozenset(of_relationships))


def _meant(subject: ast.Expression, query: Query) -> ast.Expression:
    """The expression that a reference to a column or grouping key stands for."""
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
