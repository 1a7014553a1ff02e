"""Which query nodes are weighed, counted row by row of the others, where only rows are counted.

Query nodes with no relationship between them are independent: given a row of all others, the core,
each has a number of ways, an intersection of lists that nobody needs to write down, and the ways
multiply. Rows of the core are far fewer than embeddings, as in counting by a vertex cover.
Relationships of a clause must differ, though: two such nodes may not be able to take the same one.
``k`` like nodes, with the same relationships to the same nodes, take the same relationships exactly
where they are the same data node: they have the falling factorial of ``k`` factors.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING

from gpugda.device.launch.extend import MOST_LINKS
from gpugda.match.list_lengths import most_entries
from gpugda.match.row_tests import is_single, most_parallel, type_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.candidates import CandidateCounts
    from gpugda.match.comparisons import Comparison
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = [
    "WeighedNodes",
    "choose_weighed",
    "expected_rows",
    "find_weighable",
    "in_that_time",
    "join_pairs",
    "most_ways",
    "without_tests",
    "worth_a_thought",
    "worth_weighing",
]

WeighedNodes = tuple[int, ...]
"""Like query nodes; the first one is counted."""

_MOST_WAYS = 1 << 32
_COST_OF_ROW = 4.0
"""Of making a row, in pairs that are tested."""
_BENEFIT_OF_DOUBT = 2.0
"""What is weighed may be expected to cost so much more: ways are easily underestimated."""
_EACH_FURTHER = 0.5
"""So much less each further relationship to the same node selects."""
_WORTH_A_THOUGHT = 1 << 14
"""Joins of fewer pairs are done before a better way is found, on a CPU."""
_FASTER_GPU = 64
"""So many times as many pairs in that time, though pairs may be underestimated a thousandfold."""


def worth_weighing(bound: BoundQuery, candidates: CandidateCounts) -> bool:
    """Could there be so many rows that looking for a way round them pays?"""
    rows = 1
    for each in bound.nodes:
        rows *= candidates.count(each.position)
        if rows >= _WORTH_A_THOUGHT:
            return True
    return False


def worth_a_thought(pairs: float, *, is_cpu: bool) -> bool:
    """Does a join of so many pairs take longer than finding a better way?"""
    return pairs >= in_that_time(_WORTH_A_THOUGHT, is_cpu=is_cpu)


def in_that_time(pairs: float, *, is_cpu: bool) -> float:
    """As many as a device joins while a CPU joins so many."""
    return pairs * (1 if is_cpu else _FASTER_GPU)


def find_weighable(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    clash: Callable[[int, int], bool],
    leaves: Collection[int],
    taken: Set[int],
) -> list[WeighedNodes]:
    """Groups of query nodes that may be weighed; whether all of them together is not said.

    Args:
        bound: The query.
        graph: Says how many parallel relationships there are.
        masks: What predicates leave.
        clash: Could two query relationships be the same data relationship, and must not?
        leaves: Relationships of leaves that are multiplied.
        taken: Query relationships that the leaves must know of.
    """
    return _Weighable(bound, graph, masks, clash, leaves, taken).groups()


class _Weighable:
    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        masks: Masks,
        clash: Callable[[int, int], bool],
        leaves: Collection[int],
        taken: Set[int],
    ) -> None:
        self._bound = bound
        self._graph = graph
        self._masks = masks
        self._clash = clash
        self._around: dict[int, list[BoundRelationship]] = defaultdict(list)
        for each in bound.relationships:
            for node in {each.source, each.target}:
                self._around[node].append(each)
        self._leaf_ends = {
            end
            for position in leaves
            for end in (bound.relationships[position].source, bound.relationships[position].target)
        }
        self._taken = taken
        self._tested_nodes = {
            end for test in bound.tests if test.on_nodes for end in (test.left, test.right)
        }
        self._equated = {
            end
            for test in bound.tests
            if not test.on_nodes and (test.equal or test.left == test.right)
            for end in (test.left, test.right)
        }
        compared = {each for test in masks.comparisons for each in test.variables()}
        self._equated |= {each.position for each in compared if not each.is_node}
        self._compared = {each.position for each in compared if each.is_node}

    def groups(self) -> list[WeighedNodes]:
        alike: dict[object, list[int]] = {}
        for node in range(len(self._bound.nodes)):
            if self._fits(node):
                alike.setdefault(self._key(node), []).append(node)
        groups: list[WeighedNodes] = []
        for nodes in alike.values():
            groups += [tuple(nodes)] if self._are_alike(nodes) else [(node,) for node in nodes]
        return groups

    def _fits(self, node: int) -> bool:
        around = self._around[node]
        return (
            0 < len(around) <= MOST_LINKS
            and node not in self._leaf_ends
            and node not in self._compared
            and not any(
                each.source == each.target
                or each.position in self._taken
                or each.position in self._equated
                for each in around
            )
            and most_ways(self._bound, self._graph, node) < _MOST_WAYS
        )

    def _key(self, node: int) -> object:
        """The same for nodes that look alike."""
        around = self._around[node]
        anchors = [each.other_end(node) for each in around]
        if node in self._tested_nodes or len(set(anchors)) < len(anchors):
            return node
        if not all(is_single(each, self._graph) for each in around):
            return node
        mask = self._masks.nodes.get(node)
        links = (
            (
                anchor,
                tuple(sorted(type_ids(each, self._graph))),
                each.directed,
                each.directed and each.source == node,
                each.clause,
                each.position if each.position in self._masks.relationships else -1,
            )
            for each, anchor in zip(around, anchors, strict=True)
        )
        labels = self._bound.nodes[node].labels
        return (labels, None if mask is None else mask.tobytes(), tuple(sorted(links)))

    def _are_alike(self, nodes: Sequence[int]) -> bool:
        """Do they clash exactly where they are the same data node?"""
        return all(
            self._clash(a.position, b.position) == (a.other_end(one) == b.other_end(other))
            for one, other in combinations(nodes, 2)
            for a, b in product(self._around[one], self._around[other])
        )


def most_ways(bound: BoundQuery, graph: DataGraph, node: int) -> int:
    """No row has more ways for a query node."""
    around = [each for each in bound.relationships if node in (each.source, each.target)]
    ways = 1
    for each in around:
        ways *= most_parallel(each, graph)
    shortest = min(_longest_list(each, each.other_end(node), graph) for each in around)
    return ways * shortest


def _longest_list(each: BoundRelationship, end: int, graph: DataGraph) -> int:
    """Relationships of any data node that fit, seen from one end."""
    starts = each.source == end
    return most_entries(
        graph,
        each.types,
        outgoing=starts or not each.directed,
        incoming=not starts or not each.directed,
    )


# ------------------------------------------------------------------ which of them
def choose_weighed(
    bound: BoundQuery,
    weighable: Iterable[WeighedNodes],
    clash: Callable[[int, int], bool],
    order: Sequence[int],
    node_count: Callable[[int], int],
    growth: Callable[[int, int], float],
    *,
    counts_last: bool,
) -> list[WeighedNodes]:
    """Those that make the join cheapest, of sets that grow by what is cheapest alone.

    The rest of the query stays connected, and no two chosen groups clash.

    Args:
        bound: The query.
        weighable: From `find_weighable`.
        clash: As there.
        order: In which the nodes would be joined, without the leaves that are multiplied.
        node_count: Candidates of a query node.
        growth: As in `node_order`.
        counts_last: Need rows of the last node not be made otherwise?
    """
    choice = _Choice(bound, clash, order, node_count, growth)
    lowest = choice.cost(frozenset(), counts_last=counts_last)
    if not worth_a_thought(lowest, is_cpu=True):
        return []
    alone = [group for group in weighable if choice.may_join((), group)]
    found: list[WeighedNodes] = []
    best = 0
    for group in sorted(alone, key=lambda each: choice.cost(set(each), counts_last=False)):
        if not choice.may_join(found, group):
            continue
        found.append(group)
        cost = choice.cost({node for each in found for node in each}, counts_last=False)
        if cost < lowest * (_BENEFIT_OF_DOUBT if best == 0 else 1.0):
            lowest, best = cost, len(found)
    return found[:best]


def join_pairs(
    bound: BoundQuery,
    order: Sequence[int],
    node_count: Callable[[int], int],
    growth: Callable[[int, int], float],
    weighed: Set[int] = frozenset(),
    *,
    counts_last: bool = False,
) -> float:
    """Pairs that are tested, and rows that are made, where some of the nodes are weighed.

    Args: as of `choose_weighed`.
    """
    choice = _Choice(bound, lambda _a, _b: False, order, node_count, growth)
    return choice.cost(weighed, counts_last=counts_last)


def expected_rows(
    bound: BoundQuery,
    order: Sequence[int],
    node_count: Callable[[int], int],
    growth: Callable[[int, int], float],
    comparisons: Sequence[Comparison] = (),
) -> list[float]:
    """Rows after each node of the order. Args: as of `choose_weighed`."""
    choice = _Choice(bound, lambda _a, _b: False, order, node_count, growth)
    nodes = [each for each in comparisons if each.left.is_node and each.right.is_node]
    rows, found, reached = 1.0, list[float](), set[int]()
    for node in order:
        rows *= choice.added(node, reached)[1]
        reached.add(node)
        for each in nodes:
            ends = {each.left.position, each.right.position}
            rows *= each.selectivity if node in ends and ends <= reached else 1.0
        found.append(rows)
    return found


class _Choice:
    def __init__(
        self,
        bound: BoundQuery,
        clash: Callable[[int, int], bool],
        order: Sequence[int],
        node_count: Callable[[int], int],
        growth: Callable[[int, int], float],
    ) -> None:
        self._clash = clash
        self._order = order
        self._count = node_count
        self._growth = growth
        self._node_tests = [test for test in bound.tests if test.on_nodes]
        places = {node: place for place, node in enumerate(order)}
        self._around: dict[int, list[BoundRelationship]] = {node: [] for node in order}
        for each in bound.relationships:
            if each.source in places and each.target in places and each.source != each.target:
                self._around[each.source].append(each)
                self._around[each.target].append(each)
        self._parts = self._part_count(set(order))

    def may_join(self, chosen: Sequence[WeighedNodes], group: WeighedNodes) -> bool:
        """May it be weighed together with those?"""
        others = {node for each in chosen for node in each}
        mine = set(group)
        if any(each.other_end(node) in others for node in mine for each in self._around[node]):
            return False
        if any({test.left, test.right} <= others | mine for test in self._node_tests):
            return False
        if any(
            self._clash(a.position, b.position)
            for node, other in product(mine, others)
            for a, b in product(self._around[node], self._around[other])
        ):
            return False
        return self._part_count(set(self._order) - others - mine) == self._parts

    def cost(self, weighed: Set[int], *, counts_last: bool) -> float:
        """Pairs that are tested, and rows that are made, of the order without these nodes.

        ``counts_last``: No rows of the last node are made.
        """
        rows, cost = 1.0, 0.0
        reached: set[int] = set()
        waiting = set(weighed)
        core = [node for node in self._order if node not in weighed]
        for node in core:
            pairs, factor = self.added(node, reached)
            is_made = node != core[-1] or not counts_last
            cost += rows * (pairs + (_COST_OF_ROW * factor if is_made else 0.0))
            rows *= factor
            reached.add(node)
            ready = {
                each
                for each in waiting
                if all(link.other_end(each) in reached for link in self._around[each])
            }
            for each in ready:
                pairs, factor = self._step(each, self._around[each])
                cost += rows * pairs
                rows *= min(1.0, factor)
                cost += rows * _COST_OF_ROW
            waiting -= ready
        return cost

    def added(self, node: int, reached: Set[int]) -> tuple[float, float]:
        """Pairs, and rows, per row where this node is added to those."""
        return self._step(
            node, [each for each in self._around[node] if each.other_end(node) in reached]
        )

    def _step(self, node: int, around: Sequence[BoundRelationship]) -> tuple[float, float]:
        """Pairs, and rows, per row."""
        count = max(self._count(node), 1)
        if not around:
            return 0.0, float(count)
        growths = [self._growth(each.position, each.other_end(node)) for each in around]
        factor, exponent = float(count), 1.0
        for growth in sorted(growths):
            # Neighbours of neighbours are neighbours more often than chance would have it.
            factor *= min(growth / count, 1.0) ** exponent
            exponent *= _EACH_FURTHER
        return min(growths), factor

    def _part_count(self, nodes: Set[int]) -> int:
        """In how many connected parts the nodes are."""
        left, parts = set(nodes), 0
        while left:
            parts += 1
            found = [left.pop()]
            while found:
                node = found.pop()
                near = {each.other_end(node) for each in self._around[node]} & left
                left -= near
                found += near
        return parts


def without_tests(
    tests: Sequence[RowTest], chosen: Sequence[WeighedNodes], bound: BoundQuery
) -> tuple[RowTest, ...]:
    """The tests but for those between chosen nodes, which never fail or are counted."""
    owner: list[int | None] = [None] * len(bound.relationships)
    for node in (node for group in chosen for node in group):
        for each in bound.relationships:
            if node in (each.source, each.target):
                owner[each.position] = node
    like = {node for group in chosen for node in group[1:]}

    def is_kept(test: RowTest) -> bool:
        if test.on_nodes:
            return True
        left, right = owner[test.left], owner[test.right]
        if left in like or right in like:
            return False
        return left is None or right is None or left == right

    return tuple(test for test in tests if is_kept(test))
