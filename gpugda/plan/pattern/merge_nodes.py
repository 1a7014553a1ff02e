"""Merges query nodes that must be equal, so that they are joined rather than tested.

``MATCH (a)-->(b), (c)-->(d) WHERE b = c`` is a path, and a relationship variable that recurs in a
later clause fixes its end nodes. Without this rule such parts would form a cartesian product.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from gpugda.plan.pattern.split_predicates import compared_variables
from gpugda.query import ast
from gpugda.query.query_graph import QueryNode, is_anonymous

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda.query.query_graph import Query, QueryGraph, QueryRelationship

__all__ = ["merge_nodes", "merged_names", "renamed"]

T = TypeVar("T")


def merge_nodes(query: Query) -> Query:
    """The same query with one query node for each set of query nodes that must be equal."""
    tests = _tests(query.graph)
    roots = _roots(query.graph, tests)
    if roots == list(range(len(roots))):
        return query
    return _rewritten(query, roots, tests)


def merged_names(graph: QueryGraph) -> dict[str, str]:
    """The variable that represents each node of the graph after merging."""
    roots = _roots(graph, _tests(graph))
    names = {root: _name(_members(graph, roots, root)) for root in set(roots)}
    return {node.name: names[roots[node.position]] for node in graph.nodes}


def _tests(graph: QueryGraph) -> list[ast.Expression]:
    return [test for test in graph.predicates if _equal_nodes(test, graph) is not None]


def _roots(graph: QueryGraph, tests: Sequence[ast.Expression]) -> list[int]:
    """Position of the node that each node is merged into."""
    merged = list(range(len(graph.nodes)))
    for left, right in [*_pairs_of_tests(tests, graph), *_pairs_of_relationships(graph)]:
        first, second = sorted((_root(merged, left), _root(merged, right)))
        merged[second] = first
    return [_root(merged, position) for position in range(len(merged))]


def _members(graph: QueryGraph, roots: Sequence[int], root: int) -> list[QueryNode]:
    return [node for node in graph.nodes if roots[node.position] == root]


def _root(merged: Sequence[int], position: int) -> int:
    while merged[position] != position:
        position = merged[position]
    return position


# ------------------------------------------------------------------ equal nodes
def _equal_nodes(predicate: ast.Expression, graph: QueryGraph) -> tuple[int, int] | None:
    """Positions of a and b in a conjunct ``a = b`` of query nodes; None for other conjuncts."""
    compared = compared_variables(predicate)
    if compared is None or not compared[2]:
        return None
    positions = {node.name: node.position for node in graph.nodes}
    if compared[0] not in positions or compared[1] not in positions:
        return None
    return positions[compared[0]], positions[compared[1]]


def _pairs_of_tests(
    tests: Sequence[ast.Expression], graph: QueryGraph
) -> Iterator[tuple[int, int]]:
    for test in tests:
        pair = _equal_nodes(test, graph)
        if pair is not None:
            yield pair


def _pairs_of_relationships(graph: QueryGraph) -> Iterator[tuple[int, int]]:
    """The ends of query relationships that must be equal, if both are directed."""
    by_name: dict[str, QueryRelationship] = {}
    for each in graph.relationships:
        by_name.setdefault(each.name, each)
    equal = [
        (graph.relationships[each.same_as], each)
        for each in graph.relationships
        if each.same_as is not None
    ]
    for predicate in graph.predicates:
        compared = compared_variables(predicate)
        if compared and compared[2] and compared[0] in by_name and compared[1] in by_name:
            equal.append((by_name[compared[0]], by_name[compared[1]]))
    for one, other in equal:
        if one.directed and other.directed:
            yield one.source, other.source
            yield one.target, other.target


# ------------------------------------------------------------------ the merged query
def _rewritten(query: Query, roots: Sequence[int], tests: Sequence[ast.Expression]) -> Query:
    graph = query.graph
    kept = sorted(set(roots))
    members = {root: _members(graph, roots, root) for root in kept}
    names = {root: _name(members[root]) for root in kept}
    nodes = tuple(
        QueryNode(
            position,
            names[root],
            tuple(dict.fromkeys(label for node in members[root] for label in node.labels)),
        )
        for position, root in enumerate(kept)
    )
    new = {node.name: names[roots[node.position]] for node in graph.nodes}
    relationships = tuple(
        replace(
            each,
            source=kept.index(roots[each.source]),
            target=kept.index(roots[each.target]),
        )
        for each in graph.relationships
    )
    predicates = tuple(
        renamed(predicate, new) for predicate in graph.predicates if predicate not in tests
    )
    return replace(
        query,
        graph=replace(graph, nodes=nodes, relationships=relationships, predicates=predicates),
        columns=renamed(query.columns, new),
        grouping=renamed(query.grouping, new),
        aggregates=renamed(query.aggregates, new),
        order_by=renamed(query.order_by, new),
    )


def _name(members: Sequence[QueryNode]) -> str:
    return next((node.name for node in members if not is_anonymous(node.name)), members[0].name)


def renamed(value: T, names: Mapping[str, str]) -> T:
    """A tree, or a tuple of trees, with variables renamed."""
    if isinstance(value, ast.Variable):
        return replace(value, name=names.get(value.name, value.name))
    if isinstance(value, tuple):
        return type(value)(renamed(item, names) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in fields(value):
        old = getattr(value, field.name)
        new = renamed(old, names) if field.name != "span" else old
        if new is not old:
            changed[field.name] = new
    return replace(value, **changed) if changed else value
