"""Which properties a query reads, so that no others are fetched from a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.query import ast
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


def property_needs(query: Query) -> PropertyNeeds:
    """The keys that the query reads of its nodes and of its relationships."""
    relationships = {each.name for each in query.graph.relationships}
    of_nodes, of_relationships = set(), set()
    for expression in _expressions(query):
        for node in walk(expression):
            if isinstance(node, ast.Property) and isinstance(node.subject, ast.Variable):
                is_relationship = node.subject.name in relationships
                (of_relationships if is_relationship else of_nodes).add(node.key)
    return PropertyNeeds(frozenset(of_nodes), frozenset(of_relationships))


def _expressions(query: Query) -> Iterator[ast.Expression]:
    yield from query.graph.predicates
    yield from (column.expression for column in query.columns)
    yield from query.grouping
    yield from query.aggregates
    yield from (key.expression for key in query.order_by)
