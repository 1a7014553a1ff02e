"""Counts triangles of unrestricted nodes on a GPU, from their lowest nodes, without rows."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from gpugda.device.graph.segments import directory_bytes
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import LoopWeights, RankedTriangleKernels
from gpugda.device.launch.upward_lists import total_bytes
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.share import WHOLE
from gpugda.match.special.streamed_triangles import count_streamed, segment_size, sent_segments
from gpugda.match.special.tasks import launches
from gpugda.match.special.unrestricted import (
    CommonLink,
    common_link,
    counted_by_rank,
    is_large,
    is_unrestricted,
    ranked_lists_apply,
)
from gpugda.match.upward_lists import has_host_room, window_entries
from gpugda.plan.route.streaming import ListStreaming
from gpugda.thresholds import SegmentLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.match.share import Share
    from gpugda.match.upward_lists import UpwardLists
    from gpugda.plan.plan import BoundQuery


__all__ = [
    "count_triangles",
    "expected_triangles",
    "find_triangle",
    "streamed_type",
    "triangles_in",
    "weights_of",
]

_WORK_PER_LAUNCH = 1 << 24
_MAX_COUNT = 1 << 63
_TEXT = "triangles counted from their node of fewest relationships"
_SIDES = ((0, 1), (1, 2), (0, 2))
"""The sides of a triangle whose nodes ascend."""


def weights_of(bound: BoundQuery) -> int | None:
    """Embeddings per triangle of the graph, for each orientation of its sides; None if no triangle.

    Four bits each, in the order of ``ranked_triangles.cl``.
    """
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(bound.nodes) != 3 or len(bound.relationships) != 3 or len(ends) != 3:
        return None
    if any(len(each) != 2 for each in ends):
        return None
    weights = 0
    for kind in range(8):
        turned = [bool(kind >> bit & 1) for bit in (2, 1, 0)]
        runs = {side[::-1] if back else side for side, back in zip(_SIDES, turned, strict=True)}
        weights += sum(_fits_runs(bound, each, runs) for each in permutations(range(3))) << 4 * kind
    return weights


def _fits_runs(bound: BoundQuery, at: tuple[int, ...], runs: set[tuple[int, int]]) -> bool:
    """True if the query's relationships match ``runs`` with its nodes at these places."""
    return all(
        (at[each.source], at[each.target]) in runs
        or (not each.directed and (at[each.target], at[each.source]) in runs)
        for each in bound.relationships
    )


def loop_weights_of(bound: BoundQuery) -> LoopWeights:
    """The number of ways in which embeddings with a self-loop arise."""
    out_out = in_in = out_in = 0
    for loop in bound.relationships:
        one, other = (
            (not each.directed or outward, not each.directed or not outward)
            for each in bound.relationships
            if each is not loop
            for outward in [each.source in (loop.source, loop.target)]
        )
        out_out += one[0] and other[0]
        in_in += one[1] and other[1]
        out_in += (one[0] and other[1]) + (one[1] and other[0])
    return LoopWeights(out_out, in_in, out_in)


def find_triangle(bound: BoundQuery, graph: DataGraph) -> tuple[CommonLink, int] | None:
    """The link that all relationships match, each in one direction, and the weights."""
    if not is_unrestricted(bound):
        return None
    weights = weights_of(bound)
    found = None if weights is None else common_link(bound, graph)
    if weights is None or found is None:
        return None
    links = found._replace(undirected=False)
    longest, parallel = links.longest(graph), links.max_between(graph)
    # Six orders of nodes, and as many with self-loops, of which a node has at most `parallel`.
    fits = 16 * graph.relationship_count * longest * parallel < _MAX_COUNT
    return (links, weights) if fits else None


def streamed_type(bound: BoundQuery, graph: DataGraph) -> int | None:
    """The type of the lists that a graph beyond the memory limit would stream; None if none."""
    found = find_triangle(bound, graph)
    return None if found is None else found[0].type_id


def count_triangles(
    bound: BoundQuery,
    graph: DataGraph,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
    share: Share = WHOLE,
) -> int | None:
    """The number of embeddings; None if this method does not apply, or has no room.

    Args: as of `count_oriented`, and
        bound: The pattern.
    """
    if not ranked_lists_apply(graph, strategy):
        return None
    is_whole = strategy.placement().is_whole
    found = find_triangle(bound, graph)
    if found is None:
        return None
    links, weights = found
    looks_up = links.max_between(graph) > 1
    loop_weights = loop_weights_of(bound)

    def count_whole(run: Run, lists: RankedLists) -> int:
        return triangles_in(run, lists, weights, loop_weights=loop_weights, looks_up=looks_up)

    if is_whole:
        whole = counted_by_rank(links, strategy, report, deadline, count_whole, _TEXT, share)
        if whole is not None:
            return whole
    if links.type_id is None or share != WHOLE:
        return None
    with strategy.running(report, deadline) as run, run.locked():
        lists = strategy.upward.lists(run, links.type_id)
        if lists is None:
            return None
        with run.stage("join"):
            more = _with_loops(graph, links.type_id, loop_weights)
            return _streamed(run, lists, weights, more, looks_up=looks_up)


def _with_loops(graph: DataGraph, kind: int, weights: LoopWeights) -> int:
    """The embeddings in which relationships are self-loops, counted on the host."""
    pairs = graph.self_loops().pairs(kind)
    between = zip(weights, (pairs.out_out, pairs.in_in, pairs.out_in), strict=True)
    return sum(weight * count for weight, count in between) + pairs.loops


def _streamed(
    run: Run, lists: UpwardLists, weights: int, with_loops: int, *, looks_up: bool
) -> int | None:
    found = count_streamed(run, lists, weights, looks_up=looks_up)
    if found is None:
        return None
    report, rows = run.report, found.rows + with_loops
    report.sent_bytes = max(report.sent_bytes, found.sent_bytes)
    report.steps.append(
        f"{_TEXT}: {rows:,} rows; lists by rank came in {found.segments:,} segments, "
        f"{found.sent_bytes:,} bytes"
    )
    return rows


def triangles_in(
    run: Run,
    lists: RankedLists,
    weights: int,
    loops: DeviceArray | None = None,
    loop_weights: LoopWeights | None = None,
    *,
    looks_up: bool,
) -> int:
    """The embeddings of triangles, weighted by the self-loops of their nodes if given.

    Args:
        run: The query's run.
        lists: Lists of what all relationships match.
        weights: See `weights_of`.
        loops: Number of self-loops per rank.
        loop_weights: Weights of embeddings in which relationships are self-loops, which are added.
        looks_up: True if nodes may have parallel relationships.
    """
    kernels, workspace = RankedTriangleKernels(run.graph.context), run.workspace
    nodes, groups = lists.nodes, kernels.max_groups
    tasks = CycleTasks.new(workspace, 1, nodes, _WORK_PER_LAUNCH, groups, run.share)
    task_count = run.share.size(-(-nodes // kernels.task_nodes(nodes)))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(lists, weights, tasks, loops, looks_up=looks_up)
    if loop_weights is not None and lists.loops is not None and run.share.does_rest:
        kernels.add_loops(lists, loop_weights, lists.loops, tasks.totals)
    return tasks.total(workspace)


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
