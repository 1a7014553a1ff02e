"""Counts of undirected patterns by way of one order of their interchangeable query nodes.

Let every permutation of the query nodes C belong to a symmetry of the query, and let each two of C
be joined by an undirected relationship that no loop can match. Then the nodes of an embedding at C
are distinct, each of their ``|C|!`` orders occurs in as many embeddings as any other, and those of
one order are the embeddings of the query whose relationships within C run from the lower node to
the higher, in the graph whose relationships all do (`gpugda.data.oriented`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial, prod
from typing import TYPE_CHECKING, Any

from gpugda.plan.rules.symmetry import interchangeable

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["OrientedQuery", "may_orient", "orient"]


@dataclass(frozen=True, slots=True)
class OrientedQuery:
    """What is counted in the oriented graph instead.

    Args:
        query: With directed relationships between nodes that are interchangeable.
        multiplicity: Embeddings of the query as it was for each one of this.
        sets: Positions of the query nodes of which one order is found.
    """

    query: Query
    multiplicity: int
    sets: tuple[tuple[int, ...], ...]


def orient(bound: BoundQuery, loop_counts: tuple[int, ...]) -> OrientedQuery | None:
    """The query to count in the oriented graph; None where nothing is gained, or not allowed.

    Args:
        bound: A query that is counted, and nothing else.
        loop_counts: Of the graph, per type id.
    """
    if not may_orient(bound):
        return None
    sets: list[tuple[int, ...]] = []
    left = bound
    while nodes := interchangeable(left):
        if not _are_distinct(left, nodes, loop_counts):
            break
        sets.append(nodes)
        left = replace(
            left,
            relationships=tuple(
                replace(each, **_turned(each.source, each.target))
                if {each.source, each.target} <= set(nodes)
                else each
                for each in left.relationships
            ),
        )
    if not sets:
        return None
    graph = left.query.graph
    relationships = tuple(
        replace(asked, source=each.source, target=each.target, directed=each.directed)
        for asked, each in zip(graph.relationships, left.relationships, strict=True)
    )
    query = replace(left.query, graph=replace(graph, relationships=relationships))
    return OrientedQuery(query, prod(factorial(len(each)) for each in sets), tuple(sets))


def _turned(source: int, target: int) -> dict[str, Any]:
    return {"source": min(source, target), "target": max(source, target), "directed": True}


def may_orient(bound: BoundQuery) -> bool:
    """Does no condition of a query see the direction of a relationship, or which one it is?"""
    return (
        bound.no_rows is None
        and not bound.residuals
        and all(not each.directed and not each.predicates for each in bound.relationships)
        and all(not test.equal and not test.on_nodes for test in bound.tests)
    )


def _are_distinct(bound: BoundQuery, nodes: tuple[int, ...], loop_counts: tuple[int, ...]) -> bool:
    """Can no loop match the relationships between the nodes?"""
    for each in bound.relationships:
        if {each.source, each.target} <= set(nodes):
            types = range(len(loop_counts)) if each.types is None else each.types
            if any(loop_counts[number] for number in types):
                return False
    return True
