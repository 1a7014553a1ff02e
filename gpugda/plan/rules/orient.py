"""Counts of undirected patterns by way of one order of their interchangeable query nodes.

Let every permutation of the query nodes C belong to a symmetry of the query, and let each two of C
be joined by an undirected relationship that no loop can match. Then the nodes of an embedding at C
are distinct, each of their ``|C|!`` orders occurs in as many embeddings as any other, and those of
one order are the embeddings of the query whose relationships within C run from the lower node to
the higher, in the graph whose relationships all do (`gpugda.data.oriented`).

Groups by query nodes that those symmetries leave in their places are counted so, too. Where one
node of C is grouped by, ``(|C| - 1)!`` orders have a data node there that is among those of C: so
groups are added up over all places that it has in the one order.

Rows come of those of one order by exchanging columns, where that is a symmetry by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import TYPE_CHECKING, Any

from gpugda.plan.rules.symmetry import are_exchanged_alone, interchangeable

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["OrientedQuery", "may_orient", "orient"]

_LEAST_WITH_GROUPED = 3
"""Of two nodes both orders would be found, one after the other."""


@dataclass(frozen=True, slots=True)
class OrientedQuery:
    """What is counted in the oriented graph instead.

    Args:
        query: With directed relationships between nodes that are interchangeable.
        multiplicity: Embeddings of the query as it was for each one of this.
        sets: Positions of the query nodes of which one order is found.
        places: The query nodes by whose groups to add up those that are asked for, in their order.
        as_rows: Are the others of each one found made of it, by exchanging its nodes of a set?
    """

    query: Query
    multiplicity: int
    sets: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...] = ((),)
    as_rows: bool = False


def orient(
    bound: BoundQuery,
    loop_counts: tuple[int, ...],
    grouped: tuple[int, ...] = (),
    *,
    as_rows: bool = False,
) -> OrientedQuery | None:
    """The query to count in the oriented graph; None where nothing is gained, or not allowed.

    Args:
        bound: A query that is counted, or whose groups are.
        loop_counts: Of the graph, per type id.
        grouped: Query nodes that are grouped by.
        as_rows: Shall rows be made of those that are found? Then only sets count whose exchanges
            leave all other nodes in their places.
    """
    if not may_orient(bound):
        return None
    sets: list[tuple[int, ...]] = []
    left, fixed, multiplicity = bound, frozenset(() if as_rows else grouped), 1
    places: tuple[tuple[int, ...], ...] = (grouped,)
    one, nodes = _set_with_grouped(bound, grouped, loop_counts)
    if nodes:
        sets, left, fixed = [nodes], _with_turned(left, nodes), fixed.union(nodes)
        places = tuple(tuple(node if each == one else each for each in grouped) for node in nodes)
        multiplicity = factorial(len(nodes) - 1)
    while nodes := interchangeable(left, fixed):
        if not _are_distinct(left, nodes, loop_counts):
            break
        if as_rows and not are_exchanged_alone(left, nodes):
            break
        sets.append(nodes)
        left = _with_turned(left, nodes)
        multiplicity *= factorial(len(nodes))
    if not sets:
        return None
    graph = left.query.graph
    relationships = tuple(
        replace(asked, source=each.source, target=each.target, directed=each.directed)
        for asked, each in zip(graph.relationships, left.relationships, strict=True)
    )
    query = replace(left.query, graph=replace(graph, relationships=relationships))
    return OrientedQuery(query, multiplicity, tuple(sets), places, as_rows)


def _set_with_grouped(
    bound: BoundQuery, grouped: tuple[int, ...], loop_counts: tuple[int, ...]
) -> tuple[int, tuple[int, ...]]:
    """The largest set of nodes one of which is grouped by, and this one; the set may be empty."""
    best: tuple[int, tuple[int, ...]] = (-1, ())
    for one in grouped:
        nodes = interchangeable(bound, frozenset(grouped) - {one})
        is_larger = len(nodes) >= max(_LEAST_WITH_GROUPED, len(best[1]) + 1)
        if one in nodes and is_larger and _are_distinct(bound, nodes, loop_counts):
            best = one, nodes
    return best


def _with_turned(bound: BoundQuery, nodes: tuple[int, ...]) -> BoundQuery:
    """With relationships that are directed between these nodes."""
    relationships = tuple(
        replace(each, **_turned(each.source, each.target))
        if {each.source, each.target} <= set(nodes)
        else each
        for each in bound.relationships
    )
    return replace(bound, relationships=relationships)


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
