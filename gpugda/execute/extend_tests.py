"""Which tests rows must pass, in the form that needs the fewest relationship columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.execute.comparisons import never_same
from gpugda.execute.gpsm_steps import Variable
from gpugda.plan.plan import LabelOp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["Meetings", "VariableTest", "is_single", "most_parallel", "type_ids", "variable_tests"]


@dataclass(frozen=True, slots=True)
class VariableTest:
    """Two variables must be equal or differ; with a second pair, not both pairs may be equal."""

    left: Variable
    right: Variable
    equal: bool
    second: tuple[Variable, Variable] | None = None

    def variables(self) -> set[Variable]:
        """What must be known."""
        return {self.left, self.right, *(self.second or ())}


def type_ids(each: BoundRelationship, graph: DataGraph) -> frozenset[int]:
    """Types that a query relationship allows."""
    return frozenset(range(len(graph.types)) if each.types is None else each.types)


def most_parallel(each: BoundRelationship, graph: DataGraph) -> int:
    """How many relationships, at most, fit between two given nodes."""
    counts = graph.parallel_counts()
    return sum(counts[kind] for kind in type_ids(each, graph)) * (1 if each.directed else 2)


def is_single(each: BoundRelationship, graph: DataGraph) -> bool:
    """Does at most one relationship fit between two given nodes, and is it found by one search?"""
    return most_parallel(each, graph) == 1


def variable_tests(
    bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
) -> list[VariableTest]:
    """The tests of a query, without those that always hold on this graph.

    Two different query relationships of one type without parallel relationships are the same
    data relationship exactly where both their ends are: so their nodes are compared, and they
    need not be known themselves, nor joined yet: whatever else comes, they would be the same.
    """
    tests: list[VariableTest] = []
    meetings = Meetings(bound, graph, comparisons)
    for test in bound.tests:
        if test.on_nodes or test.equal or test.left == test.right:
            tests.append(_test(test))
        else:
            a, b = bound.relationships[test.left], bound.relationships[test.right]
            if meetings.can_meet(a, b):
                tests.append(meetings.apart(a, b) or _test(test))
    return tests


def _test(test: RowTest) -> VariableTest:
    return VariableTest(
        Variable(test.on_nodes, test.left), Variable(test.on_nodes, test.right), test.equal
    )


# ------------------------------------------------------------------ can they be the same at all?
class Meetings:
    """Which query relationships of a query could be the same data relationship, were it allowed?

    Not if a query node of the one then was the same data node as one that it must differ from, or
    that has a label which is on no node with its own, or that it has a relationship to, of a type
    without loops in the graph. What is compared may also say that two nodes are never the same.
    """

    def __init__(
        self, bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
    ) -> None:
        loops = graph.statistics.loop_counts
        self._types = [type_ids(each, graph) for each in bound.relationships]
        self._differ = {
            frozenset((test.left, test.right))
            for test in bound.tests
            if test.on_nodes and not test.equal
        }
        self._differ |= {
            frozenset((each.source, each.target))
            for each, types in zip(bound.relationships, self._types, strict=True)
            if not any(loops[kind] for kind in types)
        }
        self._differ |= set(_differently_labelled(bound, graph))
        self._differ |= set(never_same(comparisons))
        self._single = [is_single(each, graph) for each in bound.relationships]
        self._never = any(len(nodes) == 1 for nodes in self._differ)

    def can_meet(self, a: BoundRelationship, b: BoundRelationship) -> bool:
        """Could these two?"""
        if self._never or self._types[a.position].isdisjoint(self._types[b.position]):
            return False
        if self._may_be_same((a.source, b.source), (a.target, b.target)):
            return True
        both_directed = a.directed and b.directed
        return not both_directed and self._may_be_same((a.source, b.target), (a.target, b.source))

    def apart(self, a: BoundRelationship, b: BoundRelationship) -> VariableTest | None:
        """What says by their nodes that they differ; None where nodes do not decide that."""
        if not (self._single[a.position] and self._single[b.position]):
            return None
        pairs = [
            (Variable(True, left), Variable(True, right))
            for left, right in ((a.source, b.source), (a.target, b.target))
            if left != right
        ]
        if not pairs:  # between the same two nodes: never apart
            pairs = [(Variable(True, a.source), Variable(True, a.source))]
        second = pairs[1] if len(pairs) == 2 else None
        return VariableTest(*pairs[0], False, second)

    def _may_be_same(self, first: tuple[int, int], second: tuple[int, int]) -> bool:
        groups = [set(first), set(second)]
        if not groups[0].isdisjoint(groups[1]):
            groups = [groups[0] | groups[1]]
        return not any(
            frozenset(pair) in self._differ for group in groups for pair in combinations(group, 2)
        )


def _differently_labelled(bound: BoundQuery, graph: DataGraph) -> Iterator[frozenset[int]]:
    """Pairs of query nodes with one label each, which no data node has both."""
    labels = {
        node.position: node.labels[0][1]
        for node in bound.nodes
        if len(node.labels) == 1 and node.labels[0][0] is LabelOp.LABEL
    }
    for (node, label), (other, other_label) in combinations(labels.items(), 2):
        if label != other_label and graph.labels_apart(*sorted((label, other_label))):
            yield frozenset((node, other))
