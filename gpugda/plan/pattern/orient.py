"""Counts undirected patterns through one order of their interchangeable query nodes.

Let every permutation of the query nodes C belong to an automorphism of the query, and let each two
nodes of C be joined by an undirected relationship that no loop can match. Then the data nodes of an
embedding at C are distinct, each of their ``|C|!`` orders occurs in equally many embeddings, and
the embeddings with one order are those of the query whose relationships within C run from the lower
to the higher node, in the graph whose relationships all do (`gpugda.data.oriented`).

Groups by query nodes that those automorphisms fix are counted in the same way. If one node of C is
a grouping key, ``(|C| - 1)!`` orders have a given data node there, so the groups are summed over
all of its positions in the one order.

All rows follow from those of one order by exchanging columns, if each exchange is an automorphism
by itself.
"""

from __future__ import annotations

from dataclasses import replace
from math import factorial
from typing import TYPE_CHECKING, Any

from gpugda.plan.pattern.symmetry import (
    are_pairwise_exchangeable,
    has_only_known_conditions,
    interchangeable,
)
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["OrientedQuery", "may_orient", "orient"]

_MIN_SET_WITH_GROUPED = 3
"""With two nodes, both orders would be found one after the other."""


@value(frozen=True, slots=True)
class OrientedQuery:
    """The query to count in the oriented graph.

    Args:
        query: The query with directed relationships between interchangeable nodes.
        multiplicity: Embeddings of the original query per embedding of this one.
        sets: Positions of the query nodes of which one order is found.
        places: Tuples of grouping nodes; the requested groups are the sum over all tuples.
        as_rows: True if the other rows are created from each one by exchanging nodes of a set.
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
    """The query to count in the oriented graph; None if it gains nothing or is not applicable.

    Args:
        bound: The query whose rows or groups are counted.
        loop_counts: Loops of the graph per type id.
        grouped: The grouping nodes.
        as_rows: True if rows are created from those that are found; then only sets count whose
            exchanges leave all other nodes fixed.
    """
    if not may_orient(bound):
        return None
    sets: list[tuple[int, ...]] = []
    left, fixed, multiplicity = bound, frozenset(() if as_rows else grouped), 1
    places: tuple[tuple[int, ...], ...] = (grouped,)
    one, nodes = _set_with_grouped(bound, grouped, loop_counts)
    if nodes:
        sets, left, fixed = [nodes], _with_directed(left, nodes), fixed.union(nodes)
        places = tuple(tuple(node if each == one else each for each in grouped) for node in nodes)
        multiplicity = factorial(len(nodes) - 1)
    while nodes := interchangeable(left, fixed):
        if not _are_distinct(left, nodes, loop_counts):
            break
        if as_rows and not are_pairwise_exchangeable(left, nodes):
            break
        sets.append(nodes)
        left = _with_directed(left, nodes)
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
    """The grouping node with the largest interchangeable set, and the set, which may be empty."""
    best: tuple[int, tuple[int, ...]] = (-1, ())
    for one in grouped:
        nodes = interchangeable(bound, frozenset(grouped) - {one})
        is_larger = len(nodes) >= max(_MIN_SET_WITH_GROUPED, len(best[1]) + 1)
        if one in nodes and is_larger and _are_distinct(bound, nodes, loop_counts):
            best = one, nodes
    return best


def _with_directed(bound: BoundQuery, nodes: tuple[int, ...]) -> BoundQuery:
    """The query with directed relationships between these nodes."""
    relationships = tuple(
        replace(each, **_directed_ends(each.source, each.target))
        if {each.source, each.target} <= set(nodes)
        else each
        for each in bound.relationships
    )
    return replace(bound, relationships=relationships)


def _directed_ends(source: int, target: int) -> dict[str, Any]:
    return {"source": min(source, target), "target": max(source, target), "directed": True}


def may_orient(bound: BoundQuery) -> bool:
    """True if no condition depends on the direction or the identity of a relationship."""
    return has_only_known_conditions(bound) and not any(
        each.directed for each in bound.relationships
    )


def _are_distinct(bound: BoundQuery, nodes: tuple[int, ...], loop_counts: tuple[int, ...]) -> bool:
    """True if no loop can match a relationship between these nodes."""
    for each in bound.relationships:
        if {each.source, each.target} <= set(nodes):
            types = range(len(loop_counts)) if each.types is None else each.types
            if any(loop_counts[number] for number in types):
                return False
    return True
