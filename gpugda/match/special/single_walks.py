"""Cycles of four query nodes three of whose links lead to one node each: counted node by node.

A comment has one author and answers one post, which has one author: of the squares with the tie
between both authors each comment is in as many as there are ties between two known nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.launch.single_walks import SingleWalkKernels

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
"""Type, and whether it is left along its direction, of the links 0, 1 and 3."""

_COST_OF_NODE = 8.0
"""Of what is looked up for a node, in entries of lists that are read one after the other."""
_WINDOW = 1 << 22
_SHARE_FOR_ARRAYS = 0.25


def find_single_walk(
    bound: BoundQuery, graph: DataGraph, links: Sequence[BoundRelationship], first: int
) -> tuple[list[BoundRelationship], int, SingleWalk] | None:
    """The links in the order that the kernel takes them, where they start, and what is single.

    None where there is no such order, or all paths of two links from ``first`` are few.

    Args:
        bound: The query.
        graph: Says what is single.
        links: Of the cycle, in its order from ``first``.
        first: A query node.
    """
    found = list(_single_walks(graph, links, first))
    if not found:
        return None
    nodes = bound.nodes
    best = min(found, key=lambda walk: nodes[walk[1]].cardinality)
    cost = _COST_OF_NODE * nodes[best[1]].cardinality
    return best if cost <= _paths(bound, links, first) else None


def _single_walks(
    graph: DataGraph, links: Sequence[BoundRelationship], first: int
) -> Iterator[tuple[list[BoundRelationship], int, SingleWalk]]:
    for turned in (list(links), list(reversed(links))):
        start = first
        for place, link in enumerate(turned):
            walk = turned[place:] + turned[:place]
            ways = (walk[0], start), (walk[1], walk[0].other_end(start)), (walk[3], start)
            if all(_is_single(graph, each, end) for each, end in ways):
                yield walk, start, tuple(_way(each, end) for each, end in ways)
            start = link.other_end(start)


def _is_single(graph: DataGraph, link: BoundRelationship, end: int) -> bool:
    """Do statistics say that no node has more than one relationship along this link?"""
    if not link.directed or link.types is None or len(link.types) != 1:
        return False
    kind, outgoing = _way(link, end)
    return graph.statistics.degrees(kind, outgoing=outgoing).largest <= 1


def _way(link: BoundRelationship, end: int) -> tuple[int, bool]:
    assert link.types is not None
    return link.types[0], link.source == end


def _paths(bound: BoundQuery, links: Sequence[BoundRelationship], first: int) -> float:
    """Entries on all paths of two links from a node, were degrees even."""
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

    Empty where a node has more than one, whatever statistics say.
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

    return graph.kept_numbers(("single", kind, outgoing), made)


class SingleWalkCount:
    """Counts.

    Args:
        run: Of the query.
        words: The cycle for kernels.
        arrays: Of the links 0, 1 and 3, as `singles` gives them.
        candidates: Of the query nodes.
    """

    def __init__(
        self,
        run: Run,
        words: tuple[int, ...],
        arrays: Sequence[NDArray[np.uint32]],
        candidates: Candidates,
    ) -> None:
        self._run = run
        self._words = words
        self._arrays = arrays
        self._candidates = candidates
        self._kernels = SingleWalkKernels(run.graph.context)

    @classmethod
    def of(
        cls, run: Run, words: tuple[int, ...], walk: SingleWalk, candidates: Candidates
    ) -> SingleWalkCount | None:
        """What counts, where there is place for the arrays and all are single indeed."""
        graph = run.graph.graph
        needed = 4 * graph.node_count * len(set(walk))
        if needed >= run.workspace.available * _SHARE_FOR_ARRAYS:
            return None
        arrays = [singles(graph, kind, outgoing=outgoing) for kind, outgoing in walk]
        return cls(run, words, arrays, candidates) if all(map(len, arrays)) else None

    def count(self, totals: DeviceArray, item_work: int) -> int:
        """The number of embeddings; ``totals`` is overwritten."""
        del item_work  # all items have as much to do
        workspace, nodes = self._run.workspace, self._run.graph.graph.node_count
        words = workspace.upload(np.array(self._words, dtype=np.uint32), "a cycle")
        sent: dict[int, Any] = {}
        for each in self._arrays:
            if id(each) not in sent:
                sent[id(each)] = workspace.upload(each, "single neighbours")
        along = [sent[id(each)] for each in self._arrays]
        workspace.fill(totals, 0)
        arrays, matrix = self._candidates.arrays, self._candidates.matrix
        for first in range(0, nodes, _WINDOW):
            self._run.check_deadline()
            window = (first, min(first + _WINDOW, nodes))
            self._kernels.count(arrays, matrix, words, along, window, totals)
        total = int(workspace.download(totals).sum(dtype=np.uint64))
        workspace.release(words, *sent.values())
        return total
