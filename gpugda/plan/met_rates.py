"""How many more relationships nodes have that are met along others: neighbours are no random nodes.

Who is met along a relationship has many of them more often than few, and some kinds of them come
together. What is counted are the paths of two relationships, which statistics of single ones miss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.skew import Kind
    from gpugda.plan.cardinality import End
    from gpugda.query.query_graph import QueryRelationship

__all__ = ["met_rates"]


def met_rates(
    relationships: Sequence[QueryRelationship],
    types: Sequence[tuple[int, ...] | None],
    ends: Sequence[End],
    graph: DataGraph,
) -> list[tuple[float, float]]:
    """Of each relationship what `BoundRelationship.met` says.

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
    rates: dict[tuple[int, Kind], float] = {}
    for end, found in enumerate(around):
        if len(found) > 1:  # else it is met along nothing else
            for kind in set(found):
                rates[end, kind] = _rate(kind, found, ends[end], graph)
    # Of loops nobody asks.
    return [
        (rates.get((each.source, out), 1.0), rates.get((each.target, into), 1.0))
        for each, (out, into) in zip(relationships, kinds, strict=True)
    ]


def _rate(kind: Kind, around: list[Kind], end: End, graph: DataGraph) -> float:
    """The most that any other relationship of the query node leads to."""
    others = set(around)
    if around.count(kind) == 1:
        others.discard(kind)
    mean = _mean(kind, end, graph)
    return max([graph.met_degree(other, kind) for other in others]) / mean if mean else 1.0


def _mean(kind: Kind, end: End, graph: DataGraph) -> float:
    """Relationships of this kind of a node with the label."""
    (types, outgoing), statistics = kind, graph.statistics
    count = 0.0
    for each in (None,) if types is None else types:
        if outgoing is not False:
            count += statistics.relationships_between(end.label, each, None)
        if outgoing is not True:
            count += statistics.relationships_between(None, each, end.label)
    nodes = statistics.nodes_with(end.label)
    return count / nodes if nodes else 0.0
