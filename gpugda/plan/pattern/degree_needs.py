"""The minimum degrees that the query graph requires of each node's candidates.

Within one MATCH clause all relationships are distinct, so a data node needs as many relationships
as the query node has there. They are counted per direction and exact set of types. Counts are never
summed over overlapping type sets, nor over clauses, which may use the same relationship again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.plan.plan import DegreeNeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.plan.plan import BoundRelationship
    from gpugda.query.query_graph import QueryRelationship

    AnyRelationship = QueryRelationship | BoundRelationship

__all__ = ["degree_needs"]

_Key = tuple[bool, bool, tuple[int, ...] | None]


def degree_needs(
    node_count: int,
    relationships: Sequence[AnyRelationship],
    types: Sequence[tuple[int, ...] | None],
    differ: Callable[[int, int], bool] | None = None,
) -> list[tuple[DegreeNeed, ...]]:
    """Degree needs per query node.

    Args:
        node_count: The number of query nodes.
        relationships: Query relationships by position.
        types: Type ids per query relationship; None for any type.
        differ: True if two relationships of a clause (lower position first) must be distinct; by
            default all must.
    """
    places: dict[tuple[int, int, _Key], list[int]] = {}
    for relationship, ids in zip(relationships, types, strict=True):
        check_time()
        for node, outgoing, incoming in _ends(relationship):
            place = node, relationship.clause, (outgoing, incoming, ids)
            different = places.setdefault(place, [])
            if differ is None or all(differ(each, relationship.position) for each in different):
                different.append(relationship.position)
    needs: list[dict[_Key, int]] = [{} for _ in range(node_count)]
    for (node, _, key), different in places.items():
        needs[node][key] = max(needs[node].get(key, 0), len(different))
    return [tuple([_need(*key, count) for key, count in each.items()]) for each in needs]


# Cached: most queries have the same needs, and the garbage collector scans all that plans keep.
@lru_cache(maxsize=4096)
def _need(outgoing: bool, incoming: bool, types: tuple[int, ...] | None, count: int) -> DegreeNeed:
    return DegreeNeed(outgoing, incoming, types, count)


def _ends(
    relationship: QueryRelationship | BoundRelationship,
) -> tuple[tuple[int, bool, bool], ...]:
    """The nodes at which a relationship counts, with the directions (outgoing, incoming)."""
    source, target = relationship.source, relationship.target
    if relationship.directed or source == target:
        # A loop counts once as outgoing and once as incoming, even if it is undirected.
        return (source, True, False), (target, False, True)
    return (source, True, True), (target, True, True)
