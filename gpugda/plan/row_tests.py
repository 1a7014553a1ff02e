"""The tests that rows must pass, in the form that needs the fewest relationship columns."""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import combinations
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from gpugda.deadline import check_time
from gpugda.plan.comparisons import never_same
from gpugda.plan.plan import LabelOp
from gpugda.plan.variables import Variable, node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = [
    "PossibleOverlaps",
    "VariableTest",
    "all_type_ids",
    "is_single",
    "max_in_both_directions",
    "max_parallel",
    "max_parallel_of_all",
    "not_both_equal",
    "type_ids",
    "variable_tests",
]


_Pair = tuple[int, int]


class VariableTest(NamedTuple):
    """Two variables must be equal, or must differ; a second pair weakens it to "not both equal".

    All variables are nodes, or all are relationships.
    """

    left: Variable
    right: Variable
    equal: bool
    second: tuple[Variable, Variable] | None = None

    def variables(self) -> tuple[Variable, ...]:
        """The variables that must be bound before the test."""
        pair = self.left, self.right
        return pair if self.second is None else pair + self.second


def all_type_ids(
    relationships: Sequence[BoundRelationship], graph: DataGraph
) -> list[frozenset[int]]:
    """The type ids that each query relationship allows."""
    count = len(graph.types)
    return [_type_ids(each.types, count) for each in relationships]


def type_ids(each: BoundRelationship, graph: DataGraph) -> frozenset[int]:
    """The type ids that a query relationship allows."""
    return _type_ids(each.types, len(graph.types))


@lru_cache(maxsize=256)
def _type_ids(types: tuple[int, ...] | None, count: int) -> frozenset[int]:
    return frozenset(range(count) if types is None else types)


def max_parallel(each: BoundRelationship, graph: DataGraph) -> int:
    """Maximum number of data relationships that fit between two given nodes."""
    return graph.max_between(each.types, directed=each.directed)


def max_in_both_directions(relationships: Iterable[BoundRelationship], graph: DataGraph) -> int:
    """Maximum number between two nodes, in both directions, of any type that these allow."""
    kinds = frozenset[int]().union(*(type_ids(each, graph) for each in relationships))
    of_any = len(kinds) == len(graph.types)
    return graph.max_between(None if of_any else tuple(sorted(kinds)), directed=False)


def max_parallel_of_all(relationships: Sequence[BoundRelationship], graph: DataGraph) -> list[int]:
    """`max_parallel` of each relationship; most of them share the result."""
    for directed in (True, False):
        # All types at once: counting one of them takes as long in a large graph.
        kinds = [each.types for each in relationships if each.directed == directed and each.types]
        graph.parallel_counts_of(frozenset[int]().union(*kinds), directed=directed)
    found: dict[tuple[tuple[int, ...] | None, bool], int] = {}
    for each in relationships:
        kind = each.types, each.directed
        if kind not in found:
            found[kind] = max_parallel(each, graph)
    return [found[each.types, each.directed] for each in relationships]


def is_single(each: BoundRelationship, graph: DataGraph) -> bool:
    """True if at most one data relationship fits between two given nodes."""
    return max_parallel(each, graph) == 1


_CHECK_MASK = 63
"""Mask: the deadline is checked every 64 tests."""


def variable_tests(
    bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
) -> list[VariableTest]:
    """The tests of a query, without those that always hold on this graph.

    If two query relationships allow the same type, which has no parallel relationships, they are
    bound to the same data relationship exactly if both their ends are equal. Then the test compares
    nodes, so the relationships need no columns and the test can run before they are joined.
    """
    tests: list[VariableTest] = []
    overlaps = PossibleOverlaps(bound, graph, comparisons)
    maybe_same, relationships = overlaps.maybe_same, bound.relationships
    for number, (on_nodes, left, right, equal) in enumerate(bound.tests):
        if not number & _CHECK_MASK:
            check_time()
        if on_nodes or equal or left == right:
            tests.append(VariableTest(Variable(on_nodes, left), Variable(on_nodes, right), equal))
        elif maybe_same[left] >> right & 1:
            a, b = relationships[left], relationships[right]
            alignments = overlaps.alignments(a, b)
            if alignments and overlaps.ends_determine(a, b):
                for first, second in alignments:
                    tests.append(not_both_equal(first, second))
            elif alignments:
                variables = relationship_variable(left), relationship_variable(right)
                tests.append(VariableTest(*variables, False))
    return tests


def not_both_equal(first: _Pair, second: _Pair) -> VariableTest:
    """A test that two pairs of query nodes are not both bound to equal data nodes.

    At least one pair must differ.
    """
    if first[0] == first[1]:
        first, second = second, first
    left, right = node_variable(first[0]), node_variable(first[1])
    if second[0] == second[1]:
        return VariableTest(left, right, False)  # the second pair is always equal
    others = node_variable(second[0]), node_variable(second[1])
    return VariableTest(left, right, False, others)


