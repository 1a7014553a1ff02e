"""Degrees of nodes that are reached along a relationship, compared with the mean degree.

A node reached along a relationship has a high degree more often than a random node, and some kinds
of relationships are correlated. The rates come from counted paths of two relationships, which
statistics of single relationships cannot show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from gpugda.caching import LruCache
from gpugda.plan.cardinality import relationship_end
from gpugda.plan.plan import DegreeSkew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.degree_sample import Kind
    from gpugda.plan.cardinality import End
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.query.query_graph import QueryRelationship

__all__ = ["degree_skews", "with_degree_skews"]

_CACHE_SIZE: Final = 1024
_LOOP_SKEW: Final = DegreeSkew()
"""Placeholder for loops; it is never read."""
_cache: Final[WeakKeyDictionary[DataGraph, LruCache[object, dict[Kind, DegreeSkew]]]] = (
    WeakKeyDictionary()
)
"""Per graph, the rates by label and surrounding relationship kinds: new queries reuse them."""


def degree_skews(
    relationships: Sequence[QueryRelationship | BoundRelationship],
    types: Sequence[tuple[int, ...] | None],
    ends: Sequence[End],
    graph: DataGraph,
) -> list[tuple[DegreeSkew, DegreeSkew]]:
    """Rates of each relationship at its source and at its target.

    Args:
        relationships: The relationships of a pattern.
        types: Type ids of each relationship; None for any type.
        ends: The query nodes of the pattern, as `End`.
        graph: The data graph.
    """
    around: list[list[Kind]] = [[] for _ in ends]
    kinds: list[tuple[Kind, Kind]] = []
    for each, ids in zip(relationships, types, strict=True):
        outgoing: Kind = ids, True if each.directed else None
        incoming: Kind = ids, False if each.directed else None
        kinds.append((outgoing, incoming))
        if each.source != each.target:
            around[each.source].append(outgoing)
            around[each.target].append(incoming)
    cached = _cache.get(graph)
    if cached is None:
        cached = _cache.setdefault(graph, LruCache(_CACHE_SIZE))
    found = [_skews_at(there, end, graph, cached) for there, end in zip(around, ends, strict=True)]
    return [
        (found[each.source].get(out, _LOOP_SKEW), found[each.target].get(into, _LOOP_SKEW))
        for each, (out, into) in zip(relationships, kinds, strict=True)
    ]


def _skews_at(
    there: list[Kind], end: End, graph: DataGraph, cached: LruCache[object, dict[Kind, DegreeSkew]]
) -> dict[Kind, DegreeSkew]:
    """Rates by kind, at a query node with these kinds of relationships."""
    label, share = end.label, end.share
    found = cached.get(
        (tuple(there), label), lambda: {kind: _skew(kind, there, label, graph) for kind in {*there}}
    )
    if share == 1.0:
        return found
    return {
        kind: skew._replace(nonzero_count=share * skew.nonzero_count)
        for kind, skew in found.items()
    }


def with_degree_skews(bound: BoundQuery, graph: DataGraph) -> BoundQuery:
    """A pattern with recomputed rates, for query nodes that gained relationships by merging."""
    links = bound.relationships
    ends = [relationship_end(each, graph.statistics) for each in bound.nodes]
    found = degree_skews(links, [each.types for each in links], ends, graph)
    changed = [replace(each, skew=skew) for each, skew in zip(links, found, strict=True)]
    return replace(bound, relationships=tuple(changed))


def _skew(kind: Kind, around: list[Kind], label: int | None, graph: DataGraph) -> DegreeSkew:
    """The rates for the other kind (if there are several) that leads to the highest degrees."""
    mean, nonzero_count = _mean(kind, label, graph), graph.nodes_having(kind, label)
    if not mean:
        return DegreeSkew(nonzero_count=0.0)
    reached_degree = graph.reached_degree(kind, kind, label)
    nodes = graph.statistics.nodes_with(label)
    evenness = mean * nodes / max(nonzero_count * reached_degree, 1.0)
    if len(around) == 1:  # the node is reached along no other relationship
        return DegreeSkew(nonzero_count=nonzero_count, evenness=evenness)
    others = set(around)
    if around.count(kind) == 1:
        others.discard(kind)
    most = max([graph.reached_degree(other, kind, label) for other in others])
    return DegreeSkew(most / mean, nonzero_count, evenness)


def _mean(kind: Kind, label: int | None, graph: DataGraph) -> float:
    """Mean number of relationships of a kind per node with the label."""
    (types, outgoing), statistics = kind, graph.statistics
    count = 0.0
    for each in (None,) if types is None else types:
        if outgoing is not False:
            count += statistics.relationships_between(label, each, None)
        if outgoing is not True:
            count += statistics.relationships_between(None, each, label)
    nodes = statistics.nodes_with(label)
    return count / nodes if nodes else 0.0
