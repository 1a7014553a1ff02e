"""Matches one MATCH clause, or a pattern in an expression, by backtracking along its paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.query import ast
from gpugda.reference.backtracking import PartialMatch, Step, walk
from gpugda.reference.paths import (
    chosen,
    marked_path,
    node_step,
    path_begin,
    relationship_step,
    repeated,
    start_step,
    trail_step,
)
from gpugda.reference.trees import Row, parts_of, variables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda.reference.evaluator import Evaluator
    from gpugda.values import Entity

__all__ = ["PatternMatcher"]

Name = str | tuple[Any, ...]
"""The name of a variable, or a mark for an anonymous element."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition, and the clause's variables that must be bound before it is evaluated."""

    needs: frozenset[Name]
    passes: Callable[[Row], bool]


class PatternMatcher:
    """Finds all matches of some patterns, given bound variables.

    Args:
        patterns: The patterns of a clause, in which no relationship is used twice.
        evaluator: Evaluates expressions.
        bound: Variables that are already bound.
        where: The clause's condition, evaluated on full matches.
        repeats: True if relationships may be used again.

    Attributes:
        names: Variables that the patterns name.
    """

    def __init__(
        self,
        patterns: Sequence[ast.Pattern],
        evaluator: Evaluator,
        bound: frozenset[str],
        where: ast.Expression | None = None,
        *,
        repeats: bool = False,
    ) -> None:
        self._where, self._evaluator = where, evaluator
        self.names = frozenset(name for pattern in patterns for name in _declared(pattern))
        steps = _Steps(evaluator, bound, self.names, repeats=repeats)
        for pattern in patterns:
            steps.add(pattern)
        self._steps = steps.finished()

    def matches(self, row: Row) -> Iterator[Row]:
        """The row extended by the variables of the patterns, once per match."""
        for found in walk(self._steps, PartialMatch(row)):
            if self._where is None or self._evaluator.holds(self._where, found.row):
                yield {**row, **{name: found.row[name] for name in self.names}}


def _declared(pattern: ast.Pattern) -> Iterator[str]:
    """Variables that a pattern binds: of elements, groups and paths, not in conditions."""
    if pattern.variable is not None:
        yield pattern.variable.name
    for element in pattern.elements:
        if isinstance(element, ast.GroupPattern):
            yield from _declared(element.pattern)
        elif element.variable is not None:
            yield element.variable.name


