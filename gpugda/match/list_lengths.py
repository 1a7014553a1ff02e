"""Upper bounds of list lengths along links of the strategy ``extend``, from the statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.list_lengths import max_list_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.extend import Link

__all__ = ["longest_list", "shortest_list"]


def longest_list(link: Link, graph: DataGraph) -> int:
    """Upper bound of the entries that any node has along the link."""
    return max_list_length(graph, link.types, outgoing=link.outgoing, incoming=link.incoming)


def shortest_list(links: Sequence[Link], graph: DataGraph) -> int:
    """Upper bound of the shortest of the lists along these links, for any nodes."""
    return min(longest_list(link, graph) for link in links)
