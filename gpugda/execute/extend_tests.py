"""Which tests rows must pass, in the form that needs the fewest relationship columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.execute.gpsm_steps import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["VariableTest", "can_meet", "is_single", "most_parallel", "type_ids", "variable_tests"]


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


def variable_tests(bound: BoundQuery, graph: DataGraph) -> list[VariableTest]:
    """The tests of a query, without those that always hold on this graph.

    Two different query relationships of one type without parallel relationships are the same
    data relationship exactly where both their ends are: so their nodes are compared, and they
    need not be known themselves, nor joined yet: whatever else comes, they would be the same.
    """
    tests: list[VariableTest] = []
    for test in bound.tests:
        if test.on_nodes or test.equal or test.left == test.right:
            tests.append(_test(test))
        else:
            a, b = bound.relationships[test.left], bound.relationships[test.right]
            if can_meet(bound, graph, a, b):
                tests.append(_apart(a, b, graph) or _test(test))
    return tests


def _test(test: RowTest) -> VariableTest:
    return VariableTest(
        Variable(test.on_nodes, test.left), Variable(test.on_nodes, test.right), test.equal
    )


def _apart(a: BoundRelationship, b: BoundRelationship, graph: DataGraph) -> VariableTest | None:
    if not (is_single(a, graph) and is_single(b, graph)):
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


# ------------------------------------------------------------------ can they be the same at all?
def can_meet(
    bound: BoundQuery, graph: DataGraph, a: BoundRelationship, b: BoundRelationship
) -> bool:
    """Could two query relationships be the same data relationship, were it allowed?"""
    if type_ids(a, graph).isdisjoint(type_ids(b, graph)):
        return False
    ways = [((a.source, b.source), (a.target, b.target))]
    if not (a.directed and b.directed):
        ways.append(((a.source, b.target), (a.target, b.source)))
    return any(_is_possible(bound, graph, way) for way in ways)


def _is_possible(bound: BoundQuery, graph: DataGraph, same: Iterable[tuple[int, int]]) -> bool:
    """Could these query nodes be the same data nodes? Not if a relationship became a loop."""
    groups = _groups(len(bound.nodes), same)
    if any(
        test.on_nodes and not test.equal and groups[test.left] == groups[test.right]
        for test in bound.tests
    ):
        return False
    loops = graph.statistics.loop_counts
    return not any(
        groups[each.source] == groups[each.target]
        and not any(loops[kind] for kind in type_ids(each, graph))
        for each in bound.relationships
    )


def _groups(count: int, same: Iterable[tuple[int, int]]) -> list[int]:
    groups = list(range(count))
    for left, right in same:
        old, new = groups[left], groups[right]
        groups = [new if group == old else group for group in groups]
    return groups