class _Steps:
    """The steps of a clause, or of one repetition of a group."""

    def __init__(
        self, evaluator: Evaluator, bound: frozenset[str], names: frozenset[str], *, repeats: bool
    ) -> None:
        self.steps: list[Step] = []
        self._evaluator, self._names, self._repeats = evaluator, names, repeats
        self._known: set[Name] = set(bound)
        self._waiting: list[_Test] = []
        self._marks: dict[int, tuple[Name, ast.PatternElement]] = {}

    def finished(self) -> list[Step]:
        """The steps, with the remaining tests appended."""
        self.steps.extend(_asking(test) for test in self._waiting)
        self._waiting = []
        return self.steps

    # -------------------------------------------------------------- paths
    def add(self, pattern: ast.Pattern) -> None:
        """Adds a path, which starts at the end with a bound node if there is one."""
        selector = pattern.selector
        if selector is not None and selector.kind is not ast.SelectorKind.ALL:
            self._add_selected(pattern, selector)
            return
        flipped = self._is_better_flipped(pattern)
        elements = _flipped(pattern.elements) if flipped else pattern.elements
        self._take(path_begin)
        self._take(start_step(self._evaluator, self._name(elements[0])))
        self._add_elements(elements, flipped=flipped)
        if pattern.variable is not None:
            self._take(marked_path(pattern.variable.name, flipped=flipped), pattern.variable.name)

    def _is_better_flipped(self, pattern: ast.Pattern) -> bool:
        if any(isinstance(element, ast.GroupPattern) for element in pattern.elements):
            return False
        ends = [self._name(pattern.elements[place]) in self._known for place in (0, -1)]
        return ends == [False, True]

    def _add_selected(self, pattern: ast.Pattern, selector: ast.Selector) -> None:
        within = _Steps(self._evaluator, frozenset(), self._names, repeats=self._repeats)
        within._known = set(self._known)
        within.add(replace(pattern, selector=None))
        self._take(chosen(self._evaluator, selector, within.finished()), *_declared(pattern))

    def _add_elements(
        self, elements: Sequence[ast.PatternElement], *, flipped: bool = False
    ) -> None:
        for element in elements:
            if isinstance(element, ast.NodePattern):
                self._add_node(element)
            elif isinstance(element, ast.GroupPattern):
                self._add_group(element)
            elif element.quantifier is not None:
                self._add_group(_as_group(element, element.quantifier))
            else:
                self._add_relationship(element, flipped=flipped)

    def _add_node(self, element: ast.NodePattern) -> None:
        name = self._name(element)
        self._take(node_step(name))
        self._add_tests(element, element.labels, name)
        self._bind(name)

    def _add_relationship(self, element: ast.RelationshipPattern, *, flipped: bool) -> None:
        name = self._name(element)
        if element.length is None:
            step = relationship_step(
                self._evaluator, name, element.direction, repeats=self._repeats
            )
        else:
            step = trail_step(
                self._evaluator, name, element, flipped=flipped, repeats=self._repeats
            )
        self._take(step)
        self._add_tests(element, element.types, name)
        self._bind(name)

    # -------------------------------------------------------------- groups
    def _add_group(self, group: ast.GroupPattern) -> None:
        if group.pattern.selector is not None:
            raise self._evaluator.unsupported("a path selector inside a pattern", group)
        if group.quantifier is None:
            self._add_inline(group)
            return
        names = frozenset(_declared(group.pattern))
        within = _Steps(self._evaluator, frozenset(), names, repeats=self._repeats)
        within._add_inline(replace(group, quantifier=None))
        self._take(repeated(within.finished(), group.quantifier, names), *names)

    def _add_inline(self, group: ast.GroupPattern) -> None:
        mark = _new_mark()
        self._take(
            lambda found: iter((found.bound(row={**found.row, mark: len(found.nodes) - 1}),))
        )
        self._add_elements(group.pattern.elements)
        variable = group.pattern.variable
        if variable is not None:
            self._take(marked_path(variable.name, mark), variable.name)
        if group.where is not None:
            self._wait_for(group.where)

    # -------------------------------------------------------------- tests
    def _add_tests(
        self,
        element: ast.NodePattern | ast.RelationshipPattern,
        labels: ast.LabelExpression | None,
        name: Name,
    ) -> None:
        evaluator = self._evaluator
        if labels is not None:

            def fits(row: Row) -> bool:
                return all(evaluator.labels_fit(each, labels, row) for each in _entities(row[name]))

            read = frozenset[Name]()
            for part in parts_of(labels):
                if isinstance(part, ast.LabelDynamic):
                    read |= variables_of(part.expression) & self._names
            self._waiting.append(_Test(read | {name}, fits))
        if element.properties is not None:
            properties = element.properties
            needs = frozenset[Name](variables_of(properties) & self._names) | {name}
            self._waiting.append(
                _Test(needs, lambda row: _has_properties(evaluator, row, name, properties))
            )
        if element.where is not None:
            self._wait_for(element.where, name)

    def _wait_for(self, where: ast.Expression, *names: Name) -> None:
        evaluator, needs = self._evaluator, frozenset[Name](variables_of(where) & self._names)
        self._waiting.append(_Test(needs | set(names), lambda row: evaluator.holds(where, row)))

    def _take(self, step: Step, *names: Name) -> None:
        self.steps.append(step)
        self._bind(*names)

    def _bind(self, *names: Name) -> None:
        """Marks names as bound and places each test at the first point where it can run."""
        self._known |= set(names)
        ready = [test for test in self._waiting if test.needs <= self._known]
        self._waiting = [test for test in self._waiting if not test.needs <= self._known]
        self.steps.extend(_asking(test) for test in ready)

    def _name(self, element: ast.PatternElement) -> Name:
        if not isinstance(element, ast.GroupPattern) and element.variable is not None:
            return element.variable.name
        # The element is stored too, so that no other object gets the same id.
        mark, _ = self._marks.setdefault(id(element), (_new_mark(), element))
        return mark


_mark_numbers = count()


def _new_mark() -> Name:
    return ("mark", next(_mark_numbers))


def _asking(test: _Test) -> Step:
    return lambda found: iter((found,) if test.passes(found.row) else ())


def _entities(bound: Any) -> list[Entity]:
    return bound if isinstance(bound, list) else [bound]


def _has_properties(
    evaluator: Evaluator, row: Row, name: Name, properties: ast.MapLiteral | ast.Parameter
) -> bool:
    """True if an entity, or each one of a list, has these property values."""
    wanted = evaluator.value(properties, row)
    if not isinstance(wanted, dict):
        return False
    return all(
        values.equals(evaluator.graph.property(entity, key), value) is True
        for entity in _entities(row[name])
        for key, value in wanted.items()
    )


_FLIPPED = {
    ast.Direction.OUTGOING: ast.Direction.INCOMING,
    ast.Direction.INCOMING: ast.Direction.OUTGOING,
    ast.Direction.BOTH: ast.Direction.BOTH,
}


def _flipped(elements: Sequence[ast.PatternElement]) -> list[ast.PatternElement]:
    """The same path, read from its other end."""
    return [
        replace(element, direction=_FLIPPED[element.direction])
        if isinstance(element, ast.RelationshipPattern)
        else element
        for element in reversed(elements)
    ]


def _as_group(element: ast.RelationshipPattern, quantifier: ast.Quantifier) -> ast.GroupPattern:
    """``-[r]->+`` as ``(()-[r]->())+``."""
    span = element.span
    ends = [ast.NodePattern(span, None, None, None, None) for _ in range(2)]
    inner = replace(element, quantifier=None)
    pattern = ast.Pattern(span, None, (ends[0], inner, ends[1]))
    return ast.GroupPattern(span, pattern, None, quantifier)
