"""One MATCH clause by backtracking: patterns from left to right, one relationship at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.reference.values import has_labels, variables_of
from gpugda.values import Entity

if TYPE_CHECKING:
    from gpugda.reference.values import Evaluator

__all__ = ["ClauseMatcher", "Row"]

Name = str | tuple[int, int]
"""A variable's name, or the place (pattern, element) of an element without one."""

Row = Mapping[Any, Entity]
"""What is bound so far, by ``Name``; between clauses by variable only."""


@dataclass(frozen=True, slots=True)
class _Step:
    """Bind a node: the first of a pattern, or the one that a relationship leads to."""

    node: ast.NodePattern
    name: Name
    relationship: ast.RelationshipPattern | None = None
    relationship_name: Name = ""
    from_name: Name = ""


@dataclass(frozen=True, slots=True)
class _Test:
    """An inline property or WHERE, and the variables that must be bound before it can be asked."""

    needs: frozenset[Name]
    passes: Callable[[Row], bool]


class ClauseMatcher:
    """All ways to match a clause, given what earlier clauses bound.

    Args:
        clause: The MATCH.
        evaluator: Values of expressions.
        bound: Variables that earlier clauses bound.

    Attributes:
        names: Variables that the clause names.
    """

    def __init__(self, clause: ast.Match, evaluator: Evaluator, bound: frozenset[str]) -> None:
        self._evaluator = evaluator
        self._where = clause.where
        self._steps: list[_Step] = []
        self._tests: list[_Test] = []
        for number, pattern in enumerate(clause.patterns):
            self._read(pattern, number, evaluator.text)
        names = {name for step in self._steps for name in (step.name, step.relationship_name)}
        self.names = frozenset(name for name in names if isinstance(name, str) and name)
        self._tests_after = self._place_tests(bound)

    def matches(self, row: Row, check_time: Callable[[], None]) -> Iterator[Row]:
        """The row with the clause's variables added, once per match."""
        kept = self.names | row.keys()

        def extend(position: int, bound: Row, used: frozenset[int]) -> Iterator[Row]:
            check_time()
            if position == len(self._steps):
                yield bound
                return
            for longer, used_now in self._candidates(self._steps[position], bound, used):
                if all(test.passes(longer) for test in self._tests_after[position]):
                    yield from extend(position + 1, longer, used_now)

        for found in extend(0, row, frozenset()):
            if self._where is None or self._evaluator.holds(self._where, found):
                yield {name: entity for name, entity in found.items() if name in kept}

    def _candidates(
        self, step: _Step, bound: Row, used: frozenset[int]
    ) -> Iterator[tuple[Row, frozenset[int]]]:
        if step.relationship is None:
            for node in self._start_nodes(step, bound):
                yield {**bound, step.name: node}, used
            return
        graph = self._evaluator.graph
        node_before = bound[step.from_name].index
        for number, end in graph.steps(node_before, step.relationship.direction):
            # No relationship twice within the clause, whatever the variables: `used` begins empty.
            if number in used or not has_labels((graph.types[number],), step.relationship.types):
                continue
            found = {step.relationship_name: Entity(False, number), step.name: Entity(True, end)}
            agrees = all(bound.get(name, entity) == entity for name, entity in found.items())
            if agrees and has_labels(graph.labels[end], step.node.labels):
                yield {**bound, **found}, used | {number}

    def _start_nodes(self, step: _Step, bound: Row) -> Iterator[Entity]:
        labels = self._evaluator.graph.labels
        before = bound.get(step.name)
        for node in range(len(labels)) if before is None else [before.index]:
            if has_labels(labels[node], step.node.labels):
                yield Entity(True, node)

    def _read(self, pattern: ast.Pattern, number: int, text: str) -> None:
        before: Name = ""
        relationship: ast.RelationshipPattern | None = None
        relationship_name: Name = ""
        for place, element in enumerate(pattern.elements):
            if isinstance(element, ast.GroupPattern) or pattern.selector or pattern.variable:
                raise UnsupportedQueryError(
                    "only plain patterns are answered here", text, element.span
                )
            name: Name = element.variable.name if element.variable else (number, place)
            self._tests.extend(self._inline_tests(element, name))
            if isinstance(element, ast.RelationshipPattern):
                relationship, relationship_name = element, name
                continue
            self._steps.append(_Step(element, name, relationship, relationship_name, before))
            before = name

    def _inline_tests(
        self, element: ast.NodePattern | ast.RelationshipPattern, name: Name
    ) -> Iterator[_Test]:
        evaluator, where, properties = self._evaluator, element.where, element.properties
        if isinstance(properties, ast.Parameter):
            raise UnsupportedQueryError(
                "a parameter for all properties is not answered here",
                evaluator.text,
                properties.span,
            )
        for key, wanted in properties.entries if properties else ():

            def equal(row: Row, key: str = key, wanted: ast.Expression = wanted) -> bool:
                own = evaluator.graph.property(row[name], key)
                return values.equals(own, evaluator.value(wanted, row)) is True

            yield _Test(variables_of(wanted) | {name}, equal)
        if where is not None:
            yield _Test(variables_of(where) | {name}, lambda row: evaluator.holds(where, row))

    def _place_tests(self, bound: frozenset[str]) -> list[list[_Test]]:
        # Each test goes to the first step after which all that it needs is bound.
        waiting, known, placed = self._tests, set[Name](bound), list[list[_Test]]()
        for step in self._steps:
            known |= {step.name, step.relationship_name}
            placed.append([test for test in waiting if test.needs <= known])
            waiting = [test for test in waiting if not test.needs <= known]
        return placed
