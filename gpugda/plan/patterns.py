"""Patterns of MATCH clauses to logical operators.

The parts of fixed length become query graphs; relationships of varying length become expansions
between them. Relationships of one clause are distinct: within a query graph the join sees to that,
between expansions and everything else filters do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.plan.logical import (
    BindPath,
    ElementTest,
    Expand,
    ExpandMode,
    Filter,
    Logical,
    Match,
    StepPattern,
)
from gpugda.plan.path_tests import element_test
from gpugda.query import ast
from gpugda.query.functions import changes_per_call
from gpugda.query.query_graph import (
    QueryGraph,
    QueryNode,
    QueryRelationship,
    anonymous_node_name,
    anonymous_relationship_name,
)
from gpugda.query.shapes import conjuncts, join_by_ampersand, variable_names
from gpugda.query.walk import walk
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["PatternPlanner", "VariableKind", "needs_each_row"]

_MODES: Final = {
    ast.SelectorKind.SHORTEST_PATH: ExpandMode.SHORTEST,
    ast.SelectorKind.ALL_SHORTEST_PATHS: ExpandMode.ALL_SHORTEST,
}
_SUBQUERIES: Final = (
    ast.Subquery,
    ast.PatternExpression,
    ast.PatternComprehension,
    ast.ShortestPathExpression,
)


class VariableKind:
    """What a variable holds, as far as the patterns tell."""

    NODE: Final = "node"
    RELATIONSHIP: Final = "relationship"
    RELATIONSHIPS: Final = "list of relationships"
    PATH: Final = "path"
    VALUE: Final = "value"


def needs_each_row(expression: ast.Node) -> bool:
    """Whether something in it has to be matched, or drawn by chance, for each row."""
    return any(
        isinstance(each, _SUBQUERIES)
        or (isinstance(each, ast.FunctionCall) and changes_per_call(each.name))
        for each in walk(expression)
    )


@dataclass(frozen=True, slots=True)
class _Selected:
    """What a selector asks: how many paths or groups, and conditions in its brackets."""

    mode: ExpandMode = ExpandMode.TRAILS
    most: int = 0
    by_group: bool = False
    conditions: tuple[ast.Expression, ...] = ()


@dataclass(slots=True)
class _Varying:
    """A relationship pattern of varying length between two nodes."""

    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int
    mode: ExpandMode
    predicates: tuple[ast.Expression, ...]
    selected: _Selected
    step: StepPattern | None = None


@dataclass(slots=True)
class _Fixed:
    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int


@dataclass(slots=True)
class _Path:
    name: str
    start: str
    steps: list[str] = field(default_factory=list)


class PatternPlanner:
    """Consecutive MATCH clauses as logical operators on given rows.

    Args:
        text: The query, for errors.
        scope: Kinds of the variables that the rows have already.
        numbers: Gives numbers for names of what has none; shared by a whole query.
    """

    def __init__(self, text: str, scope: Mapping[str, str], numbers: Iterator[int]) -> None:
        self._text = text
        self._outer = scope
        self._numbers = numbers
        self.kinds: dict[str, str] = {}
        self._labels: dict[str, dict[ast.LabelExpression, None]] = {}
        self._fixed: list[_Fixed] = []
        self._matched_together: list[frozenset[str]] = []
        self._varying: list[_Varying] = []
        self._paths: list[_Path] = []
        self._predicates: list[ast.Expression] = []
        self._clause = 0

    # -------------------------------------------------------------- reading
    def read(self, clause: ast.Match) -> None:
        """Adds a clause.

        Raises:
            UnsupportedQueryError: It holds a pattern that is not answered here.
        """
        if clause.repeats_relationships:
            raise self._unsupported("REPEATABLE ELEMENTS", clause.mode_span or clause.span)
        for pattern in clause.patterns:
            self._read_pattern(pattern)
        if clause.where is not None:
            self._predicates.extend(conjuncts(join_by_ampersand(clause.where)))
        self._clause += 1

    def _read_pattern(self, pattern: ast.Pattern) -> None:
        selected = self._selector(pattern)
        elements, conditions = self._without_brackets(pattern)
        if selected.mode is ExpandMode.SELECTED:
            selected = replace(selected, conditions=tuple(conditions))
            self._check_selected(elements, selected, pattern)
        else:
            self._predicates.extend(conditions)
        path: _Path | None = None
        before: str | None = None
        between: ast.RelationshipPattern | ast.GroupPattern | None = None
        for element in _with_nodes(elements):
            if not isinstance(element, ast.NodePattern):
                between = element
                continue
            name = self._node(element)
            if pattern.variable is not None and path is None:
                path = _Path(pattern.variable.name, name)
            if between is not None and before is not None:
                step = self._between(between, before, name, selected)
                if path is not None:
                    path.steps.append(step)
            before, between = name, None
        if path is not None:
            self.kinds[path.name] = VariableKind.PATH
            self._paths.append(path)

    def _selector(self, pattern: ast.Pattern) -> _Selected:
        if pattern.selector is None or pattern.selector.kind is ast.SelectorKind.ALL:
            return _Selected()
        kind, count = pattern.selector.kind, pattern.selector.count
        if kind in _MODES:
            return _Selected(_MODES[kind])
        if kind is ast.SelectorKind.ALL_SHORTEST:
            return _Selected(ExpandMode.SELECTED, 1, by_group=True)
        if not isinstance(count, int):
            raise self._unsupported("a number of paths from a parameter", pattern.span)
        by_group = kind is ast.SelectorKind.SHORTEST_GROUPS
        return _Selected(ExpandMode.SELECTED, count, by_group)

    def _without_brackets(
        self, pattern: ast.Pattern
    ) -> tuple[tuple[ast.PatternElement, ...], list[ast.Expression]]:
        """The elements of a path, those in brackets that repeat nothing among them."""
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

    def _check_selected(
        self,
        elements: tuple[ast.PatternElement, ...],
        selected: _Selected,
        pattern: ast.Pattern,
    ) -> None:
        steps = [each for each in elements if not isinstance(each, ast.NodePattern)]
        if len(steps) != 1:
            raise self._unsupported("a path selector over several steps", pattern.span)
        whole = pattern.variable
        for each in selected.conditions:
            if whole is not None and whole.name in variable_names(each):
                raise self._unsupported("a path in a condition inside its brackets", each.span)

    def _between(
        self,
        element: ast.RelationshipPattern | ast.GroupPattern,
        left: str,
        right: str,
        selected: _Selected,
    ) -> str:
        if isinstance(element, ast.RelationshipPattern):
            return self._relationship(element, left, right, selected)
        return self._group(element, left, right, selected)

    def _group(self, group: ast.GroupPattern, left: str, right: str, selected: _Selected) -> str:
        inside = group.pattern.elements
        if len(inside) != 3 or group.pattern.variable is not None:
            raise self._unsupported("a quantified path of several steps", group.span)
        first, arrow, last = inside
        assert isinstance(first, ast.NodePattern)
        assert isinstance(arrow, ast.RelationshipPattern)
        assert isinstance(last, ast.NodePattern)
        if arrow.types is not None:
            self._check_labels(arrow.types)
        one = first.variable.name if first.variable else self._anonymous_node()
        two = last.variable.name if last.variable else self._anonymous_node()
        name = self._name_of(arrow)
        predicates = [
            *self._node_tests(one, first),
            *self._inline(name, arrow),
            *self._node_tests(two, last),
        ]
        if group.where is not None:
            predicates.extend(conjuncts(join_by_ampersand(group.where)))
        for each in predicates:
            if variable_names(each) - {one, name, two} or needs_each_row(each):
                raise self._unsupported(
                    "a condition in a quantified path that reads another variable", each.span
                )
        if {one, name, two} & set(self._outer):
            raise self._unsupported("a bound variable in a quantified path", group.span)
        self.kinds |= {
            one: VariableKind.VALUE,
            two: VariableKind.VALUE,
            name: VariableKind.RELATIONSHIPS,
        }
        step = StepPattern(one, name, two, tuple(predicates))
        arrow = replace(arrow, quantifier=group.quantifier)
        mode = selected.mode
        self._varying.append(
            _Varying(left, right, name, arrow, self._clause, mode, (), selected, step)
        )
        return name

    def _node_tests(self, name: str, node: ast.NodePattern) -> Iterator[ast.Expression]:
        if node.labels is not None:
            for each in _label_conjuncts(node.labels):
                self._check_labels(each)
                yield ast.LabelPredicate(each.span, ast.Variable(each.span, name), each)
        yield from self._inline(name, node)

    def _name_of(self, arrow: ast.RelationshipPattern) -> str:
        if arrow.variable is not None:
            return arrow.variable.name
        return anonymous_relationship_name(next(self._numbers))

    def _node(self, pattern: ast.NodePattern) -> str:
        name = pattern.variable.name if pattern.variable else self._anonymous_node()
        self.kinds[name] = VariableKind.NODE
        labels = self._labels.setdefault(name, {})
        if pattern.labels is not None:
            for each in _label_conjuncts(pattern.labels):
                self._check_labels(each)
                labels[each] = None
        self._predicates.extend(self._inline(name, pattern))
        return name

    def _anonymous_node(self) -> str:
        return anonymous_node_name(next(self._numbers))

    def _relationship(
        self, pattern: ast.RelationshipPattern, left: str, right: str, selected: _Selected
    ) -> str:
        mode = selected.mode
        if pattern.types is not None:
            self._check_labels(pattern.types)
        varies = pattern.length is not None or pattern.quantifier is not None
        name = self._name_of(pattern)
        if not varies and mode is ExpandMode.TRAILS:
            self.kinds[name] = VariableKind.RELATIONSHIP
            self._fixed.append(_Fixed(left, right, name, pattern, self._clause))
            self._predicates.extend(self._inline(name, pattern))
            return name
        if name in self._outer:
            raise self._unsupported("a list of relationships that is bound already", pattern.span)
        self.kinds[name] = VariableKind.RELATIONSHIPS
        predicates = tuple(self._inline(name, pattern))
        for each in predicates:
            if variable_names(each) - {name} or needs_each_row(each):
                raise self._unsupported(
                    "a condition on each relationship of a path that reads another variable",
                    each.span,
                )
        self._varying.append(
            _Varying(left, right, name, pattern, self._clause, mode, predicates, selected)
        )
        return name

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

    def _check_labels(self, labels: ast.LabelExpression) -> None:
        dynamic = next((e for e in walk(labels) if isinstance(e, ast.LabelDynamic)), None)
        if dynamic is not None:
            raise self._unsupported("a dynamic label or type", dynamic.span)

    def _unsupported(self, construct: str, span: Span) -> UnsupportedQueryError:
        message = f"{construct} is not supported by this engine"
        return UnsupportedQueryError(message, self._text, span, construct=construct)

    # -------------------------------------------------------------- planning
    def plan(self, rows: Logical) -> Logical:
        """The rows with all embeddings of what was read."""
        known = {name for name in self._outer if name in self.kinds}
        components = self._components()
        left = [*self._predicates, *self._not_null()]
        waiting = list(self._varying)
        while components or waiting:
            reached = [part for part in components if part & known]
            if not reached and not self._can_expand(waiting, known):
                reached = [self._first(components)] if waiting and components else components[:]
            if self._wants_ends_first(waiting):
                reached = components[:]
            if reached:
                names = frozenset().union(*reached)
                rows, left = self._match(rows, names, known, left)
                self._matched_together.append(names)
                known |= names | {e.name for e in self._fixed if e.left in names}
                components = [part for part in components if part not in reached]
                continue
            edge = self._next_edge(waiting, known)
            waiting.remove(edge)
            if edge.mode is not ExpandMode.TRAILS:
                rows, left = self._filtered(rows, left, known)
            tests, conditions, left = self._conditions(edge, left)
            rows = replace(
                self._expand(rows, edge, known),
                tests=tests,
                path_predicates=conditions,
                path=self._path_of(edge),
            )
            known |= {edge.left, edge.right, edge.name}
        rows = self._kept_apart(rows)
        for path in self._paths:
            rows = BindPath(rows, path.name, path.start, tuple(path.steps))
        return Filter(rows, tuple(left)) if left else rows

    def _not_null(self) -> Iterator[ast.Expression]:
        """A node that is known and nothing more is asked of still has to be one."""
        span = Span(0, 0)
        reached = {name for each in self._varying for name in (each.left, each.right)}
        for name in self._labels:
            if name in self._outer and name not in reached and self._asks_nothing(name):
                variable = ast.Variable(span, name)
                yield ast.Unary(span, ast.UnaryOperator.IS_NOT_NULL, variable)

    def _components(self) -> list[frozenset[str]]:
        """Nodes that relationships of fixed length connect, together; in the order written."""
        part: dict[str, set[str]] = {name: {name} for name in self._labels}
        named: dict[str, str] = {}
        for each in self._fixed:
            # One relationship in two clauses is found by one join.
            for one, two in ((each.left, each.right), (named.get(each.name), each.left)):
                if one is not None and part[one] is not part[two]:
                    joined = part[one] | part[two]
                    for name in joined:
                        part[name] = joined
            named[each.name] = each.left
        found: dict[frozenset[str], None] = {}
        for name in self._labels:
            found[frozenset(part[name])] = None
        # A node that is known already, and of which nothing is asked, needs no look.
        return [
            names
            for names in found
            if not (len(names) == 1 and self._asks_nothing(next(iter(names))))
        ]

    def _asks_nothing(self, name: str) -> bool:
        if any(name in (each.left, each.right) for each in self._fixed):
            return False
        reached = any(name in (each.left, each.right) for each in self._varying)
        asked = bool(self._labels[name]) or any(
            variable_names(each) == {name} and not needs_each_row(each) for each in self._predicates
        )
        if name in self._outer:
            return not asked
        ends = [(each.left, each.right) for each in self._varying]
        others = {n for pair in ends if name in pair for n in pair} - {name}
        anchored = any(self._labels[n] or n in self._outer for n in others)
        return reached and not asked and anchored and not self._is_shortest_end(name)

    def _is_shortest_end(self, name: str) -> bool:
        return any(
            each.mode is not ExpandMode.TRAILS and name in (each.left, each.right)
            for each in self._varying
        )

    def _wants_ends_first(self, waiting: Sequence[_Varying]) -> bool:
        """A search for shortest paths begins when all that its conditions may read is known."""
        return bool(waiting) and all(each.mode is not ExpandMode.TRAILS for each in waiting)

    def _first(self, components: Sequence[frozenset[str]]) -> frozenset[str]:
        """Where to begin: where most is asked."""

        def asked(names: frozenset[str]) -> tuple[int, int]:
            tests = sum(1 for each in self._predicates if variable_names(each) <= names)
            return tests, sum(len(self._labels[name]) for name in names)

        return max(components, key=asked)

    def _can_expand(self, waiting: Sequence[_Varying], known: set[str]) -> bool:
        """Whether a path that is no shortest one begins at a node that is known."""
        return any(
            each.mode is ExpandMode.TRAILS and {each.left, each.right} & known for each in waiting
        )

    def _next_edge(self, waiting: Sequence[_Varying], known: set[str]) -> _Varying:
        def rank(edge: _Varying) -> tuple[bool, int]:
            return edge.mode is not ExpandMode.TRAILS, -len({edge.left, edge.right} & known)

        return min(waiting, key=rank)

    def _match(
        self,
        rows: Logical,
        names: Iterable[str],
        known: set[str],
        predicates: Sequence[ast.Expression],
    ) -> tuple[Logical, list[ast.Expression]]:
        """The rows with the embeddings of these nodes, and the predicates still to be tested."""
        inside = frozenset(names)
        order = [name for name in self._labels if name in inside]
        position = {name: number for number, name in enumerate(order)}
        relationships: list[QueryRelationship] = []
        first: dict[str, int] = {}
        no_rows: str | None = None
        for each in self._fixed:
            if each.left not in inside:
                continue
            if any(r.name == each.name and r.clause == each.clause for r in relationships):
                no_rows = (
                    f"The relationship variable `{each.name}` stands twice in one MATCH clause,"
                    " whose relationships are all different."
                )
            relationships.append(_query_relationship(each, position, len(relationships), first))
        variables = inside | {each.name for each in relationships}
        taken: list[ast.Expression] = []
        left: list[ast.Expression] = []
        for predicate in predicates:
            fits = variable_names(predicate) <= variables and not needs_each_row(predicate)
            (taken if fits else left).append(predicate)
        nodes = tuple(
            QueryNode(number, name, tuple(self._labels[name])) for number, name in enumerate(order)
        )
        graph = QueryGraph(nodes, tuple(relationships), tuple(taken), no_rows)
        bound = [name for name in order if name in known]
        bound += [n for n in dict.fromkeys(r.name for r in relationships) if n in self._outer]
        return Match(rows, graph, tuple(bound)), left

    def _filtered(
        self, rows: Logical, left: list[ast.Expression], known: set[str]
    ) -> tuple[Logical, list[ast.Expression]]:
        """The rows that satisfy what can be tested already."""
        ready = [each for each in left if variable_names(each) <= known | set(self._outer)]
        if ready:
            rows = Filter(rows, tuple(ready))
        return rows, [each for each in left if each not in ready]

    def _path_of(self, edge: _Varying) -> str:
        """Name of the path that is this edge alone."""
        return next((path.name for path in self._paths if path.steps == [edge.name]), "")

    def _conditions(
        self, edge: _Varying, left: Sequence[ast.Expression]
    ) -> tuple[tuple[ElementTest, ...], tuple[ast.Expression, ...], list[ast.Expression]]:
        """What an expansion tests itself, and what is left to be tested on its rows."""
        if edge.mode is ExpandMode.SELECTED:
            return (), edge.selected.conditions, list(left)
        path = self._path_of(edge)
        own = {edge.name, path} - {""}
        tests: list[ElementTest] = []
        conditions: list[ast.Expression] = []
        rest: list[ast.Expression] = []
        for each in left:
            test = element_test(each, edge.name, path, needs_each_row)
            if test is not None:
                tests.append(test)
            elif edge.mode is not ExpandMode.TRAILS and variable_names(each) & own:
                self._check_single(each, edge)
                conditions.append(each)
            else:
                rest.append(each)
        return tuple(tests), tuple(conditions), rest

    def _check_single(self, condition: ast.Expression, edge: _Varying) -> None:
        """A condition that reads two shortest paths of a clause: the order of search decides."""
        others = {e.name for e in self._varying if e.mode is not ExpandMode.TRAILS} - {edge.name}
        others |= {path.name for path in self._paths if set(path.steps) & others}
        if variable_names(condition) & others:
            raise self._unsupported("a condition on two shortest paths", condition.span)

    def _expand(self, rows: Logical, edge: _Varying, known: set[str]) -> Expand:
        forwards = edge.left in known
        pattern = edge.pattern
        if pattern.length is not None:
            minimum, maximum = pattern.length.bounds
        elif pattern.quantifier is not None:
            minimum, maximum = pattern.quantifier.minimum, pattern.quantifier.maximum
        else:
            minimum, maximum = 1, 1
        start, end = (edge.left, edge.right) if forwards else (edge.right, edge.left)
        return Expand(
            rows,
            start=start,
            end=end,
            end_is_bound=end in known,
            relationships=edge.name,
            types=pattern.types,
            direction=pattern.direction if forwards else _turned(pattern.direction),
            minimum=minimum,
            maximum=maximum,
            predicates=edge.predicates,
            variable=edge.name,
            mode=edge.mode,
            reversed=not forwards,
            step=edge.step,
            most=edge.selected.most,
            by_group=edge.selected.by_group,
            closed=edge.left == edge.right and not self._path_of(edge).startswith("\0"),
        )

    def _are_joined_apart(self, one: _Fixed, two: _Fixed) -> bool:
        """Whether two relationships of a clause are in different joins, and might be one."""
        together = any({one.left, two.left} <= names for names in self._matched_together)
        return one.clause == two.clause and not together and _may_share(one.pattern, two.pattern)

    def _kept_apart(self, rows: Logical) -> Logical:
        """Expansions share no relationship with what else their clause matches."""
        span = Span(0, 0)
        tests: list[ast.Expression] = []
        trails = [each for each in self._varying if each.mode is ExpandMode.TRAILS]
        for each in trails:
            for other in self._fixed:
                if other.clause == each.clause and _may_share(each.pattern, other.pattern):
                    single, many = ast.Variable(span, other.name), ast.Variable(span, each.name)
                    inside = ast.Binary(span, ast.BinaryOperator.IN, single, many)
                    tests.append(ast.Unary(span, ast.UnaryOperator.NOT, inside))
        for one, two in combinations(trails, 2):
            if one.clause == two.clause and _may_share(one.pattern, two.pattern):
                tests.append(_disjoint(one.name, two.name))
        for left, right in combinations(self._fixed, 2):
            if self._are_joined_apart(left, right):
                operands = ast.Variable(span, left.name), ast.Variable(span, right.name)
                differs = (ast.ComparisonOperator.NOT_EQUAL,)
                tests.append(ast.Comparison(span, operands, differs))
        return Filter(rows, tuple(tests)) if tests else rows


def _with_nodes(
    elements: tuple[ast.PatternElement, ...],
) -> Iterator[ast.PatternElement]:
    """The elements of a path with a node on each side of a group."""
    wants_node = True
    for element in elements:
        is_node = isinstance(element, ast.NodePattern)
        if wants_node and not is_node:
            yield ast.NodePattern(element.span, None, None, None, None)
        yield element
        wants_node = not is_node
    if wants_node:
        yield ast.NodePattern(elements[-1].span, None, None, None, None)


def _query_relationship(
    each: _Fixed, position: Mapping[str, int], number: int, first: dict[str, int]
) -> QueryRelationship:
    incoming = each.pattern.direction is ast.Direction.INCOMING
    left, right = position[each.left], position[each.right]
    same_as = first.get(each.name)
    first.setdefault(each.name, number)
    return QueryRelationship(
        position=number,
        name=each.name,
        source=right if incoming else left,
        target=left if incoming else right,
        directed=each.pattern.direction is not ast.Direction.BOTH,
        types=each.pattern.types,
        clause=each.clause,
        same_as=same_as,
    )


def _label_conjuncts(labels: ast.LabelExpression) -> list[ast.LabelExpression]:
    if not isinstance(labels, ast.LabelAnd):
        return [labels]
    return [part for operand in labels.operands for part in _label_conjuncts(operand)]


def _turned(direction: ast.Direction) -> ast.Direction:
    if direction is ast.Direction.OUTGOING:
        return ast.Direction.INCOMING
    return ast.Direction.OUTGOING if direction is ast.Direction.INCOMING else direction


def _may_share(one: ast.RelationshipPattern, other: ast.RelationshipPattern) -> bool:
    left, right = _plain_types(one.types), _plain_types(other.types)
    return left is None or right is None or bool(left & right)


def _plain_types(types: ast.LabelExpression | None) -> set[str] | None:
    if isinstance(types, ast.LabelName):
        return {types.name}
    if isinstance(types, ast.LabelOr):
        names = [_plain_types(each) for each in types.operands]
        known = [each for each in names if each is not None]
        return set().union(*known) if len(known) == len(names) else None
    return None


def _disjoint(one: str, two: str) -> ast.Expression:
    span = Span(0, 0)
    element = ast.Variable(span, one + "\0x")
    inside = ast.Binary(span, ast.BinaryOperator.IN, element, ast.Variable(span, two))
    return ast.ListPredicate(
        span, ast.ListQuantifier.NONE, element, ast.Variable(span, one), inside
    )
