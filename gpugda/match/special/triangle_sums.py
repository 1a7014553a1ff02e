"""Undirected triangles summed by one of their nodes: a table message without rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import (
    MAX_TYPES,
    HigherNeighbours,
    Members,
    TriangleSumKernels,
    triangle_words,
)
from gpugda.match.special.cycles import links_along, nodes_along
from gpugda.match.special.square_sums import largest_sum
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.match.special.unrestricted import sums_triangles
from gpugda.plan.cardinality import max_list_length
from gpugda.plan.row_tests import type_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import TableMessage
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["TriangleSums", "find_triangle_at", "triangle_sums"]

_MAX_SUM = 1 << 62
_MEMBER_BYTES = 4 * (1 + 1 + 1 + 2)
"""Bytes per member: its node, its length, its count, and the start of its list."""


def find_triangle_at(
    bound: BoundQuery, inside: Set[int], first: int, graph: DataGraph, masks: Masks
) -> tuple[int, ...] | None:
    """The types of the triangle that some query nodes form; None if it cannot be summed.

    Its relationships are undirected and of the same types, which have no self-loops: then its nodes
    and relationships differ in any case. All its nodes have the same labels; the first one, by
    whose candidates the triangles are summed, may have more.

    Args:
        bound: The pattern, with those of its tests that count.
        inside: The query nodes.
        first: The one by which triangles are summed.
        graph: Determines self-loops, and whether sums fit.
        masks: The nodes and relationships that pass the predicates.
    """
    among = [each for each in bound.relationships if {each.source, each.target} <= inside]
    if len(inside) != 3 or len(among) != 3 or masks.comparisons:
        return None
    links = links_along(among, first)
    if links is None or any(
        each.directed or each.position in masks.relationships for each in links
    ):
        return None
    types = type_ids(links[0], graph)
    if not 0 < len(types) <= MAX_TYPES or any(type_ids(e, graph) != types for e in links):
        return None
    if any(graph.statistics.loop_counts[each] for each in types) or not _fits(links[0], graph):
        return None
    asks = _same_labels(bound, nodes_along(links, first), masks)
    return tuple(sorted(types)) if asks and _only_differ(bound, inside, links) else None


def _same_labels(bound: BoundQuery, nodes: Sequence[int], masks: Masks) -> bool:
    first, one, other = (bound.nodes[each].labels for each in nodes)
    is_masked = any(each in masks.nodes for each in nodes[1:])
    return not is_masked and one == other and (not one or one == first)


def _only_differ(bound: BoundQuery, inside: Set[int], links: Sequence[BoundRelationship]) -> bool:
    """True if tests only require its nodes and relationships to differ, which always holds."""
    positions = {each.position for each in links}
    for test in bound.tests:
        among = inside if test.on_nodes else positions
        touched = {test.left, test.right} & among
        leads_out = test.on_nodes and len(touched) < len({test.left, test.right})
        if touched and (test.equal or test.left == test.right or leads_out):
            return False
    return True


def _fits(link: BoundRelationship, graph: DataGraph) -> bool:
    """True if the sum of a node fits in 62 bits."""
    return max_list_length(graph, link.types, outgoing=True, incoming=True) ** 3 < _MAX_SUM


@dataclass(frozen=True, slots=True, eq=False)
class TriangleSums:
    """Sums of all triangles by the candidates of their first node.

    Args:
        run: The query's run.
        separator: The query node, alone.
        others: The other two query nodes.
        types: Types of the relationships.
        candidates: Candidates of the query nodes.
        item_work: Entries per work item and launch.
        items: Number of work items that have room.
        place: An array for the sums, and the offset in words.
    """

    run: Run
    separator: tuple[int]
    others: tuple[int, int]
    types: tuple[int, ...]
    candidates: Candidates
    item_work: int
    items: int
    place: tuple[DeviceArray, int]

    what = "triangles counted without rows"
    """Text for the report."""

    def make(self) -> Iterator[None]:
        """Writes the sums; others may launch between launches."""
        workspace = self.run.workspace
        kernels = TriangleSumKernels(self.run.graph.context)
        listed = self.candidates.listed(self.run, self.separator[0])
        members = self._members(kernels)
        higher = self._higher(kernels, members)
        count, items = higher.members, self.items
        scratch = workspace.allocate(items * kernels.item_words(count), np.uint32, "marks of nodes")
        counters = workspace.allocate(1, np.uint32, "counters")
        for each in (scratch, counters):
            workspace.fill(each, 0)
        for _ in launches(self.run, counters, -(-count // kernels.task_members(count, items))):
            kernels.sum(higher, items, self.item_work, scratch, counters)
            yield
        kernels.write(members, higher, listed, (scratch, items), self.place)
        workspace.release(scratch, counters, *higher.arrays)
        workspace.release(members.words, members.bits, members.ranks)

    def _members(self, kernels: TriangleSumKernels) -> Members:
        """The candidates of all three nodes: other nodes are in no embedding of the pattern."""
        run, workspace, arrays = self.run, self.run.workspace, self.candidates.arrays
        words = triangle_words(self.types, has_loops=False)
        uploaded = workspace.upload(np.array(words, dtype=np.uint32), "a triangle")
        bits = workspace.allocate(arrays.words, np.uint32, "nodes of triangles")
        rows = [self.candidates.rows[each] for each in (*self.separator, *self.others)]
        kernels.unite(self.candidates.matrix, arrays.words, (rows[0], rows[1], rows[2]), bits)
        ranks = run.kernels.prefix_sum.run(workspace, bits, 0, arrays.words, of_bits=True)
        return Members(arrays, uploaded, bits, ranks)

    def _higher(self, kernels: TriangleSumKernels, members: Members) -> HigherNeighbours:
        run, workspace = self.run, self.run.workspace
        (count,) = workspace.download_at(members.ranks, [members.filter.words])
        nodes, lengths, counts = (
            workspace.allocate(max(count, 1), np.uint32, "nodes of triangles") for _ in range(3)
        )
        kernels.measure(members, nodes, lengths)
        starts = run.kernels.prefix_sum.run(workspace, lengths, 0, count)
        (total,) = workspace.download_at(starts, [count])
        entries = workspace.allocate(max(total, 1), np.uint32, "neighbours")
        higher = HigherNeighbours(count, starts, counts, entries)
        kernels.list_higher(members, nodes, lengths, higher)
        workspace.release(nodes, lengths)
        return higher

    def most(self) -> int:
        """An upper bound of all sums."""
        (node,) = self.separator
        return largest_sum(self.run, self.place, self.candidates.count(node))


def triangle_sums(
    run: Run,
    message: TableMessage,
    candidates: Candidates,
    masks: Masks,
    item_work: int,
    place: tuple[DeviceArray, int],
) -> TriangleSums | None:
    """The sums of a part that is a triangle, on a CPU; None for others, or without room.

    Args: as of `square_sums`.
    """
    plan = message.plan
    if plan.messages or len(message.separator) > 1 or not run.placement.is_whole:
        return None
    if not sums_triangles(run.graph):
        return None
    (first,) = message.separator
    graph = run.graph.graph
    types = find_triangle_at(plan.core, plan.joined, first, graph, masks)
    if types is None:
        return None
    one, other = sorted(plan.joined - {first})
    kernels = TriangleSumKernels(run.graph.context)
    most = min(sum(candidates.count(each) for each in plan.joined), graph.node_count)
    entries = 2 * sum(graph.statistics.type_counts[each] for each in types)
    besides = _MEMBER_BYTES * most + 4 * entries + 12 * candidates.arrays.words
    words, max_items = kernels.item_words(max(most, 1)), kernels.max_items
    items = groups_with_scratch(run, words, max_items, besides)
    if items == 0:
        return None
    ends = one, other
    return TriangleSums(run, (first,), ends, types, candidates, item_work, items, place)
