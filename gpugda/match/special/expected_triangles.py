"""Estimates what counting triangles sends of a graph beyond the device's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.graph.segments import directory_bytes
from gpugda.device.launch.upward_lists import total_bytes
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.special.ranked_triangles import streamed_type
from gpugda.match.special.streamed_triangles import segment_size, sent_segments
from gpugda.match.special.unrestricted import is_large
from gpugda.match.upward_lists import has_host_room, window_entries
from gpugda.plan.route.streaming import ListStreaming
from gpugda.thresholds import SegmentLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery

__all__ = ["expected_triangles"]

_ENTRY_BYTES = 4
_LIST_STARTS = 2
"""Lists of each node, whose starts come with them."""
_SMALL_ARRAYS = 2
"""Counters and marks, which round up to a minimum size."""


def expected_triangles(
    bound: BoundQuery,
    graph: DataGraph,
    graph_bytes: int,
    limit: int,
    has_lists: Callable[[int], bool],
    compute_units: int,
) -> ListStreaming | None:
    """The estimate for a device that intersects lists; None if triangles are not counted so.

    Args:
        bound: The pattern, of which only the number of embeddings is needed.
        graph: The data graph.
        graph_bytes: Bytes of the graph on the device.
        limit: Bytes that graph and query may use.
        has_lists: Returns True if the lists of a type exist from an earlier query.
        compute_units: Number of the device's compute units.
    """
    kind = streamed_type(bound, graph) if is_large(graph) else None
    if graph_bytes <= limit or kind is None or not has_host_room(graph):
        return None
    statistics, nodes = graph.statistics, graph.node_count
    entries = statistics.type_counts[kind] - statistics.loop_counts[kind]
    directory = directory_bytes(graph)
    share = SegmentLimits().directory_share(is_one_type=len(graph.types) <= 1)
    is_made_here = directory <= limit * share
    free = limit - (directory if is_made_here else 0)
    windows = -(-entries // window_entries(max(1, free - _LIST_STARTS * _ENTRY_BYTES * nodes)))
    free -= total_bytes(compute_units) + _SMALL_ARRAYS * SMALLEST_BYTES
    words = entries + _LIST_STARTS * nodes
    size = segment_size(words, max(1, free))
    segments = max(1, -(-words // size))
    sent = _ENTRY_BYTES * words * sent_segments(segments) / segments
    making = 0.0
    if is_made_here and not has_lists(kind):
        making = _ENTRY_BYTES * graph.relationship_count * (1.0 + windows)
    return ListStreaming(graph_bytes, limit, segments, sent + making, making_bytes=making)
