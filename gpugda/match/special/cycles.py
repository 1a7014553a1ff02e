"""Counts cycles of three or four query nodes without rows, on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import (
    MAX_PARALLEL,
    MAX_TYPES,
    CycleTasks,
    CycleType,
    SquareKernels,
    TriangleKernels,
    cycle_words,
    triangle_words,
)
from gpugda.match.special.tasks import launches
from gpugda.plan.cardinality import max_list_length
from gpugda.plan.counting.problem import may_be_cycle
from gpugda.plan.row_tests import max_parallel, type_ids, variable_tests
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.match.special.single_walks import SingleWalk, SingleWalkCount
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = [
    "Cycle",
    "CycleCount",
    "find_cycle",
    "links_along",
    "nodes_along",
    "square_words",
]

_SHARE_FOR_SCRATCH = 0.25
_MAX_MARK = 1 << 32


@value(frozen=True, slots=True)
class Cycle:
    """A query graph that is one cycle.

    Args:
        size: Number of query nodes, 3 or 4.
        words: The cycle, encoded for kernels.
        has_loops: True if the data graph has self-loops of its types.
        singles: The links that lead to one node each, if it is counted by these; otherwise empty.
    """

    size: int
    words: tuple[int, ...]
    has_loops: bool
    singles: SingleWalk = ()


def find_cycle(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    rows: Mapping[int, int],
    first: int,
    most: int = 1 << 63,
) -> Cycle | None:
    """The cycle that a query is, if its only condition is that relationships differ.

    A triangle must have unrestricted nodes and the same types everywhere. It must be undirected, or
    directed in a graph whose relationships run upwards.

    Args:
        bound: The query.
        graph: Determines whether sums fit.
        masks: The nodes and relationships that pass the predicates.
        rows: Row of each query node in the candidate matrix.
        first: Query node in the first place: one with few candidates.
        most: Exclusive upper bound of all sums.
    """
    links = links_along(bound.relationships, first)
    if (
        links is None
        or len(links) != len(bound.nodes)
        or masks.comparisons
        or not _only_differ(bound)
    ):
        return None
    types = frozenset().union(*(type_ids(each, graph) for each in links))
    if not 0 < len(types) <= MAX_TYPES or not _fits(links, graph, most):
        return None
    has_loops = any(graph.statistics.loop_counts[each] for each in types)
    singles: SingleWalk = ()
    if len(links) == 4:
        if not has_loops and not masks.relationships and not variable_tests(bound, graph):
            from gpugda.match.special.single_walks import find_single_walk

            walk = find_single_walk(bound, graph, links, first)
            links, first, singles = walk or (links, first, ())
        nodes = nodes_along(links, first)
        words = square_words(bound, graph, masks, rows, links, nodes, types)
    elif _is_any_triangle(bound, graph, masks, links):
        words = triangle_words(sorted(types), has_loops=has_loops)
    elif not has_loops and _is_upward_triangle(bound, graph, masks, links):
        words = triangle_words(sorted(types), has_loops=False, upwards=True)
    else:
        return None
    return Cycle(len(links), tuple(words), has_loops, singles)


def square_words(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    rows: Mapping[int, int],
    links: Sequence[BoundRelationship],
    nodes: Sequence[int],
    types: frozenset[int],
    *,
    halves: bool = True,
) -> list[int]:
    """A square for kernels; ``links`` and ``nodes`` in cycle order, ``types`` of all links."""
    has_loops = any(graph.statistics.loop_counts[each] for each in types)
    places = {each.position: place for place, each in enumerate(links)}
    slots = {position: slot for slot, position in enumerate(masks.relationships)}
    tests = [test for test in bound.tests if test.left in places and test.right in places]
    pairs = [sorted((places[test.left], places[test.right])) for test in tests]
    return cycle_words(
        [rows[each] if _is_tested(bound, masks, each) else None for each in nodes],
        [slots.get(each.position) for each in links],
        [_type(each, links, nodes, graph) for each in sorted(types)],
        sorted({(one, other) for one, other in pairs}),
        has_loops=has_loops,
        halves=halves,
    )


def _is_any_triangle(
    bound: BoundQuery, graph: DataGraph, masks: Masks, links: Sequence[BoundRelationship]
) -> bool:
    differ = {frozenset((test.left, test.right)) for test in bound.tests}
    undirected = not any(each.directed for each in links)
    return undirected and len(differ) == len(links) and _is_of_any(bound, graph, masks, links)


def _is_upward_triangle(
    bound: BoundQuery, graph: DataGraph, masks: Masks, links: Sequence[BoundRelationship]
) -> bool:
    """No two of its relationships can be the same, because its nodes are three."""
    # A triangle directed in a ring would have one start per node.
    transitive = len({each.source for each in links}) == len(links) - 1
    directed = all(each.directed for each in links) and graph.is_degree_oriented
    return directed and transitive and _is_of_any(bound, graph, masks, links)


def _is_of_any(
    bound: BoundQuery, graph: DataGraph, masks: Masks, links: Sequence[BoundRelationship]
) -> bool:
    """True for unrestricted nodes, and relationships of the same types with few parallel ones."""
    return (
        max_parallel(links[0], graph) <= MAX_PARALLEL
        and not masks.relationships
        and not any(_is_tested(bound, masks, each.position) for each in bound.nodes)
        and len({type_ids(each, graph) for each in links}) == 1
    )


def links_along(
    relationships: Sequence[BoundRelationship], first: int
) -> list[BoundRelationship] | None:
    """The relationships in cycle order from the node ``first``; None if they are no cycle."""
    if not may_be_cycle(relationships):
        return None
    left, links, end = list(relationships), [], first
    while left:
        following = [each for each in left if end in (each.source, each.target)]
        if not following or following[0].source == following[0].target:
            return None
        links.append(following[0])
        left.remove(following[0])
        end = following[0].other_end(end)
    return links if end == first and len(set(nodes_along(links, first))) == len(links) else None


def nodes_along(links: Sequence[BoundRelationship], first: int) -> tuple[int, ...]:
    """The nodes in cycle order."""
    nodes = [first]
    for each in links[:-1]:
        nodes.append(each.other_end(nodes[-1]))
    return tuple(nodes)


def _only_differ(bound: BoundQuery) -> bool:
    return not any(test.on_nodes or test.equal or test.left == test.right for test in bound.tests)


def _is_tested(bound: BoundQuery, masks: Masks, node: int) -> bool:
    """True if candidates must be tested for more than having the relationships."""
    return bool(bound.nodes[node].labels) or node in masks.nodes


def _type(
    type_id: int, links: Sequence[BoundRelationship], nodes: Sequence[int], graph: DataGraph
) -> CycleType:
    starting = ending = 0
    for place, each in enumerate(links):
        if type_id not in type_ids(each, graph):
            continue
        even = nodes[(place + 1) // 2 * 2 % 4]
        starting |= (not each.directed or each.source == even) << place
        ending |= (not each.directed or each.target == even) << place
    return CycleType(type_id, starting, ending)


def _fits(links: Sequence[BoundRelationship], graph: DataGraph, most: int) -> bool:
    """True if marks fit in 32 bits and the sum is below ``most``, whatever the masks keep."""
    longest = max(
        max_list_length(graph, each.types, outgoing=True, incoming=True) for each in links
    )
    parallel = max(max_parallel(each, graph) for each in links)
    largest = 2 * graph.relationship_count * longest**2 * parallel
    return longest * parallel < _MAX_MARK and largest < most


class CycleCount:
    """Counts the embeddings of a cycle.

    Args:
        run: The query's run.
        cycle: The cycle.
        candidates: Candidates of the query nodes.
    """

    def __init__(self, run: Run, cycle: Cycle, candidates: Candidates) -> None:
        self._run = run
        self._cycle = cycle
        self._candidates = candidates
        kernels = SquareKernels if cycle.size == 4 else TriangleKernels
        self._kernels: SquareKernels | TriangleKernels = kernels(run.graph.context)
        self._nodes = run.graph.graph.node_count

    @classmethod
    def of(
        cls, run: Run, cycle: Cycle | None, candidates: Candidates
    ) -> CycleCount | SingleWalkCount | None:
        """The counter of a cycle; None if there is no cycle, or no room for the marks."""
        if cycle is None:
            return None
        if cycle.singles:
            from gpugda.match.special.single_walks import SingleWalkCount

            by_singles = SingleWalkCount.of(run, cycle.words, cycle.singles, candidates)
            if by_singles is not None:
                return by_singles
        found = cls(run, cycle, candidates)
        has_room = 4 * found._size < run.workspace.available * _SHARE_FOR_SCRATCH
        return found if has_room else None

    @property
    def _size(self) -> int:
        words = self._kernels.item_words(self._nodes, has_loops=self._cycle.has_loops)
        return words * self._kernels.item_count

    def count(self, totals: DeviceArray, item_work: int) -> int:
        """The number of embeddings; ``totals`` is overwritten.

        ``item_work``: neighbours per work item and launch.
        """
        workspace = self._run.workspace
        words = workspace.upload(np.array(self._cycle.words, dtype=np.uint32), "a cycle")
        scratch = workspace.allocate(self._size, np.uint32, "marks of nodes")
        counters = workspace.allocate(1, np.uint32, "counters")
        for each in (scratch, counters, totals):
            workspace.fill(each, 0)
        tasks = CycleTasks(counters, scratch, self._nodes, item_work, totals)
        task_count = -(-self._nodes // self._kernels.task_nodes(self._nodes))
        for _ in launches(self._run, counters, task_count):
            self._kernels.count(self._candidates.arrays, self._candidates.matrix, words, tasks)
        total = int(workspace.download(totals).sum(dtype=np.uint64))
        workspace.release(words, scratch, counters)
        return total
