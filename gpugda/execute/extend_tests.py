"""Which tests rows must pass, in the form that needs the fewest relationship columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
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

    def variables(self) -> tuple[Variable, ...]:
        """What must be known."""
        return self.left, self.right, *(self.second or ())


def type_ids(each: BoundRelationship, graph: DataGraph) -> frozenset[int]:
    """Types that a query relationship allows."""
    return _type_ids(each.types, len(graph.types))


@lru_cache(maxsize=256)
def _type_ids(types: tuple[int, ...] | None, count: int) -> frozenset[int]:
    return frozenset(range(count) if types is None else types)


def most_parallel(each: BoundRelationship, graph: DataGraph) -> int:
    """How many relationships, at most, fit between two given nodes."""
    counts = graph.parallel_counts() if each.directed else graph.either_way_counts()
    return sum(counts[kind] for kind in type_ids(each, graph))


def is_single(each: BoundRelationship, graph: DataGraph) -> bool:
    """Does at most one relationship fit between two given nodes?"""
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
        elif meetings.near[test.left] >> test.right & 1:
            a, b = bound.relationships[test.left], bound.relationships[test.right]
            if meetings.can_meet(a, b):
                tests.extend(meetings.apart(a, b) or (_test(test),))
    return tests


def _test(test: RowTest) -> VariableTest:
    return VariableTest(
        Variable(test.on_nodes, test.left), Variable(test.on_nodes, test.right), test.equal
    )


def _not_both(*pairs: tuple[int, int]) -> VariableTest:
    """Not all of these query nodes are pair by pair the same data node."""
    first, *others = [
        (Variable(True, left), Variable(True, right)) for left, right in pairs if left != right
    ] or [(Variable(True, pairs[0][0]), Variable(True, pairs[0][0]))]  # never apart
    return VariableTest(*first, False, others[0] if others else None)


# ------------------------------------------------------------------ can they be the same at all?
class Meetings:
    """Which query relationships of a query could be the same data relationship, were it allowed?

    Not if a query node of the one then was the same data node as one that it must differ from, or
    that has a label which is on no node with its own, or that it has a relationship to, of a type
    without loops in the graph. What is compared may also say that two nodes are never the same.

    Attributes:
        near: Of each query relationship, a bit for each one that it may meet, at first sight.
    """

    def __init__(
        self, bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
    ) -> None:
        loops = graph.statistics.loop_counts
        self._types = [type_ids(each, graph) for each in bound.relationships]
        pairs = [(test.left, test.right) for test in bound.tests if _differing_nodes(test)]
        pairs += [
            (each.source, each.target)
            for each, types in zip(bound.relationships, self._types, strict=True)
            if not any(loops[kind] for kind in types)
        ]
        pairs += _differently_labelled(bound, graph)
        pairs += [(min(each), max(each)) for each in never_same(comparisons)]
        # Of each query node, a bit for each that it must differ from.
        self._differ = [0] * len(bound.nodes)
        for left, right in pairs:
            self._differ[left] |= 1 << right
            self._differ[right] |= 1 << left
        self._single = [is_single(each, graph) for each in bound.relationships]
        never = any(left == right for left, right in pairs)
        self.near = [0] * len(bound.relationships) if never else _near(bound, self._differ)

    def can_meet(self, a: BoundRelationship, b: BoundRelationship) -> bool:
        """Could these two?"""
        if not self.near[a.position] >> b.position & 1:
            return False
        if self._types[a.position].isdisjoint(self._types[b.position]):
            return False
        if self._may_be_same((a.source, b.source), (a.target, b.target)):
            return True
        both_directed = a.directed and b.directed
        return not both_directed and self._may_be_same((a.source, b.target), (a.target, b.source))

    def apart(self, a: BoundRelationship, b: BoundRelationship) -> list[VariableTest]:
        """What says by their nodes that they differ; nothing where nodes do not decide that."""
        if not (self._single[a.position] and self._single[b.position]):
            return []
        turns = [((a.source, b.source), (a.target, b.target))]
        if not (a.directed and b.directed):
            turns.append(((a.source, b.target), (a.target, b.source)))
        return [_not_both(*pairs) for pairs in turns if self._may_be_same(*pairs)]

    def _may_be_same(self, first: tuple[int, int], second: tuple[int, int]) -> bool:
        (a, b), (c, d), differ = first, second, self._differ
        if differ[a] >> b & 1 or differ[c] >> d & 1:
            return False
        if a in second or b in second:
            together = 1 << a | 1 << b | 1 << c | 1 << d
            return not any(differ[each] & together for each in (a, b, c, d))
        return True


def _near(bound: BoundQuery, differ: Sequence[int]) -> list[int]:
    """Of each query relationship, a bit for each other one none of whose ends must be elsewhere."""
    starting, ending = [0] * len(differ), [0] * len(differ)
    undirected = 0
    for each in bound.relationships:
        starting[each.source] |= 1 << each.position
        ending[each.target] |= 1 << each.position
        undirected |= 0 if each.directed else 1 << each.position
    starts, ends = [0] * len(differ), [0] * len(differ)
    for node, others in enumerate(differ):
        for other in range(len(differ)):
            if not others >> other & 1:
                starts[node] |= starting[other]
                ends[node] |= ending[other]
    return [
        (starts[each.source] & ends[each.target])
        | (ends[each.source] & starts[each.target] & (undirected if each.directed else -1))
        for each in bound.relationships
    ]


def _differing_nodes(test: RowTest) -> bool:
    return test.on_nodes and not test.equal


def _differently_labelled(bound: BoundQuery, graph: DataGraph) -> Iterator[tuple[int, int]]:
    """Pairs of query nodes with one label each, which no data node has both."""
    labels = {
        node.position: node.labels[0][1]
        for node in bound.nodes
        if len(node.labels) == 1 and node.labels[0][0] is LabelOp.LABEL
    }
    apart = {
        pair for pair in combinations(sorted(set(labels.values())), 2) if graph.labels_apart(*pair)
    }
    for (node, label), (other, other_label) in combinations(labels.items(), 2):
        if (label, other_label) in apart or (other_label, label) in apart:
            yield node, other
