"""How many more relationships nodes have that are met along others: neighbours are no random nodes.

Who is met along a relationship has many of them more often than few, and some kinds of them come
together. What is counted are the paths of two relationships, which statistics of single ones miss.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from gpugda.caching import LruCache
from gpugda.plan.cardinality import relationship_end
from gpugda.plan.plan import Met

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.skew import Kind
    from gpugda.plan.cardinality import End
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.query.query_graph import QueryRelationship

__all__ = ["met_anew", "met_rates"]

_MOST_KEPT: Final = 1024
_OF_LOOPS: Final = Met()
"""Nobody asks for it."""
_kept: Final[WeakKeyDictionary[DataGraph, LruCache[object, dict[Kind, Met]]]] = WeakKeyDictionary()
"""Of each graph what nodes with a label have of the kinds around them: new texts ask again."""


def met_rates(
    relationships: Sequence[QueryRelationship | BoundRelationship],
    types: Sequence[tuple[int, ...] | None],
    ends: Sequence[End],
    graph: DataGraph,
) -> list[tuple[Met, Met]]:
    """Of each relationship what its source has of it, and its target.

    Args:
        relationships: Of a pattern.
        types: Their type ids.
        ends: The query nodes of the pattern.
        graph: Whose relationships they are.
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
    kept = _kept.get(graph)
    if kept is None:
        kept = _kept.setdefault(graph, LruCache(_MOST_KEPT))
    found = [_met_at(there, end, graph, kept) for there, end in zip(around, ends, strict=True)]
    return [
        (found[each.source].get(out, _OF_LOOPS), found[each.target].get(into, _OF_LOOPS))
        for each, (out, into) in zip(relationships, kinds, strict=True)
    ]


def _met_at(
    there: list[Kind], end: End, graph: DataGraph, kept: LruCache[object, dict[Kind, Met]]
) -> dict[Kind, Met]:
    """By kind, at a query node that has these kinds around it."""
    label, share = end.label, end.share
    found = kept.get(
        (tuple(there), label), lambda: {kind: _met(kind, there, label, graph) for kind in {*there}}
    )
    if share == 1.0:
        return found
    return {kind: met._replace(having=share * met.having) for kind, met in found.items()}


def met_anew(bound: BoundQuery, graph: DataGraph) -> BoundQuery:
    """A pattern of which some query nodes became one: that is met along more relationships."""
    links = bound.relationships
    ends = [relationship_end(each, graph.statistics) for each in bound.nodes]
    found = met_rates(links, [each.types for each in links], ends, graph)
    changed = [replace(each, met=met) for each, met in zip(links, found, strict=True)]
    return replace(bound, relationships=tuple(changed))


def _met(kind: Kind, around: list[Kind], label: int | None, graph: DataGraph) -> Met:
    """Of several others at all nodes with a label the one that leads to most."""
    mean, having = _mean(kind, label, graph), graph.nodes_having(kind, label)
    if not mean:
        return Met(having=0.0)
    met_again = graph.met_degree(kind, kind, label)
    nodes = graph.statistics.nodes_with(label)
    evenness = mean * nodes / max(having * met_again, 1.0)
    if len(around) == 1:  # it is met along nothing else
        return Met(having=having, evenness=evenness)
    others = set(around)
    if around.count(kind) == 1:
        others.discard(kind)
    most = max([graph.met_degree(other, kind, label) for other in others])
    return Met(most / mean, having, evenness)


def _mean(kind: Kind, label: int | None, graph: DataGraph) -> float:
    """Relationships of this kind of a node with the label."""
    (types, outgoing), statistics = kind, graph.statistics
    count = 0.0
    for each in (None,) if types is None else types:
        if outgoing is not False:
            count += statistics.relationships_between(label, each, None)
        if outgoing is not True:
            count += statistics.relationships_between(None, each, label)
    nodes = statistics.nodes_with(label)
    return count / nodes if nodes else 0.0
