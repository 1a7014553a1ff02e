"""Counts cycles of four query nodes in which three links lead to at most one node each.

A comment has one author and answers one post, which has one author: in squares that also contain a
relationship between both authors, each comment occurs as often as these two known nodes are
connected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import SingleWalkKernels
from gpugda.device.launch.query_words import NONE
from gpugda.device.memory.host_arrays import host_buffer
from gpugda.plan.row_tests import type_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["SingleWalk", "SingleWalkCount", "find_single_walk", "singles"]

SingleWalk = tuple[tuple[int, bool], ...]
"""Type and direction (True if outgoing) of the links 0, 1 and 3, then of link 2.

Link 2 occurs once per type and direction in which it leads from place 2 to place 3; it is missing
if looking up its relationships does not pay off.
"""

_COST_OF_NODE = 8.0
"""Cost of the lookups of a node, in entries of lists that are read sequentially."""
_COST_OF_PAIR = 4.0
"""Cost of a pair in the table, which is kept, in walks that look one up."""
_WINDOW = 1 << 22
_MAX_BITS = 24
_SHARE_FOR_ARRAYS = 0.25


def find_single_walk(
    bound: BoundQuery, graph: DataGraph, links: Sequence[BoundRelationship], first: int
) -> tuple[list[BoundRelationship], int, SingleWalk] | None:
    """The links in the kernel's order, the node they start at, and the single walk.

    None if there is no such order, or if the paths of two links from ``first`` are fewer.

    Args:
        bound: The query.
        graph: Determines which links are single.
        links: The cycle's links, in order from ``first``.
        first: A query node.
    """
    found = list(_single_walks(bound, graph, links, first))
    if not found:
        return None
    nodes = bound.nodes
    best = min(found, key=lambda walk: nodes[walk[1]].cardinality)
    cost = _COST_OF_NODE * nodes[best[1]].cardinality
    return best if cost <= _paths(bound, links, first) else None


def _single_walks(
    bound: BoundQuery, graph: DataGraph, links: Sequence[BoundRelationship], first: int
) -> Iterator[tuple[list[BoundRelationship], int, SingleWalk]]:
    for turned in (list(links), list(reversed(links))):
        start = first
        for place, link in enumerate(turned):
            walk = turned[place:] + turned[:place]
            one = walk[0].other_end(start)
            typed_links = (walk[0], start), (walk[1], one), (walk[3], start)
            if all(_is_single(graph, each, end) for each, end in typed_links):
                last = _last_links(bound, graph, walk[2], walk[1].other_end(one), start)
                yield walk, start, (*(_typed_link(each, end) for each, end in typed_links), *last)
            start = link.other_end(start)


def _is_single(graph: DataGraph, link: BoundRelationship, end: int) -> bool:
    """True if, by the statistics, no node has more than one relationship along this link."""
    if not link.directed or link.types is None or len(link.types) != 1:
        return False
    kind, outgoing = _typed_link(link, end)
    return graph.statistics.degrees(kind, outgoing=outgoing).largest <= 1


def _typed_link(link: BoundRelationship, end: int) -> tuple[int, bool]:
    assert link.types is not None
    return link.types[0], link.source == end


def _last_links(
    bound: BoundQuery, graph: DataGraph, link: BoundRelationship, end: int, start: int
) -> SingleWalk:
    """Link 2 from its ``end``, if it has far fewer relationships than the walks look up."""
    if link.cardinality * _COST_OF_PAIR > bound.nodes[start].cardinality:
        return ()
    outgoing = link.source == end
    directions = (outgoing,) if link.directed else (True, False)
    return tuple((kind, each) for kind in sorted(type_ids(link, graph)) for each in directions)


def _paths(bound: BoundQuery, links: Sequence[BoundRelationship], first: int) -> float:
    """Estimated entries on all paths of two links from a node, assuming even degrees."""
    entries = 0.0
    for side in (links[:2], [links[3], links[2]]):
        node, rows = first, bound.nodes[first].cardinality
        for link in side:
            rows *= link.cardinality / max(bound.nodes[node].cardinality, 1.0)
            entries += rows
            node = link.other_end(node)
    return entries


def singles(graph: DataGraph, kind: int, *, outgoing: bool) -> NDArray[np.uint32]:
    """``uint32[n]``: the other end of each node's only relationship of a type, or `NONE`.

    Empty if a node has more than one, whatever the statistics say.
    """

    def made() -> NDArray[np.uint32]:
        csr = graph.outgoing if outgoing else graph.incoming
        runs = np.flatnonzero(csr.run_types == kind)
        first = csr.run_starts[runs]
        if len(runs) and int((csr.run_starts[runs + 1] - first).max()) > 1:
            return np.zeros(0, dtype=np.uint32)
        found = np.full(graph.node_count, NONE, dtype=np.uint32)
        counts = np.diff(csr.run_offsets)
        nodes = np.repeat(np.arange(graph.node_count, dtype=np.uint32), counts)
        found[nodes[runs]] = csr.neighbours[first]
        return found

    return graph.cached_node_numbers(("single", kind, outgoing), made)


def _of_others(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """``second[first]``, or `NONE` where ``first`` is `NONE`."""
    found = np.full(len(first), NONE, dtype=np.uint32)
    some = np.flatnonzero(first != NONE)
    found[some] = second[first[some]]
    return found


def single_arrays(graph: DataGraph, walk: SingleWalk) -> list[NDArray[np.uint32]]:
    """For each node in place 0, the only nodes in places 1, 2 and 3; kept for later queries.

    Empty if a node has more than one.
    """
    one, on, three = (singles(graph, kind, outgoing=outgoing) for kind, outgoing in walk[:3])
    if not (len(one) and len(on) and len(three)):
        return []
    two = graph.cached_node_numbers(("single", *walk[:2]), lambda: _of_others(one, on))
    return [one, two, three]


def pair_table(graph: DataGraph, typed_links: SingleWalk) -> NDArray[np.uint32]:
    """Hash table of relationship counts between two nodes (``uint32``), for ``single_walks.cl``."""
    if not typed_links:
        return np.zeros(1, dtype=np.uint32)
    return graph.cached_node_numbers(
        ("pairs", *typed_links), lambda: _made_table(graph, typed_links)
    )


def _made_table(graph: DataGraph, typed_links: SingleWalk) -> NDArray[np.uint32]:
    kinds = graph.relationship_types()
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    sides = [(starts, ends) if outgoing else (ends, starts) for _, outgoing in typed_links]
    taken = [np.flatnonzero(kinds == kind) for kind, _ in typed_links]
    some = zip(sides, taken, strict=True)
    keys = [one[at].astype(np.uint64) << np.uint64(32) | other[at] for (one, other), at in some]
    pairs, times = np.unique(np.concatenate(keys), return_counts=True)
    bits = min(max(1, len(pairs).bit_length()), _MAX_BITS)
    two, three = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
    buckets = _buckets(two, three, bits)
    order = np.argsort(buckets, kind="stable")
    places = np.cumsum(np.bincount(buckets, minlength=1 << bits))
    entries = np.stack([two, three, times.astype(np.uint32)], axis=1)[order].reshape(-1)
    return np.concatenate([[bits, 0], places, entries]).astype(np.uint32)


def _buckets(two: NDArray[np.uint32], three: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    hashes = two * np.uint32(0x9E3779B1) ^ three * np.uint32(0x85EBCA77)
    hashes = (hashes ^ hashes >> np.uint32(15)) * np.uint32(0xC2B2AE3D)
    found: NDArray[np.uint32] = hashes >> np.uint32(32 - bits)
    return found


class SingleWalkCount:
    """Counts the embeddings of such a cycle.

    Args:
        run: The query's run.
        words: The cycle, encoded for kernels.
        arrays: From `single_arrays`.
        pairs: From `pair_table`.
        candidates: Candidates of the query nodes.
    """

    def __init__(
        self,
        run: Run,
        words: tuple[int, ...],
        arrays: Sequence[NDArray[np.uint32]],
        pairs: NDArray[np.uint32],
        candidates: Candidates,
    ) -> None:
        self._run = run
        self._words = words
        self._arrays = arrays
        self._pairs = pairs
        self._candidates = candidates
        self._kernels = SingleWalkKernels(run.graph.context)

    @classmethod
    def of(
        cls, run: Run, words: tuple[int, ...], walk: SingleWalk, candidates: Candidates
    ) -> SingleWalkCount | None:
        """The counter; None if the arrays do not fit, or a node has more than one relationship."""
        graph = run.graph.graph
        needed = 4 * graph.node_count * 4
        if needed >= run.workspace.available * _SHARE_FOR_ARRAYS:
            return None
        arrays = single_arrays(graph, walk)
        return cls(run, words, arrays, pair_table(graph, walk[3:]), candidates) if arrays else None

    def count(self, totals: DeviceArray, item_work: int) -> int:
        """The number of embeddings; ``totals`` is overwritten."""
        del item_work  # all work items have equal work
        workspace, nodes = self._run.workspace, self._run.graph.graph.node_count
        words = workspace.upload(np.array(self._words, dtype=np.uint32), "a cycle")
        context = self._run.graph.context
        *along, pairs = [host_buffer(context, each) for each in (*self._arrays, self._pairs)]
        workspace.fill(totals, 0)
        arrays, matrix = self._candidates.arrays, self._candidates.matrix
        try:
            for first in range(0, nodes, _WINDOW):
                self._run.check_deadline()
                window = (first, min(first + _WINDOW, nodes))
                self._kernels.count(arrays, matrix, words, along, pairs, window, totals)
        finally:
            self._run.graph.context.finish()  # the device reads the lent arrays no more
        total = int(workspace.download(totals).sum(dtype=np.uint64))
        workspace.release(words)
        return total
