"""Binds an analysed query to one data graph: names become ids, predicates go to their variables."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.plan.cardinality import (
    cardinality_between,
    degree_skews,
    node_cardinality,
    relationship_end,
)
from gpugda.plan.label_programs import NOTHING, label_names, label_program, type_ids
from gpugda.plan.pattern.degree_needs import degree_needs
from gpugda.plan.pattern.merge_nodes import merge_nodes
from gpugda.plan.pattern.split_predicates import SplitPredicates, split_predicates
from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, RowTest
from gpugda.query.render import with_colons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.identifiers import NameTable
    from gpugda.plan.cardinality import End
    from gpugda.plan.plan import DegreeNeed
    from gpugda.query import ast
    from gpugda.query.query_graph import Query, QueryGraph

__all__ = ["bind"]

TypeIds = tuple[int, ...] | None


def bind(query: Query, graph: DataGraph) -> BoundQuery:
    """Binds a query to a data graph.

    Unknown labels, types and properties are not errors. If they rule out every row, ``no_rows``
    says why. Parameters are not read.
    """
    query = merge_nodes(query)
    query_graph = query.graph
    split = split_predicates(query_graph)
    types = _types(query_graph, split, graph.types)
    needs = degree_needs(len(query_graph.nodes), query_graph.relationships, types)
    nodes = tuple(_bound_nodes(query_graph, split, needs, graph))
    ends = [relationship_end(node, graph.statistics) for node in nodes]
    relationships = tuple(_bound_relationships(query_graph, split, types, ends, graph))
    return BoundQuery(
        query=query,
        nodes=nodes,
        relationships=relationships,
        tests=(
            *_identities(query_graph),
            *split.tests,
            *_distinct_relationships(query_graph, types),
        ),
        residuals=tuple(split.residuals),
        constants=tuple(split.constants),
        no_rows=query_graph.no_rows or _no_rows(query_graph, split, types, nodes, graph),
    )


def _bound_nodes(
    query_graph: QueryGraph,
    split: SplitPredicates,
    needs: Sequence[tuple[DegreeNeed, ...]],
    graph: DataGraph,
) -> Iterator[BoundNode]:
    for node in query_graph.nodes:
        program = label_program((*node.labels, *split.labels.get(node.name, ())), graph.labels)
        predicates = tuple(split.of_one.get(node.name, ()))
        yield BoundNode(
            position=node.position,
            name=node.name,
            labels=program,
            predicates=predicates,
            degree_needs=needs[node.position],
            cardinality=node_cardinality(program, predicates, graph.statistics),
        )


def _bound_relationships(
    query_graph: QueryGraph,
    split: SplitPredicates,
    types: Sequence[TypeIds],
    ends: Sequence[End],
    graph: DataGraph,
) -> Iterator[BoundRelationship]:
    skews = degree_skews(query_graph.relationships, types, ends, graph)
    for each in query_graph.relationships:
        predicates = tuple(split.of_one.get(each.name, ()))
        ids = types[each.position]
        source, target = ends[each.source], ends[each.target]
        yield BoundRelationship(
            position=each.position,
            name=each.name,
            source=each.source,
            target=each.target,
            directed=each.directed,
            types=ids,
            predicates=predicates,
            clause=each.clause,
            cardinality=cardinality_between(
                source, target, ids, predicates, graph.statistics, directed=each.directed
            ),
            skew=skews[each.position],
        )


# ------------------------------------------------------------------ types
def _types(query_graph: QueryGraph, split: SplitPredicates, table: NameTable) -> list[TypeIds]:
    """Type ids per query relationship; all uses of one variable share the intersection."""
    by_name: dict[str, TypeIds] = {}
    for each in query_graph.relationships:
        for expression in (each.types, *split.labels.get(each.name, ())):
            ids = type_ids(expression, table)
            by_name[each.name] = _intersected(by_name.get(each.name), ids)
    return [by_name[each.name] for each in query_graph.relationships]


def _intersected(left: TypeIds, right: TypeIds) -> TypeIds:
    if left is None or right is None:
        return right if left is None else left
    return tuple(i for i in left if i in right)


# ------------------------------------------------------------------ tests per row
def _identities(query_graph: QueryGraph) -> Iterator[RowTest]:
    for each in query_graph.relationships:
        if each.same_as is not None:
            yield RowTest(on_nodes=False, left=each.same_as, right=each.position, equal=True)


def _distinct_relationships(query_graph: QueryGraph, types: Sequence[TypeIds]) -> Sequence[RowTest]:
    numbers: dict[tuple[int, TypeIds], int] = {}
    kinds = [
        numbers.setdefault((each.clause, types[each.position]), len(numbers))
        for each in query_graph.relationships
    ]
    meet = [
        [clause == other and _overlap(ids, other_ids) for other, other_ids in numbers]
        for clause, ids in numbers
    ]
    if all(map(all, meet)):
        return _all_differ(len(kinds))
    tests: list[RowTest] = []
    for left, kind in enumerate(kinds):
        check_time()
        others = range(left + 1, len(kinds))
        tests += [_must_differ(left, right) for right in others if meet[kind][kinds[right]]]
    return tests


@lru_cache(maxsize=64)
def _all_differ(count: int) -> tuple[RowTest, ...]:
    return tuple(_must_differ(left, right) for left, right in combinations(range(count), 2))


# Cached: each plan would keep hundreds of equal objects, and the garbage collector would scan them.
@lru_cache(maxsize=4096)
def _must_differ(left: int, right: int) -> RowTest:
    return RowTest(on_nodes=False, left=left, right=right, equal=False)


def _overlap(left: TypeIds, right: TypeIds) -> bool:
    return left is None or right is None or not set(left).isdisjoint(right)


# ------------------------------------------------------------------ reasons for no rows
def _no_rows(
    query_graph: QueryGraph,
    split: SplitPredicates,
    types: Sequence[TypeIds],
    nodes: Sequence[BoundNode],
    graph: DataGraph,
) -> str | None:
    if graph.node_count == 0:
        return "The graph has no nodes."
    if query_graph.relationships and graph.relationship_count == 0:
        return "The graph has no relationships."
    for node in query_graph.nodes:
        if nodes[node.position].labels == NOTHING:
            labels = (*node.labels, *split.labels.get(node.name, ()))
            return _no_match_reason("node", "label", labels, graph.labels)
    for each in query_graph.relationships:
        if types[each.position] == ():
            expressions = [
                *(other.types for other in query_graph.relationships if other.name == each.name),
                *split.labels.get(each.name, ()),
            ]
            named = [expression for expression in expressions if expression is not None]
            return _no_match_reason("relationship", "type", named, graph.types)
    if split.contradiction:
        return "A variable is required to differ from itself."
    return None


def _no_match_reason(
    thing: str, word: str, expressions: Iterable[ast.LabelExpression], table: NameTable
) -> str:
    names = dict.fromkeys(name for each in expressions for name in label_names(each))
    unknown = [name for name in names if table.get(name) is None]
    if not unknown:
        return f"No {thing} can satisfy the requested {word}s."
    plural = "s" if len(unknown) > 1 else ""
    return f"No {thing} has the {word}{plural} {with_colons(unknown)}."
