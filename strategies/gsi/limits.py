"""Memory that joins along lists of the whole graph need in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.limits import entries_of

if TYPE_CHECKING:
    from gpugda_strategies.gsi.options import GsiOptions

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery

__all__ = ["bytes_of_lists"]

_ENTRY_BYTES, _GROUP_BYTES = 8, 128
_PLAIN_BYTES = 4
"""Further bytes of an entry or a node, if lists are plain rows."""
_PLACE_BYTES = 24
"""Bytes per entry of a row's longest list: entries, counts, sums, and the rows themselves."""
_SHARES = 4
"""A step takes at most this part (1/n) of what it would have alone, for all steps together."""


def bytes_of_lists(graph: DataGraph, bound: BoundQuery, options: GsiOptions) -> int:
    """Bytes of the lists of all query relationships, and of one row at each step."""
    total = longest = 0
    for each in bound.relationships:
        entries = entries_of(graph, each)
        if options.partitions:
            owners = min(entries, graph.node_count)
            total += _ENTRY_BYTES * entries + _GROUP_BYTES * (owners // options.group_fill + 2)
        else:
            entries = 2 * graph.relationship_count
            total += (_ENTRY_BYTES + _PLAIN_BYTES) * entries + _PLAIN_BYTES * graph.node_count
        degrees = graph.outgoing.degrees(each.types) + graph.incoming.degrees(each.types)
        longest = max(longest, int(degrees.max(initial=0)))
    steps = len(bound.nodes) + len(bound.relationships)
    return total + _SHARES * steps * _PLACE_BYTES * longest
