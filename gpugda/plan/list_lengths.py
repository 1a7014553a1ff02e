"""Upper bounds on the length of a node's neighbour lists, from the statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["max_list_length"]


def max_list_length(
    graph: DataGraph, types: tuple[int, ...] | None, *, outgoing: bool, incoming: bool
) -> int:
    """The largest degree of any node for these types (None for any) and directions."""
    return sum(
        _largest(graph, types, outgoing=is_outgoing)
        for is_outgoing, is_followed in ((True, outgoing), (False, incoming))
        if is_followed
    )


def _largest(graph: DataGraph, types: tuple[int, ...] | None, *, outgoing: bool) -> int:
    statistics = graph.statistics
    of_any = statistics.degrees(None, outgoing=outgoing).largest
    if types is None:
        return of_any
    return min(of_any, sum(statistics.degrees(each, outgoing=outgoing).largest for each in types))
