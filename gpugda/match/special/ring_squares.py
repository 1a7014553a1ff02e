"""Counts cycles of four unrestricted nodes on a GPU, without rows.

All relationships run around the cycle, or all are undirected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import RingSquareKernels, TwoLinkPaths
from gpugda.errors import MemoryLimitError
from gpugda.match.share import WHOLE, Share
from gpugda.match.special.ranked_triangles import triangles_in
from gpugda.match.special.tasks import carried_total, groups_with_scratch, launches, new_carries
from gpugda.match.special.unrestricted import (
    CommonLink,
    common_link,
    counted_by_rank,
    is_unrestricted,
    ranked_lists_apply,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["count_ring", "find_ring", "is_undirected_ring", "weighed_squares"]

_WORK_PER_LAUNCH = 1 << 24
_MAX_MARK = 1 << 32
_MAX_COUNT = 1 << 63
_DIRECTED_WEIGHTS, _UNDIRECTED_WEIGHTS = 1 << 4 * 0b001 | 1 << 4 * 0b110, 2
"""Closed walks of length three from each node of a triangle, per kind (see `weights_of`)."""

_FIRST_NODES = 1 << 16
"""Maximum number of first nodes that all work groups process together."""
_MIN_PATHS = 1 << 16
"""Number of paths of two relationships from a node, from which they do."""
_PATHS_OF_BATCH = 1 << 23
_BATCH_BYTES = 1 << 27
"""Bytes of marks: those in use should fit in the cache."""
_SHARE_IF_LARGE = 0.6
"""Share of the free memory for marks, if the usual one does not suffice for all work groups."""
_BATCHES_TOGETHER = 64
"""Batches launched between two checks of the deadline."""


def find_ring(bound: BoundQuery, graph: DataGraph) -> CommonLink | None:
    """The link that all relationships of the ring match; None if the query is no ring.

    Also None if counts might overflow.
    """
    if not is_unrestricted(bound) or not (_is_ring(bound) or is_undirected_ring(bound)):
        return None
    links = common_link(bound, graph)
    return links if links is not None and _fits(graph, links) else None


def _is_ring(bound: BoundQuery) -> bool:
    """True if the relationships lead around four nodes."""
    after = {each.source: each.target for each in bound.relationships if each.directed}
    if len(bound.nodes) != 4 or len(bound.relationships) != 4 or len(after) != 4:
        return False
    path = [0]
    while len(path) < 4:
        path.append(after[path[-1]])
    return len(set(path)) == 4 and after[path[-1]] == 0


def is_undirected_ring(bound: BoundQuery) -> bool:
    """True if undirected relationships lead around four nodes."""
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(bound.nodes) != 4 or len(bound.relationships) != 4 or len(ends) != 4:
        return False
    directed = any(each.directed for each in bound.relationships)
    return not directed and all(sum(node in pair for pair in ends) == 2 for node in range(4))


def _fits(graph: DataGraph, links: CommonLink) -> bool:
    """True if marks fit in 32 bits, and the count in 63. Sums in between are modulo 2**64.

    Closed walks of length four are at most the squared sum of the squared entries of a matrix.
    """
    longest, parallel = links.longest(graph), links.max_between(graph)
    ends = (2 if links.undirected else 1) * graph.relationship_count
    most = min(ends * longest**2 * parallel, (ends * parallel) ** 2)
    return longest * parallel < _MAX_MARK and most < _MAX_COUNT


def count_ring(
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
    undirected = not any(each.directed for each in bound.relationships)
    may = ranked_lists_apply(graph, strategy)
    links = find_ring(bound, graph) if may else None
    if links is None:
        return None
    is_simple = links.max_between(graph) == 1
    said = "cycle of 4 nodes counted from the one of most relationships"

    def count(run: Run, lists: RankedLists) -> int | None:
        found = _counted(run, lists, corrects=not (undirected and is_simple))
        if found is not None and lists.loops is not None:
            # Any of the four relationships is the self-loop; the others form a triangle.
            weights = _UNDIRECTED_WEIGHTS if undirected else _DIRECTED_WEIGHTS
            found += 4 * triangles_in(run, lists, weights, lists.loops, looks_up=not is_simple)
        return None if found is None else found % (1 << 64)

    return counted_by_rank(links, strategy, report, deadline, count, said, share)


def _counted(run: Run, lists: RankedLists, *, corrects: bool) -> int | None:
    """All embeddings but triangles with a self-loop.

    ``corrects``: not needed if no two relationships connect the same nodes in any direction.
    """
    return _summed(run, lists, None, corrects=corrects)


def weighed_squares(run: Run, lists: RankedLists) -> int | None:
    """Twice the sum of the other relationships of the nodes of all squares; None without room.

    The graph has no self-loops and no two relationships between two nodes.
    """
    carried = new_carries(run.workspace)
    found = _summed(run, lists, carried, corrects=False)
    more = carried_total(run.workspace, carried)
    return None if found is None else found + more


def _summed(
    run: Run, lists: RankedLists, carried: DeviceArray | None, *, corrects: bool
) -> int | None:
    kernels, workspace, nodes = RingSquareKernels(run.graph.context), run.workspace, lists.nodes
    groups = groups_with_scratch(run, nodes, kernels.max_groups)
    if groups < kernels.max_groups:
        groups = groups_with_scratch(run, nodes, kernels.max_groups, share=_SHARE_IF_LARGE)
    if groups == 0:
        return None
    most = max(groups, kernels.walking_groups)
    tasks = CycleTasks.new(workspace, groups * nodes, nodes, _WORK_PER_LAUNCH, most, run.share)
    first = _from_first_nodes(run, kernels, lists, tasks.totals, carried)
    task_count = run.share.size(-(-(nodes - first) // kernels.task_nodes(nodes)))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(lists, first, groups, tasks, carried)
    if corrects and run.share.does_rest:
        kernels.correct(lists, tasks.totals)
    return tasks.total(workspace, whole=carried is not None)


def _from_first_nodes(
    run: Run,
    kernels: RingSquareKernels,
    lists: RankedLists,
    totals: DeviceArray,
    carried: DeviceArray | None,
) -> int:
    """Counts from the highest nodes, in batches. Returns the first node that is left."""
    workspace = run.workspace
    try:
        with workspace.reclaiming(MemoryLimitError):
            paths = _two_link_paths(run, kernels, lists)
            max_nodes = max(1, min(_BATCH_BYTES, workspace.available // 4) // (4 * lists.nodes))
            marks = workspace.allocate(max_nodes * lists.nodes, np.uint32, "marks of nodes")
    except MemoryLimitError:
        if run.share != WHOLE:  # all shares must leave the same nodes
            raise
        return 0
    workspace.fill(marks, 0)
    of_nodes = paths[0].of_nodes + paths[-1].of_nodes
    many = np.flatnonzero(of_nodes >= _MIN_PATHS)
    last = int(many[-1]) + 1 if len(many) else 0
    for number, nodes in enumerate(_batches(of_nodes[:last], max_nodes, run.share)):
        if number % _BATCHES_TOGETHER == 0:
            run.graph.context.finish()
            run.check_deadline()
        kernels.batch(lists, paths, nodes, marks, totals, carried)
    workspace.release(marks, *(each.sums for each in paths))
    return last


def _two_link_paths(run: Run, kernels: RingSquareKernels, lists: RankedLists) -> list[TwoLinkPaths]:
    """The number of two-step paths from the first nodes, outgoing and incoming, if they differ."""
    nodes = min(lists.nodes, _FIRST_NODES)
    found = []
    for rows in lists[:1] if lists.is_undirected else lists[:2]:
        entries = int(run.workspace.download(rows.starts, nodes, 1)[0])
        found.append(kernels.paths(run.workspace, rows, nodes, entries))
    return found


def _batches(paths: NDArray[np.uint64], max_nodes: int, share: Share) -> Iterator[range]:
    """Yields ranges of nodes; short ones if very many paths begin there.

    A share has consecutive nodes, with as many paths as any other.
    """
    before = np.concatenate([[0], np.cumsum(paths)])
    cuts = [int(before[-1]) * each // share.of for each in (share.number, share.number + 1)]
    first, last = np.searchsorted(before[1:], cuts, side="left").tolist()
    last = len(paths) if share.number + 1 == share.of else last
    while first < last:
        stop = int(np.searchsorted(before, before[first] + _PATHS_OF_BATCH, side="left"))
        stop = min(max(first + 1, stop), first + max_nodes, last)
        yield range(first, stop)
        first = stop
