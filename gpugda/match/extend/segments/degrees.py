"""Degree messages of a segmented data graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.device.graph.segment_views import MAX_PARTS, Wanted
from gpugda.plan.row_tests import type_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import DTypeLike, NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import DegreeMessage, Eliminate, InterchangeableLeaves
    from gpugda.plan.masks import Masks

__all__ = [
    "count_by_segment",
    "counts_lengths",
    "groups_read",
    "lengths_on_host",
    "share_no_entries",
    "shared_loops",
    "works_segmented",
]

_LISTED_SHARE = 1 / 16
"""Self-loops are listed if there are at most this many per node; each listed node takes 8 bytes."""
_NODES_OF_PIECE = 1 << 18
"""Nodes whose entries a thread counts; a multiple of 32."""


def share_no_entries(message: DegreeMessage, plan: Eliminate, graph: DataGraph) -> bool:
    """True if the groups belong to one node and could only share a self-loop (none exist)."""
    loops = graph.statistics.loop_counts
    types = _types_of_shared(message, plan, graph)
    return types is not None and not any(loops[each] for each in types)


def _types_of_shared(
    message: DegreeMessage, plan: Eliminate, graph: DataGraph
) -> Collection[int] | None:
    """The types of the self-loops that the groups may share; None if they may share others."""
    directions = [(group.outgoing, group.incoming) for group in message.groups]
    if len({group.anchor for group in message.groups}) > 1:
        return None
    if sorted(directions) != [(False, True), (True, False)]:
        return None
    first = message.groups[0].relationships[0]
    return type_ids(plan.core.relationships[first], graph)


def shared_loops(
    message: DegreeMessage, plan: Eliminate, graph: DataGraph
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
    """The nodes with self-loops that the groups share, and how many each has.

    None if the groups may share other relationships, or if many nodes have self-loops.
    """
    types = _types_of_shared(message, plan, graph)
    counts = graph.statistics.loop_counts
    most = graph.node_count * _LISTED_SHARE
    if types is None or sum(counts[each] for each in types) > most:
        return None
    nodes, loops = graph.self_loops().of(frozenset(types))
    return nodes, loops.astype(np.uint32)


def works_segmented(plan: Eliminate) -> bool:
    """True if a segmented graph can compute the plan.

    It cannot if like nodes are counted per row, because a long row comes in pieces, whose counts
    are added and not multiplied; nor if a counted node has more links than segments that are on the
    device at a time.
    """
    if any(len(nodes) > 1 or _link_count(plan, nodes[0]) > MAX_PARTS for nodes in plan.rows):
        return False
    return all(works_segmented(table.plan) for table in plan.tables)


def _link_count(plan: Eliminate, node: int) -> int:
    """Number of links of a node; self-loops count twice."""
    ends = [end for each in plan.core.relationships for end in (each.source, each.target)]
    return ends.count(node)


def groups_read(plan: Eliminate, masks: Masks, graph: DataGraph) -> list[InterchangeableLeaves]:
    """Groups of leaves whose anchors' entries must be read when the messages are computed."""
    shared = [
        each.groups[0]
        for each in plan.degrees
        if len(each.groups) > 1
        and not share_no_entries(each, plan, graph)
        and shared_loops(each, plan, graph) is None
    ]
    return shared + [each for each in plan.groups if not counts_lengths(each, plan, masks, graph)]


def counts_lengths(
    group: InterchangeableLeaves, plan: Eliminate, masks: Masks, graph: DataGraph
) -> bool:
    """True if all of an anchor's entries of the types match, so that none has to be read."""
    position, leaf = group.relationships[0], group.leaves[0]
    loops = graph.statistics.loop_counts
    types = type_ids(plan.core.relationships[position], graph)
    # A self-loop is in both rows of its node, but counts once.
    twice = group.outgoing and group.incoming and any(loops[each] for each in types)
    fits_all = not plan.core.nodes[leaf].labels and leaf not in masks.nodes
    return fits_all and position not in masks.relationships and not twice


def lengths_on_host(
    group: InterchangeableLeaves,
    plan: Eliminate,
    graph: DataGraph,
    dtype: DTypeLike,
    anchors: NDArray[np.uint32] | None,
) -> NDArray[Any]:
    """Number of entries per node with the group's types and directions, computed in threads.

    Args:
        group: The group of leaves.
        plan: The plan, which has the types.
        graph: The data graph.
        dtype: Type of the numbers.
        anchors: The nodes to count in their order, a bit each; None for all.
    """
    types = plan.core.relationships[group.relationships[0]].types
    used = [
        csr
        for csr, is_used in ((graph.outgoing, group.outgoing), (graph.incoming, group.incoming))
        if is_used
    ]
    if types is not None and frozenset(types) == frozenset(range(len(graph.types))):
        types = None
    of_types = [csr.degrees(types) for csr in used] if types is not None else []

    def count(nodes: slice) -> NDArray[Any]:
        if types is None:
            parts = [np.diff(csr.row_offsets[nodes.start : nodes.stop + 1]) for csr in used]
        else:
            parts = [each[nodes] for each in of_types]
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        if anchors is not None:
            words = anchors[nodes.start // 32 : -(-nodes.stop // 32)].view(np.uint8)
            found = np.unpackbits(words, count=nodes.stop - nodes.start, bitorder="little")
            total = total[found.view(np.bool_)]
        return total.astype(dtype, copy=False)

    pieces = list(in_threads_ahead(count, pieces_of(graph.node_count, _NODES_OF_PIECE)))
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=dtype)


def count_by_segment(
    run: Run,
    arrays: FilterArrays,
    views: SegmentViews,
    used: Mapping[str, bool],
    anchors: NDArray[np.uint32],
    count: Callable[..., None],
) -> None:
    """Counts for the nodes of each segment while it is loaded; adds the pieces of long rows.

    Segments without any of the anchors are not sent.

    Args:
        run: The query's run.
        arrays: The query's arrays.
        views: Loads the segments.
        used: Whether each direction is counted.
        anchors: The nodes to count, a bit each.
        count: Counts the anchors in a range of nodes; with ``adds`` it adds to the previous counts.
    """
    segments, seen = views.segments, replace(arrays, graph=views.arguments)
    parts = [
        (part, (low, high - low))
        for segment, (low, high) in enumerate(pairwise(segments.bounds.tolist()))
        for part in (segments.parts(segment) if _has_any(anchors, low, high) else ())
    ]
    wanted = [Wanted(*((part,) if used[name] else () for name in used)) for part, _ in parts]
    for (part, some), now, coming in zip(parts, wanted, [*wanted[1:], None], strict=False):
        run.check_deadline()
        views.acquire(now, coming, alone=True)
        count(seen, nodes=some, adds=part.piece > 0)


def _has_any(bits: NDArray[np.uint32], low: int, high: int) -> bool:
    """True if one of the nodes from ``low`` to before ``high`` is among the bits.

    It may also be true for a neighbour of these whose bit is in the same word.
    """
    return bool(bits[low // 32 : -(-high // 32)].any())
