"""What patterns of MATCH clauses consist of, as they were read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.plan.logical import Arrow, ExpandMode, StepPattern
from gpugda.query import ast
from gpugda.query.check.functions import changes_per_call
from gpugda.query.query_graph import anonymous_node_name, anonymous_relationship_name
from gpugda.query.shapes import (
    QUERIES,
    conjuncts,
    is_dynamic,
    join_by_ampersand,
    label_conjuncts,
    substitute,
    variable_names,
)
from gpugda.query.walk import walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpugda.types import Span


__all__ = [
    "Fixed",
    "NamedPath",
    "PathSteps",
    "PatternReader",
    "Selected",
    "VariableKind",
    "Varying",
    "needs_each_row",
]


class VariableKind:
    """The kind of value of a variable, as far as the patterns determine it."""

    NODE: Final = "node"
    RELATIONSHIP: Final = "relationship"
    RELATIONSHIPS: Final = "list of relationships"
    PATH: Final = "path"
    VALUE: Final = "value"


@value(frozen=True, slots=True)
class Selected:
    """What a path selector requests: number of paths or groups, and conditions in its brackets."""

    mode: ExpandMode = ExpandMode.TRAILS
    most: int = 0
    by_group: bool = False
    conditions: tuple[ast.Expression, ...] = ()


@dataclass(slots=True)
class Varying:
    """A variable-length relationship pattern between two nodes.

    ``given`` names the bound list that the relationships must equal; empty if there is none.
    """

    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int
    mode: ExpandMode
    predicates: tuple[ast.Expression, ...]
    selected: Selected
    step: StepPattern | None = None
    given: str = ""

    @property
    def names(self) -> frozenset[str]:
        """All variables that it binds."""
        return frozenset((self.name, *(() if self.step is None else self.step.names)))


@dataclass(slots=True)
class Fixed:
    """A relationship pattern of length one between two nodes."""

    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int


@dataclass(slots=True)
class NamedPath:
    """A path variable: its first node and the columns of its steps."""

    name: str
    start: str
    steps: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PathSteps:
    """A path pattern that was read: first node, last node and the columns of its steps."""

    start: str
    end: str
    steps: list[str] = field(default_factory=list)


_MODES: Final = {
    ast.SelectorKind.SHORTEST_PATH: ExpandMode.SHORTEST,
    ast.SelectorKind.ALL_SHORTEST_PATHS: ExpandMode.ALL_SHORTEST,
}


_PLAIN: Final = frozenset[type]((ast.Variable, ast.Literal, ast.CountStar))


def needs_each_row(expression: ast.Node) -> bool:
    """True if it contains a subquery, or a function that is random, to evaluate for each row."""
    if type(expression) in _PLAIN:
        return False
    return any(
        isinstance(each, QUERIES)
        or (isinstance(each, ast.FunctionCall) and changes_per_call(each.name))
        for each in walk(expression)
    )


class PatternReader:
    """Reads consecutive MATCH clauses into nodes, relationships, paths and conditions.

    Args:
        text: The query text, for error messages.
        scope: Kinds of the variables that are already bound.
        numbers: Source of numbers for the names of anonymous elements, shared by the whole query.
        loose: Bound variables that Neo4j plans together with these clauses.
    """

    def __init__(
        self,
        text: str,
        scope: Mapping[str, str],
        numbers: Iterator[int],
        loose: frozenset[str] = frozenset(),
    ) -> None:
        self._text = text
        self._outer = scope
        self._loose = loose
        self._numbers = numbers
        self.kinds: dict[str, str] = {}
        self._labels: dict[str, dict[ast.LabelExpression, None]] = {}
        self._fixed: list[Fixed] = []
        self._matched_together: list[frozenset[str]] = []
        self._kept_apart: set[tuple[int, frozenset[str]]] = set()
        self._varying: list[Varying] = []
        self._paths: list[NamedPath] = []
        self.found_paths: list[PathSteps] = []
        self._predicates: list[ast.Expression] = []
        self._clause = 0
        self._repeats = False
        self._names_types = False

    # -------------------------------------------------------------- reading
    def read(self, clause: ast.Match) -> None:
        """Reads one clause.

        Raises:
            UnsupportedQueryError: The clause has an unsupported pattern.
        """
        self._repeats = clause.repeats_relationships
        before = len(self._fixed) + len(self._varying)
        for pattern in clause.patterns:
            self._read_pattern(pattern)
        if clause.where is not None:
            self._predicates.extend(conjuncts(join_by_ampersand(clause.where)))
        if len(self._fixed) + len(self._varying) > before:
            self._clause += 1

    @property
    def is_one_step(self) -> bool:
        """True if the pattern repeats one relationship, which no bound list restricts."""
        if self._names_types or self._fixed or len(self._varying) != 1:
            return False
        return all(not e.given and (e.step is None or e.step.is_one_step) for e in self._varying)

    def _read_pattern(self, pattern: ast.Pattern) -> None:
        selected = self._selector(pattern)
        elements, conditions = self._without_brackets(pattern)
        if selected.mode is ExpandMode.SELECTED:
            selected = replace(selected, conditions=tuple(conditions))
        else:
            self._predicates.extend(conditions)
        path: NamedPath | None = None
        path_steps: PathSteps | None = None
        before: str | None = None
        between: ast.RelationshipPattern | ast.GroupPattern | None = None
        for element in _with_nodes(elements):
            if not isinstance(element, ast.NodePattern):
                between = element
                continue
            name = self._node(element)
            if pattern.variable is not None and path is None:
                path = NamedPath(pattern.variable.name, name)
            path_steps = path_steps or PathSteps(name, name)
            path_steps.end = name
            if between is not None and before is not None:
                step = self._between(between, before, name, selected)
                path_steps.steps.append(step)
            before, between = name, None
        if path_steps is not None:
            self.found_paths.append(path_steps)
        if path is not None and path_steps is not None:
            path.steps = path_steps.steps
            self.kinds[path.name] = VariableKind.PATH
            self._paths.append(path)

    def _selector(self, pattern: ast.Pattern) -> Selected:
        if pattern.selector is None or pattern.selector.kind is ast.SelectorKind.ALL:
            return Selected(ExpandMode.WALKS) if self._repeats else Selected()
        if self._repeats:
            raise self._unsupported("a path selector with REPEATABLE ELEMENTS", pattern.span)
        kind, count = pattern.selector.kind, pattern.selector.count
        if kind in _MODES:
            return Selected(_MODES[kind])
        if kind is ast.SelectorKind.ALL_SHORTEST:
            return Selected(ExpandMode.SELECTED, 1, by_group=True)
        assert isinstance(count, int)  # a count from a parameter is handled by SelectPaths
        by_group = kind is ast.SelectorKind.SHORTEST_GROUPS
        return Selected(ExpandMode.SELECTED, count, by_group)

    def _without_brackets(
        self, pattern: ast.Pattern
    ) -> tuple[tuple[ast.PatternElement, ...], list[ast.Expression]]:
        """The elements of a path, with unquantified brackets flattened, and their conditions."""
        elements: list[ast.PatternElement] = []
        conditions: list[ast.Expression] = []
        for element in pattern.elements:
            if not isinstance(element, ast.GroupPattern) or element.quantifier is not None:
                elements.append(element)
                continue
            if element.pattern.variable is not None or element.pattern.selector is not None:
                raise self._unsupported("a path pattern inside another", element.span)
            inside, further = self._without_brackets(element.pattern)
            elements.extend(inside)
            conditions.extend(further)
            if element.where is not None:
                conditions.extend(conjuncts(join_by_ampersand(element.where)))
        return tuple(elements), conditions

    def _between(
        self,
        element: ast.RelationshipPattern | ast.GroupPattern,
        left: str,
        right: str,
        selected: Selected,
    ) -> str:
        if isinstance(element, ast.RelationshipPattern):
            return self._relationship(element, left, right, selected)
        return self._group(element, left, right, selected)

    def _group(self, group: ast.GroupPattern, left: str, right: str, selected: Selected) -> str:
        if group.pattern.variable is not None:
            raise self._unsupported("a path inside a quantified path", group.span)
        elements, predicates = self._without_brackets(group.pattern)
        if group.where is not None:
            predicates.extend(conjuncts(join_by_ampersand(group.where)))
        step = self._step(_with_nodes(elements), predicates, group)
        name = step.relationships[0]
        if len(step.relationships) > 1:
            name = anonymous_relationship_name(next(self._numbers))
        self.kinds |= dict.fromkeys(step.nodes, VariableKind.VALUE)
        self.kinds |= dict.fromkeys(step.relationships, VariableKind.RELATIONSHIPS)
        one = step.arrows[0]
        types, direction = one.types, one.direction
        if len(step.arrows) > 1:
            types, direction = None, ast.Direction.BOTH
        arrow = ast.RelationshipPattern(
            group.span, None, types, direction, None, None, None, group.quantifier
        )
        mode = selected.mode
        self._varying.append(
            Varying(left, right, name, arrow, self._clause, mode, (), selected, step)
        )
        return name

    def _step(
        self,
        elements: Iterable[ast.PatternElement],
        conditions: Sequence[ast.Expression],
        group: ast.GroupPattern,
    ) -> StepPattern:
        """The step that a quantified path repeats."""
        nodes: list[str] = []
        relationships: list[str] = []
        arrows: list[Arrow] = []
        predicates: list[ast.Expression] = []
        for element in elements:
            if isinstance(element, ast.NodePattern):
                name = element.variable.name if element.variable else self._anonymous_node()
                nodes.append(name)
                predicates.extend(self._node_tests(name, element))
                continue
            if not isinstance(element, ast.RelationshipPattern) or element.length is not None:
                raise self._unsupported("a path of varying length in another", element.span)
            name = self._name_of(element)
            types = element.types and _by_name(element.types)
            relationships.append(name)
            arrows.append(Arrow(None if types and is_dynamic(types) else types, element.direction))
            predicates += [*_type_tests(name, types), *self._inline(name, element)]
        tests = (*predicates, *conditions)
        by_row = any(map(needs_each_row, tests))
        step = StepPattern(tuple(nodes), tuple(relationships), tuple(arrows), tests, by_row)
        self._check_step(step, group)
        return step

    def _check_step(self, step: StepPattern, group: ast.GroupPattern) -> None:
        if len(step.names) < len(step.nodes) + len(step.relationships):
            raise self._unsupported("a variable that occurs twice in a quantified path", group.span)
        for each in step.predicates:
            if needs_each_row(each) and not any(isinstance(e, QUERIES) for e in walk(each)):
                raise self._unsupported("chance in a quantified path", each.span)
        if step.names & set(self._outer):
            raise self._unsupported("a bound variable in a quantified path", group.span)

    def _node_tests(self, name: str, node: ast.NodePattern) -> Iterator[ast.Expression]:
        for each in label_conjuncts(node.labels and _by_name(node.labels)):
            yield _label_test(name, each)
        yield from self._inline(name, node)

    def _name_of(self, arrow: ast.RelationshipPattern) -> str:
        if arrow.variable is not None:
            return arrow.variable.name
        return anonymous_relationship_name(next(self._numbers))

    def _node(self, pattern: ast.NodePattern) -> str:
        name = pattern.variable.name if pattern.variable else self._anonymous_node()
        self.kinds[name] = VariableKind.NODE
        labels = self._labels.setdefault(name, {})
        for each in label_conjuncts(pattern.labels and _by_name(pattern.labels)):
            if is_dynamic(each):
                self._predicates.append(_label_test(name, each))
            else:
                labels[each] = None
        self._predicates.extend(self._inline(name, pattern))
        return name

    def _anonymous_node(self) -> str:
        return anonymous_node_name(next(self._numbers))

    def _relationship(
        self, pattern: ast.RelationshipPattern, left: str, right: str, selected: Selected
    ) -> str:
        mode = selected.mode
        varies = pattern.length is not None or pattern.quantifier is not None
        name = self._name_of(pattern)
        asks_each = pattern.where is not None and needs_each_row(pattern.where)
        if pattern.quantifier is not None and (_is_dynamic(pattern) or asks_each):
            return self._group(_as_group(pattern), left, right, selected)
        if varies and _is_dynamic(pattern):
            # Neo4j ignores such a type.
            message = "a dynamic type of a relationship of varying length"
            raise self._unsupported(message, pattern.span)
        given = ""
        if varies or not mode.gives_all:
            self._refuse_shared_list(name, pattern)
            given, name = name, self._unbound(name, pattern)
        types = pattern.types and _by_name(pattern.types)
        tests = [*_type_tests(name, types), *self._inline(name, pattern)]
        if types is not None and is_dynamic(types):
            self._names_types = True
            types = None
        pattern = replace(pattern, types=types)
        if not varies and mode.gives_all:
            self.kinds[name] = VariableKind.RELATIONSHIP
            if self._repeats:
                self._clause += 1  # own clause each, as only relationships of a clause must differ
            self._fixed.append(Fixed(left, right, name, pattern, self._clause))
            self._predicates.extend(tests)
            return name
        if self._repeats and pattern.length is not None and pattern.length.maximum is None:
            message = "a relationship of any length with REPEATABLE ELEMENTS"
            raise self._unsupported(message, pattern.span)
        self.kinds[name] = VariableKind.RELATIONSHIPS
        own, others = self._divided(name, tests)
        if mode is ExpandMode.SELECTED:
            selected = replace(selected, conditions=(*selected.conditions, *others))
        else:
            self._predicates.extend(others)
        found = Varying(left, right, name, pattern, self._clause, mode, tuple(own), selected)
        found.given = "" if given == name else given
        self._varying.append(found)
        return name

    def _divided(
        self, name: str, tests: Sequence[ast.Expression]
    ) -> tuple[list[ast.Expression], list[ast.Expression]]:
        """The tests of each relationship by itself, and conditions on the list for the others."""
        for each in filter(needs_each_row, tests):
            message = "a subquery in a relationship of varying length"
            raise self._unsupported(message, each.span)
        own = [each for each in tests if variable_names(each) <= {name}]
        return own, [_for_all(name, each) for each in tests if each not in own]

    def _refuse_shared_list(self, name: str, pattern: ast.RelationshipPattern) -> None:
        """Two lists of one name are equal only if both are empty or relationships may repeat."""
        shared = [each.pattern for each in self._varying if each.name == name]
        may_be_empty = any(each.length and not each.length.bounds[0] for each in (*shared, pattern))
        if shared and (self._repeats or may_be_empty):
            what = "with REPEATABLE ELEMENTS" if self._repeats else "that may be empty"
            message = f"a list of relationships twice in a clause {what}"
            raise self._unsupported(message, pattern.span)

    def _unbound(self, name: str, pattern: ast.RelationshipPattern) -> str:
        """The name of a list of relationships; a fresh name with an equality if it is bound."""
        if name not in self._outer:
            return name
        span = pattern.span
        if pattern.length is not None and pattern.length.bounds[0] == 0:
            raise self._unsupported("a bound list of relationships that may be empty", span)
        found = anonymous_relationship_name(next(self._numbers))
        operands = ast.Variable(span, found), ast.Variable(span, name)
        self._predicates.append(ast.Comparison(span, operands, (ast.ComparisonOperator.EQUAL,)))
        return found

    def _inline(
        self, name: str, element: ast.NodePattern | ast.RelationshipPattern
    ) -> Iterator[ast.Expression]:
        if isinstance(element.properties, ast.Parameter):
            raise self._unsupported("a map of properties from a parameter", element.properties.span)
        for key, given in element.properties.entries if element.properties is not None else ():
            span = given.span
            subject = ast.Property(span, ast.Variable(span, name), key)
            operands = (subject, join_by_ampersand(given))
            yield ast.Comparison(span, operands, (ast.ComparisonOperator.EQUAL,))
        if element.where is not None:
            yield from conjuncts(join_by_ampersand(element.where))

    def _unsupported(self, construct: str, span: Span) -> UnsupportedQueryError:
        message = f"{construct} is not supported by this engine"
        return UnsupportedQueryError(message, self._text, span, construct=construct)


def _with_nodes(
    elements: tuple[ast.PatternElement, ...],
) -> Iterator[ast.PatternElement]:
    """The elements of a path, with an anonymous node added on each side of a group if needed."""
    wants_node = True
    for element in elements:
        is_node = isinstance(element, ast.NodePattern)
        if wants_node and not is_node:
            yield ast.NodePattern(element.span, None, None, None, None)
        yield element
        wants_node = not is_node
    if wants_node:
        yield ast.NodePattern(elements[-1].span, None, None, None, None)


def _is_dynamic(pattern: ast.RelationshipPattern) -> bool:
    return pattern.types is not None and is_dynamic(pattern.types)


def _as_group(pattern: ast.RelationshipPattern) -> ast.GroupPattern:
    """``-[r]->+`` as ``(()-[r]->())+``."""
    span = pattern.span
    start, end = (ast.NodePattern(span, None, None, None, None) for _ in range(2))
    inner = replace(pattern, quantifier=None)
    path = ast.Pattern(span, None, (start, inner, end))
    return ast.GroupPattern(span, path, None, pattern.quantifier)


def _type_tests(name: str, types: ast.LabelExpression | None) -> list[ast.Expression]:
    """The type predicate for a dynamic type, which is known only at run time."""
    return [] if types is None or not is_dynamic(types) else [_label_test(name, types)]


def _label_test(name: str, labels: ast.LabelExpression) -> ast.Expression:
    return ast.LabelPredicate(labels.span, ast.Variable(labels.span, name), labels)


def _by_name(labels: ast.LabelExpression) -> ast.LabelExpression:
    """The expression with ``$('A')`` replaced by ``A``."""
    if isinstance(labels, ast.LabelDynamic):
        known = labels.expression.value if isinstance(labels.expression, ast.Literal) else None
        return ast.LabelName(labels.span, known) if isinstance(known, str) else labels
    if isinstance(labels, ast.LabelNot):
        return replace(labels, operand=_by_name(labels.operand))
    if isinstance(labels, ast.LabelAnd | ast.LabelOr):
        return replace(labels, operands=tuple(map(_by_name, labels.operands)))
    return labels


def _for_all(name: str, condition: ast.Expression) -> ast.Expression:
    """Turns a condition on one relationship into a condition on all relationships of a list."""
    span = condition.span
    element = ast.Variable(span, name + "\0x")
    asked = substitute(condition, lambda part: element if _is_variable(part, name) else None)
    elements = ast.Variable(span, name)
    return ast.ListPredicate(span, ast.ListQuantifier.ALL, element, elements, asked)


def _is_variable(part: ast.Expression, name: str) -> bool:
    return isinstance(part, ast.Variable) and part.name == name
