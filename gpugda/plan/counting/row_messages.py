"""Row messages: which nodes a step counts per row instead of binding them.

Query nodes without relationships between them are independent. For a row of all other nodes, the
core, the matches of such a node are an intersection of lists that need not be materialised, and the
counts multiply. The core has far fewer rows than there are embeddings, as in counting by a vertex
cover. Relationships of a clause must differ, though, so two such nodes may not be able to take the
same one. ``k`` interchangeable nodes, with the same relationships to the same nodes, take the same
relationships exactly if they are the same data node: they have the falling factorial with ``k``
factors.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING

from gpugda.plan.cardinality import max_list_length
from gpugda.plan.counting.count_plan import RowMessage
from gpugda.plan.join.join_cost import links_among
from gpugda.plan.join.join_order import connected_components
from gpugda.plan.row_tests import is_single, max_parallel, type_ids
from gpugda.thresholds import MAX_LINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.counting.count_plan import Eliminate, InterchangeableNodes
    from gpugda.plan.counting.degree_messages import Eliminable
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["Countable", "Independence", "max_matches", "with_rows"]

_MATCH_LIMIT = 1 << 32


class Countable:
    """Finds query nodes that can be counted per row.

    Args:
        found: The pattern with its leaves eliminated.
        graph: The data graph, which knows the number of parallel relationships.
        masks: The evaluated predicates.
    """

    def __init__(self, found: Eliminable, graph: DataGraph, masks: Masks) -> None:
        bound = self._bound = found.plan.core
        self._graph = graph
        self._masks = masks
        self._clash = found.clash
        self._around: dict[int, list[BoundRelationship]] = defaultdict(list)
        for each in bound.relationships:
            for node in {each.source, each.target}:
                self._around[node].append(each)
        groups = found.plan.groups
        self._leaf_ends = found.plan.leaves.union(group.anchor for group in groups)
        self._taken = {each for group in groups for each in group.taken}
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

    def groups(self) -> list[InterchangeableNodes]:
        """Groups that can be counted per row, each by itself; combinations need `Independence`."""
        alike: dict[object, list[int]] = {}
        for node in range(len(self._bound.nodes)):
            if self._fits(node):
                alike.setdefault(self._key(node), []).append(node)
        groups: list[InterchangeableNodes] = []
        for nodes in alike.values():
            groups += (
                [tuple(nodes)] if self._are_interchangeable(nodes) else [(node,) for node in nodes]
            )
        return groups

    def _fits(self, node: int) -> bool:
        around = self._around[node]
        return (
            0 < len(around) <= MAX_LINKS
            and node not in self._leaf_ends
            and node not in self._compared
            and not any(
                each.source == each.target
                or each.position in self._taken
                or each.position in self._equated
                for each in around
            )
            and max_matches(self._bound, self._graph, node) < _MATCH_LIMIT
        )

    def _key(self, node: int) -> object:
        """Equal for nodes that may be interchangeable."""
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

    def _are_interchangeable(self, nodes: Sequence[int]) -> bool:
        """True if their relationships clash exactly if the nodes are the same data node."""
        return all(
            self._clash(a.position, b.position) == (a.other_end(one) == b.other_end(other))
            for one, other in combinations(nodes, 2)
            for a, b in product(self._around[one], self._around[other])
        )


def max_matches(bound: BoundQuery, graph: DataGraph, node: int) -> int:
    """Upper bound, per row, on the data nodes and relationships that fit a query node."""
    around = [each for each in bound.relationships if node in (each.source, each.target)]
    parallel = 1
    for each in around:
        parallel *= max_parallel(each, graph)
    shortest = min(_longest_list(each, each.other_end(node), graph) for each in around)
    return parallel * shortest


def _longest_list(each: BoundRelationship, end: int, graph: DataGraph) -> int:
    """Upper bound on the length of a list of fitting relationships at one end."""
    starts = each.source == end
    return max_list_length(
        graph,
        each.types,
        outgoing=starts or not each.directed,
        incoming=not starts or not each.directed,
    )


# ------------------------------------------------------------------ choice of nodes
class Independence:
    """Decides which nodes can be counted per row together.

    Args:
        bound: The pattern.
        nodes: The nodes that are joined otherwise.
        clash: True for two query relationships that must differ and could otherwise be the same.
    """

    def __init__(
        self, bound: BoundQuery, nodes: Sequence[int], clash: Callable[[int, int], bool]
    ) -> None:
        self._clash = clash
        self._nodes = frozenset(nodes)
        self._tests = [test for test in bound.tests if test.on_nodes]
        self._around = links_among(bound, nodes)
        self._links = {(each.source, each.target) for each in bound.relationships}
        self._components = self._count_components(self._nodes)

    def choose(
        self,
        groups: Iterable[InterchangeableNodes],
        cost: Callable[[Set[int]], float],
        lowest: float,
        doubt: float,
    ) -> list[InterchangeableNodes]:
        """Greedy choice: adds groups in the order of their single costs, keeps the cheapest prefix.

        Args:
            groups: Groups from `Countable`.
            cost: Cost of the join if some nodes are counted per row.
            lowest: Cost of the join if no node is.
            doubt: Factor of the cost limit for the first set, as estimates are uncertain.
        """
        alone = [group for group in groups if self.may_add((), group)]
        found: list[InterchangeableNodes] = []
        best = 0
        for group in sorted(alone, key=lambda each: cost(set(each))):
            if not self.may_add(found, group):
                continue
            found.append(group)
            new = cost({node for each in found for node in each})
            if new < lowest * (doubt if best == 0 else 1.0):
                lowest, best = new, len(found)
        return found[:best]

    def may_add(self, chosen: Sequence[InterchangeableNodes], group: InterchangeableNodes) -> bool:
        """True if a group can be added: the rest stays connected and nothing clashes."""
        others = {node for each in chosen for node in each}
        mine = set(group)
        if any(each.other_end(node) in others for node in mine for each in self._around[node]):
            return False
        if any({test.left, test.right} <= others | mine for test in self._tests):
            return False
        if any(
            self._clash(a.position, b.position)
            for node, other in product(mine, others)
            for a, b in product(self._around[node], self._around[other])
        ):
            return False
        return self._count_components(self._nodes - others - mine) == self._components

    def _count_components(self, nodes: Set[int]) -> int:
        place = {node: number for number, node in enumerate(nodes)}
        pairs = [(place[a], place[b]) for a, b in self._links if a in place and b in place]
        return len(connected_components(len(place), pairs))


def with_rows(plan: Eliminate, chosen: Sequence[InterchangeableNodes]) -> Eliminate:
    """The plan with these nodes counted per row."""
    core = replace(plan.core, tests=_without_tests(plan.core, chosen))
    return replace(plan, core=core, messages=(*plan.messages, *map(RowMessage, chosen)))


def _without_tests(
    bound: BoundQuery, chosen: Sequence[InterchangeableNodes]
) -> tuple[RowTest, ...]:
    """The tests without those between chosen nodes, which never fail or are counted."""
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

    return tuple(test for test in bound.tests if is_kept(test))