# ------------------------------------------------------------------ possible overlaps
class PossibleOverlaps:
    """Which query relationships could be bound to the same data relationship, if it were allowed.

    Two cannot if that would bind query nodes to the same data node that must differ, or that have
    labels which no data node combines, or that a relationship of a type without loops connects.
    Comparisons may also exclude that two nodes are the same.

    Attributes:
        maybe_same: Per query relationship, a bitmap of those that pass a quick check of their ends.
    """

    def __init__(
        self, bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
    ) -> None:
        loops = graph.statistics.loop_counts
        self._types = all_type_ids(bound.relationships, graph)
        # Per query node, a bitmap of the nodes that it must differ from.
        self._differ = _differently_labelled(bound, graph)
        for test in [each for each in bound.tests if each[0]]:  # few tests are on nodes
            if not test.equal:
                self._require_different(test.left, test.right)
        loopless = {types for types in set(self._types) if not any([loops[kind] for kind in types])}
        for each, types in zip(bound.relationships, self._types, strict=True):
            if types in loopless:
                self._require_different(each.source, each.target)
        for nodes in never_same(comparisons):
            self._require_different(min(nodes), max(nodes))
        self._no_parallels = [most == 1 for most in max_parallel_of_all(bound.relationships, graph)]
        never = any(others >> node & 1 for node, others in enumerate(self._differ))
        self.maybe_same = (
            [0] * len(bound.relationships) if never else _maybe_same(bound, self._differ)
        )

    def _require_different(self, left: int, right: int) -> None:
        self._differ[left] |= 1 << right
        self._differ[right] |= 1 << left

    def can_coincide(self, a: BoundRelationship, b: BoundRelationship) -> bool:
        """True if the two could be bound to the same data relationship."""
        return bool(self.maybe_same[a.position] >> b.position & 1 and self.alignments(a, b))

    def alignments(self, a: BoundRelationship, b: BoundRelationship) -> list[tuple[_Pair, _Pair]]:
        """The pairs of query nodes that would be equal if the two were the same relationship.

        One entry for equal directions and, if one of them is undirected, one for opposite ones.
        """
        if self._types[a.position].isdisjoint(self._types[b.position]):
            return []
        alignments = []
        starts, ends = (a.source, b.source), (a.target, b.target)
        if self._can_be_same(starts, ends):
            alignments.append((starts, ends))
        if not (a.directed and b.directed):
            starts, ends = (a.source, b.target), (a.target, b.source)
            if self._can_be_same(starts, ends):
                alignments.append((starts, ends))
        return alignments

    def ends_determine(self, a: BoundRelationship, b: BoundRelationship) -> bool:
        """True if equal ends imply the same data relationship.

        False if one of them allows another type or direction, as then a second one may fit.
        """
        single = self._no_parallels[a.position] and self._no_parallels[b.position]
        return single and self._types[a.position] == self._types[b.position]

    def _can_be_same(self, first: _Pair, second: _Pair) -> bool:
        (a, b), (c, d), differ = first, second, self._differ
        if differ[a] >> b & 1 or differ[c] >> d & 1:
            return False
        if a in second or b in second:
            together = 1 << a | 1 << b | 1 << c | 1 << d
            return not (differ[a] | differ[b] | differ[c] | differ[d]) & together
        return True


def _maybe_same(bound: BoundQuery, differ: Sequence[int]) -> list[int]:
    """Per query relationship, a bitmap of those whose ends need not differ from its own ends."""
    starting, ending = [0] * len(differ), [0] * len(differ)
    undirected = 0
    for each in bound.relationships:
        starting[each.source] |= 1 << each.position
        ending[each.target] |= 1 << each.position
        undirected |= 0 if each.directed else 1 << each.position
    # Grouped: nodes with the same label differ from the same other nodes.
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for others in set(differ):
        alike = [node for node in range(len(differ)) if not others >> node & 1]
        starts[others] = reduce(or_, [starting[node] for node in alike], 0)
        ends[others] = reduce(or_, [ending[node] for node in alike], 0)
    return [
        (starts[one] & ends[other])
        | (ends[one] & starts[other] & (undirected if each.directed else -1))
        for each in bound.relationships
        for one, other in ((differ[each.source], differ[each.target]),)
    ]


def _differently_labelled(bound: BoundQuery, graph: DataGraph) -> list[int]:
    """Per query node with one label, a bitmap of nodes whose label never occurs with its own."""
    labels = [
        node.labels[0][1] if len(node.labels) == 1 and node.labels[0][0] is LabelOp.LABEL else None
        for node in bound.nodes
    ]
    nodes_of: dict[int, int] = {}
    for position, label in enumerate(labels):
        if label is not None:
            nodes_of[label] = nodes_of.get(label, 0) | 1 << position
    apart = dict.fromkeys(nodes_of, 0)
    for one, other in combinations(sorted(nodes_of), 2):
        if graph.labels_disjoint(one, other):
            apart[one] |= nodes_of[other]
            apart[other] |= nodes_of[one]
    return [0 if label is None else apart[label] for label in labels]
