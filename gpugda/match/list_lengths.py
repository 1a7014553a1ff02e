"""How long the lists along links of the strategy ``extend`` can be, from the statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.extend import Link

__all__ = ["longest", "most_entries", "shortest"]


def longest(link: Link, graph: DataGraph) -> int:
    """No node has more entries along the link."""
    return most_entries(graph, link.types, outgoing=link.outgoing, incoming=link.incoming)


def shortest(links: Sequence[Link], graph: DataGraph) -> int:
    """The shortest of some lists is no longer than this, whichever nodes they belong to."""
    return min(longest(link, graph) for link in links)


def most_entries(
    graph: DataGraph, types: tuple[int, ...] | None, *, outgoing: bool, incoming: bool
) -> int:
    """No node has more relationships of these types, None for any, in these directions."""
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
