"""Squares summed by one of their nodes: a table message without rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import MAX_TYPES, SquareArrays, SquareSumKernels
from gpugda.device.launch.leaf_products import GroupKernels
from gpugda.match.special.cycles import links_along, nodes_along, square_words
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.plan.cardinality import max_list_length
from gpugda.plan.row_tests import max_parallel, type_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import TableMessage
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["SquareSums", "find_square_at", "largest_sum", "square_sums"]

_MAX_MARK = 1 << 32
_MAX_SUM = 1 << 62


def find_square_at(
    bound: BoundQuery,
    inside: Set[int],
    first: int,
    graph: DataGraph,
    masks: Masks,
    rows: Mapping[int, int] | None = None,
) -> tuple[int, ...] | None:
    """The square that some query nodes form, for kernels; None if none, or if sums are too large.

    Its only condition may be that relationships differ.

    Args:
        bound: The pattern, with those of its tests that count.
        inside: The query nodes.
        first: The one by which squares are summed.
        graph: Determines whether sums fit.
        masks: The nodes and relationships that pass the predicates.
        rows: Row of each query node in the candidate matrix; None if only the shape matters.
    """
    among = [each for each in bound.relationships if {each.source, each.target} <= inside]
    if len(inside) != 4 or len(among) != 4 or masks.comparisons:
        return None
    links = links_along(among, first)
    if links is None or not _only_differ(bound, inside, links):
        return None
    types = frozenset().union(*(type_ids(each, graph) for each in links))
    if not 0 < len(types) <= MAX_TYPES or not _fits(links, graph):
        return None
    places = {each: each for each in inside} if rows is None else rows
    nodes = nodes_along(links, first)
    return tuple(square_words(bound, graph, masks, places, links, nodes, types, halves=False))


def _only_differ(bound: BoundQuery, inside: Set[int], links: Sequence[BoundRelationship]) -> bool:
    positions = {each.position for each in links}
    for test in bound.tests:
        touched = {test.left, test.right} & (inside if test.on_nodes else positions)
        if touched and (test.on_nodes or test.equal or test.left == test.right):
            return False
    return True


def _fits(links: Sequence[BoundRelationship], graph: DataGraph) -> bool:
    """True if marks fit in 32 bits, and the sum of a node in 62."""
    longest = max(
        max_list_length(graph, each.types, outgoing=True, incoming=True) for each in links
    )
    parallel = max(max_parallel(each, graph) for each in links)
    return longest * parallel < _MAX_MARK and longest**3 * parallel < _MAX_SUM


@dataclass(frozen=True, slots=True, eq=False)
class SquareSums:
    """Sums of all squares by the candidates of their first node.

    Args:
        run: The query's run.
        separator: The query node, alone.
        words: The square, from `find_square_at`.
        candidates: Candidates of the query nodes.
        item_work: Entries per work item and launch.
        groups: Number of work groups that have room.
        place: An array for the sums, and the offset in words.
    """

    run: Run
    separator: tuple[int]
    words: tuple[int, ...]
    candidates: Candidates
    item_work: int
    groups: int
    place: tuple[DeviceArray, int]

    @classmethod
    def of(
        cls,
        run: Run,
        separator: int,
        words: tuple[int, ...],
        candidates: Candidates,
        item_work: int,
        place: tuple[DeviceArray, int],
    ) -> SquareSums | None:
        """The sums; None if there is no room for the marks."""
        nodes = run.graph.graph.node_count
        kernels = SquareSumKernels(run.graph.context)
        words_each = kernels.group_words(nodes)
        groups = groups_with_scratch(run, words_each, kernels.max_groups, 16 * nodes)
        if groups == 0:
            return None
        return cls(run, (separator,), words, candidates, item_work, groups, place)

    def make(self) -> Iterator[None]:
        """Writes the sums; others may launch between launches."""
        run, workspace = self.run, self.run.workspace
        kernels, nodes = SquareSumKernels(run.graph.context), run.graph.graph.node_count
        listed = self.candidates.listed(run, self.separator[0])
        words = workspace.upload(np.array(self.words, dtype=np.uint32), "a square")
        arrays = SquareArrays(
            self.candidates.arrays, self.candidates.matrix, words, *listed, *self.place
        )
        size = self.groups * kernels.group_words(nodes)
        scratch = workspace.allocate(size, np.uint32, "marks of nodes")
        odd_ends = workspace.allocate(2 * nodes, np.uint64, "ways from odd nodes")
        counters = workspace.allocate(1, np.uint32, "counters")
        for each in (scratch, counters):
            workspace.fill(each, 0)
        tasks = -(-arrays.listed // kernels.task_nodes(arrays.listed))
        for _ in launches(run, counters, tasks):
            kernels.sum(arrays, self.groups, self.item_work, scratch, counters)
            yield
        kernels.correct(arrays, odd_ends)
        workspace.release(words, scratch, odd_ends, counters)

    what = "cycle of 4 nodes counted without rows"
    """Text for the report."""

    def most(self) -> int:
        """An upper bound of all sums."""
        return largest_sum(self.run, self.place, self.candidates.count(self.separator[0]))


def largest_sum(run: Run, place: tuple[DeviceArray, int], count: int) -> int:
    """An upper bound of ``count`` sums; ``place``: their array, and the offset in words."""
    most = run.workspace.allocate(2, np.uint32, "largest sum")
    run.workspace.fill(most, 0)
    GroupKernels(run.graph.context).largest(*place, count, most)
    high, low = map(int, run.workspace.download(most))
    run.workspace.release(most)
    return (high + 1) << 32 if high else low


def square_sums(
    run: Run,
    message: TableMessage,
    candidates: Candidates,
    masks: Masks,
    item_work: int,
    place: tuple[DeviceArray, int],
) -> SquareSums | None:
    """The sums of a part that is a square; None for any other.

    Args: as of `SquareSums`, and
        message: The part's message.
        masks: The nodes and relationships that pass the predicates.
    """
    plan = message.plan
    if plan.messages or len(message.separator) > 1 or not run.placement.is_whole:
        return None
    (first,) = message.separator
    graph, rows = run.graph.graph, candidates.rows
    words = find_square_at(plan.core, plan.joined, first, graph, masks, rows)
    if words is None:
        return None
    return SquareSums.of(run, first, words, candidates, item_work, place)
