"""Checks expressions: variables must be defined, and operands must be able to have valid types.

A visitor for each node class returns the possible types of the value. The checks of queries and
patterns inside expressions are passed in by `scopes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from operator import add, mul, sub
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Op
from gpugda.query.check.functions import Signature, signature, unknown_function
from gpugda.query.check.scope import (
    ANY,
    BOOLEAN,
    FLOAT,
    INTEGER,
    LIST,
    MAP,
    STRING,
    TypeSet,
    list_of,
    of,
)
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.query.check.scope import Scope

__all__ = [
    "SUBQUERIES",
    "InnerChecks",
    "check_condition",
    "check_expression",
    "check_literals",
    "check_range",
    "is_aggregate",
    "left_types",
    "operand_types",
    "refuse_aggregates",
    "result_type",
]

_NUMBERS: Final = ("Integer", "Float")
_INSTANTS: Final = ("Date", "Time", "LocalTime", "LocalDateTime", "DateTime")
_NUMERIC: Final = frozenset(product(_NUMBERS, _NUMBERS))
_PAIRS: Final = {
    Op.ADD: frozenset(product((*_NUMBERS, "String"), repeat=2))
    | {(each, "Duration") for each in (*_INSTANTS, "Duration")}
    | {("Duration", each) for each in _INSTANTS},
    Op.SUBTRACT: _NUMERIC | {(each, "Duration") for each in (*_INSTANTS, "Duration")},
    Op.MULTIPLY: _NUMERIC
    | {(each, "Duration") for each in _NUMBERS}
    | {("Duration", each) for each in _NUMBERS},
    Op.DIVIDE: _NUMERIC | {("Duration", each) for each in _NUMBERS},
    Op.MODULO: _NUMERIC,
    Op.POWER: _NUMERIC,
    Op.CONCATENATE: frozenset((("String", "String"), ("List", "List"))),
    Op.MATCHES: frozenset((("String", "String"),)),
}


def operand_types(operator: Op, left: TypeSet) -> TypeSet | None:
    """The possible types of the right operand; None for any type."""
    if operator is Op.IN:
        return LIST
    pairs = _PAIRS.get(operator)
    if pairs is None or left.types is None or (operator is Op.ADD and left.has("List")):
        return None
    wanted = {right for each, right in pairs if each in left.types}
    if operator is Op.ADD:
        wanted.add("List")
    return TypeSet(frozenset(wanted))


def left_types(operator: Op) -> TypeSet:
    """The possible types of the left operand."""
    pairs = _PAIRS.get(operator)
    if pairs is None or operator is Op.ADD:
        return ANY
    return TypeSet(frozenset(left for left, _ in pairs))


def result_type(operator: Op, left: TypeSet, right: TypeSet) -> TypeSet:
    """The possible types of the result."""
    if operator not in _PAIRS or operator is Op.MATCHES:
        return BOOLEAN
    if operator is Op.POWER:
        return FLOAT
    certain = (left.types, right.types)
    if LIST.types in certain and operator in (Op.ADD, Op.CONCATENATE):
        return _list_type(left, right)
    if operator not in (Op.ADD, Op.CONCATENATE):
        return _possible(operator, left, right)
    if None in certain:
        return ANY
    if STRING.types in certain and not (left.has("List") or right.has("List")):
        return STRING
    if all(kind.types is not None and kind.types <= set(_NUMBERS) for kind in (left, right)):
        return _possible(operator, left, right)
    return ANY


def _possible(operator: Op, left: TypeSet, right: TypeSet) -> TypeSet:
    """The possible result types, from the supported pairs of operand types."""
    found = {
        _of_pair(one, two) for one, two in _PAIRS[operator] if left.has(one) and right.has(two)
    }
    return TypeSet(frozenset(found)) if found else ANY


def _of_pair(left: str, right: str) -> str:
    if "Duration" in (left, right):
        return left if left in _INSTANTS else "Duration"
    return "Float" if "Float" in (left, right) else "Integer"


def _list_type(left: TypeSet, right: TypeSet) -> TypeSet:
    elements = [kind.element if kind.is_certainly("List") else kind for kind in (left, right)]
    first, second = elements
    return list_of(first if first is not None and first == second else ANY)


_WHOLE: Final[Mapping[ast.BinaryOperator, Callable[[int, int], int]]] = {
    ast.BinaryOperator.ADD: add,
    ast.BinaryOperator.SUBTRACT: sub,
    ast.BinaryOperator.MULTIPLY: mul,
}
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1
_PERCENTILES: Final = frozenset(("percentilecont", "percentiledisc"))
_POINTS: Final = (frozenset(("x", "y")), frozenset(("latitude", "longitude")))


def check_range(node: ast.Binary, scope: Scope) -> None:
    """Checks that the sum, difference or product of two literals fits 64 bits.

    Raises:
        CypherSyntaxError: It does not.
    """
    compute = _WHOLE.get(node.operator)
    left, right = _whole(node.left), _whole(node.right)
    if compute is None or left is None or right is None:
        return
    if not _SMALLEST <= compute(left, right) <= _LARGEST:
        one, two = (each.span.of(scope.text) for each in (node.left, node.right))
        message = f"result of {one} {node.operator} {two} cannot be represented as an integer"
        scope.fail(message, node.span, "22003")


def check_literals(node: ast.FunctionCall, scope: Scope) -> None:
    """Checks the literal share of a percentile and the literal map of a point.

    Raises:
        CypherSyntaxError: The literal is invalid for its function.
    """
    name = node.name.lower()
    if name in _PERCENTILES:
        _check_share(node.arguments[1], scope)
    if name == "point" and isinstance(node.arguments[0], ast.MapLiteral):
        _check_point(node.arguments[0], scope)


def _check_share(share: ast.Expression, scope: Scope) -> None:
    value = _number(share)
    if isinstance(share, ast.Literal) and share.value is None:
        written = "NULL"
    elif value is None or 0 <= value <= 1:
        return
    else:
        written = share.span.of(scope.text)
    message = (
        f"Invalid input '{written}' is not a valid argument, must be a number in the range 0.0"
        " to 1.0"
    )
    scope.fail(message, share.span, "42N31")


def _check_point(made: ast.MapLiteral, scope: Scope) -> None:
    keys = [key for key, _ in made.entries]
    if any(wanted <= set(keys) for wanted in _POINTS):
        return
    named = ", ".join(f"'{key}'" for key in keys)
    message = (
        f"A map with keys {named} is not describing a valid point, a point is described either by"
        " using cartesian coordinates e.g. {x: 2.3, y: 4.5, crs: 'cartesian'} or using geographic"
        " coordinates e.g. {latitude: 12.78, longitude: 56.7, crs: 'WGS-84'}"
    )
    scope.fail(message, made.span)


def _number(node: ast.Expression) -> float | None:
    """The number of a literal, with an optional sign."""
    if isinstance(node, ast.Unary) and node.operator is ast.UnaryOperator.MINUS:
        found = _number(node.operand)
        return None if found is None else -found
    value = node.value if isinstance(node, ast.Literal) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(node: ast.Expression) -> int | None:
    found = _number(node)
    return found if isinstance(found, int) else None


SUBQUERIES: Final = frozenset[type[ast.Node]]((ast.QueryBody,))
"""Nested queries in an expression, excluded from walks over one query."""

_LITERALS: Final[Mapping[type, TypeSet]] = {
    bool: BOOLEAN,
    int: INTEGER,
    float: of("Float"),
    str: STRING,
}
_TEMPORAL: Final = ("Duration", "Date", "Time", "LocalTime", "LocalDateTime", "DateTime")
_ENTITIES: Final = of("Node", "Relationship")
_WITH_KEYS: Final = of("Map", "Node", "Relationship", "Point", *_TEMPORAL)
_WITH_PROPERTIES: Final = of("Map", "Node", "Relationship")
_ENTITY_TYPES: Final = frozenset(("Node", "Relationship"))
_STORABLE: Final = of("Boolean", "Float", "Integer", "String", "Point", "List", *_TEMPORAL)
"""Types that a property of a node or relationship can have."""
_NUMBER: Final = of("Float", "Integer")
_LOGICAL: Final = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)
_ELEMENTS: Final = {
    "labels": STRING,
    "keys": STRING,
    "split": STRING,
    "range": INTEGER,
    "nodes": of("Node"),
    "relationships": of("Relationship"),
}
_OPERAND: Final = "22NB1"
"""GQLSTATUS for a wrong type of an operator's operand."""
_PATTERN: Final = (
    "A pattern expression should only be used in order to test the existence of a pattern: write it"
    " in WHERE or with exists(...), or take COUNT { … } or a pattern comprehension"
)


@dataclass(frozen=True, slots=True)
class InnerChecks:
    """The checks for patterns and queries inside an expression."""

    pattern: Callable[[ast.Pattern, Scope], None]
    comprehension: Callable[[ast.Pattern, Scope], Scope]
    shortest: Callable[[ast.Pattern, Scope], None]
    subquery: Callable[[ast.Subquery, Scope], TypeSet]


def is_aggregate(node: ast.Node) -> bool:
    """True for an aggregate."""
    if isinstance(node, ast.CountStar):
        return True
    if not isinstance(node, ast.FunctionCall):
        return False
    found = signature(node.name)
    return found is not None and found.aggregates


def check_condition(
    node: ast.Expression, scope: Scope, inner: InnerChecks, status: str | None = None
) -> None:
    """Checks a condition, which may also be a pattern.

    Args:
        node: The condition.
        scope: The visible variables.
        inner: The checks for queries and patterns in it.
        status: GQLSTATUS of a wrong type; None for that of a condition by itself.

    Raises:
        CypherSyntaxError: It cannot be a truth value, or a part of it is invalid.
    """
    if isinstance(node, ast.PatternExpression):
        inner.pattern(node.pattern, scope)
        return
    found = check_expression(node, scope, inner)
    if found.is_certainly("List"):
        if scope.parameters:  # of the text alone, it was no list: Neo4j converts such a value
            return
        message = (
            "Coercion of list to boolean is not allowed. Please use `NOT isEmpty(...)` instead."
        )
        scope.fail(message, node.span, "22N37")
    scope.expect(found, BOOLEAN, node.span, status or _status(node))


def _status(node: ast.Expression) -> str:
    """GQLSTATUS for a wrong type, which depends on whether a variable or another value has it."""
    return "22N27" if isinstance(node, ast.Variable) else "22NB1"


def check_expression(node: ast.Expression, scope: Scope, inner: InnerChecks) -> TypeSet:
    """The possible types of an expression.

    Raises:
        CypherSyntaxError: A part of it is invalid.
    """
    return _VISITORS[type(node)](node, scope, inner)


# ------------------------------------------------------------------ values
def _literal(node: ast.Literal, scope: Scope, inner: InnerChecks) -> TypeSet:
    return _LITERALS.get(type(node.value), ANY)


def _any(node: ast.Expression, scope: Scope, inner: InnerChecks) -> TypeSet:
    return ANY


def _parameter(node: ast.Parameter, scope: Scope, inner: InnerChecks) -> TypeSet:
    return scope.parameters.get(node.name, ANY)


def _variable(node: ast.Variable, scope: Scope, inner: InnerChecks) -> TypeSet:
    return scope.read(node)


def _list(node: ast.ListLiteral, scope: Scope, inner: InnerChecks) -> TypeSet:
    kinds = {check_expression(item, scope, inner) for item in node.items}
    if len(kinds) == 1:
        return list_of(kinds.pop())
    types = {kind.types for kind in kinds}
    return list_of(TypeSet(types.pop()) if len(types) == 1 else ANY)


def _map(node: ast.MapLiteral, scope: Scope, inner: InnerChecks) -> TypeSet:
    for _, value in node.entries:
        check_expression(value, scope, inner)
    return MAP


def _property(node: ast.Property, scope: Scope, inner: InnerChecks) -> TypeSet:
    found = check_expression(node.subject, scope, inner)
    scope.expect(found, _WITH_KEYS, node.subject.span, _status(node.subject))
    return _STORABLE if found.types is not None and found.types <= _ENTITY_TYPES else ANY


def _subscript(node: ast.Subscript, scope: Scope, inner: InnerChecks) -> TypeSet:
    subject = check_expression(node.subject, scope, inner)
    index = check_expression(node.index, scope, inner)
    if isinstance(node.subject, ast.Parameter) and index.is_certainly("String"):
        scope.expect(subject, _WITH_KEYS, node.subject.span)  # the same as $parameter.key
        return ANY
    if subject.is_certainly("List"):
        scope.expect(index, INTEGER, node.index.span, "22N27")
        return subject.element or ANY
    if subject.types is not None and subject.has("List") and not subject.overlaps(_WITH_PROPERTIES):
        _expect_place(index, node.index, scope)
    if subject.types is not None and subject.types <= {"Map", "Node", "Relationship"}:
        scope.expect(index, STRING, node.index.span, "22N27")
    if not _is_temporal(subject) or index.is_certainly("Integer"):  # otherwise accepted like maps
        wanted = of("List", "Map", "Node", "Relationship")
        scope.expect(subject, wanted, node.subject.span, _status(node.subject))
    return ANY


def _expect_place(index: TypeSet, node: ast.Expression, scope: Scope) -> None:
    """Checks the subscript of a property: among storable values only lists have subscripts."""
    if not index.overlaps(INTEGER):
        message = f"Type mismatch: list index must be given as Integer, but was {index}"
        scope.fail(message, node.span, "22N27")


def _is_temporal(found: TypeSet) -> bool:
    return found.types is not None and found.types <= frozenset(_TEMPORAL)


def _slice(node: ast.Slice, scope: Scope, inner: InnerChecks) -> TypeSet:
    subject = check_expression(node.subject, scope, inner)
    scope.expect(subject, LIST, node.subject.span, _status(node.subject))
    for bound in (node.start, node.end):
        if bound is not None:
            scope.expect(check_expression(bound, scope, inner), INTEGER, bound.span)
    return _as_list(subject)


def _as_list(kind: TypeSet) -> TypeSet:
    return kind if kind.is_certainly("List") else LIST


# ------------------------------------------------------------------ operators
def _unary(node: ast.Unary, scope: Scope, inner: InnerChecks) -> TypeSet:
    if node.operator is ast.UnaryOperator.NOT:
        check_condition(node.operand, scope, inner, _OPERAND)
        return BOOLEAN
    found = check_expression(node.operand, scope, inner)
    if node.operator in (ast.UnaryOperator.IS_NULL, ast.UnaryOperator.IS_NOT_NULL):
        return BOOLEAN
    if node.operator is ast.UnaryOperator.PLUS and isinstance(node.operand, ast.Parameter):
        return found
    scope.expect(found, _NUMBER, node.operand.span, _OPERAND)
    numbers = _NUMBER.types or frozenset()
    return TypeSet(numbers if found.types is None else numbers & found.types)


def _binary(node: ast.Binary, scope: Scope, inner: InnerChecks) -> TypeSet:
    if node.operator in _LOGICAL:
        check_condition(node.left, scope, inner, _OPERAND)
        check_condition(node.right, scope, inner, _OPERAND)
        return BOOLEAN
    left = check_expression(node.left, scope, inner)
    right = check_expression(node.right, scope, inner)
    scope.expect(left, left_types(node.operator), node.left.span, _OPERAND)
    wanted = operand_types(node.operator, left)
    if node.operator is Op.ADD and scope.parameters:
        wanted = None  # versions differ: 5.26 refuses `$boolean + 'text'`, 2026.08 takes it
    if wanted is not None and not right.overlaps(wanted):
        status = _status(node.right) if node.operator is Op.IN else _OPERAND
        scope.expect(right, wanted, node.right.span, status)
    check_range(node, scope)
    return result_type(node.operator, left, right)


def _comparison(node: ast.Comparison, scope: Scope, inner: InnerChecks) -> TypeSet:
    for operand in node.operands:
        check_expression(operand, scope, inner)
    return BOOLEAN


def _predicate(
    node: ast.TypePredicate | ast.NormalizedPredicate, scope: Scope, inner: InnerChecks
) -> TypeSet:
    check_expression(node.operand, scope, inner)
    for part in walk(node.type) if isinstance(node, ast.TypePredicate) else ():
        if isinstance(part, ast.UnionType) and len(set(map(_is_not_null, part.alternatives))) > 1:
            message = (
                "All types in a Closed Dynamic Union must be nullable, or be appended with"
                " `NOT NULL`"
            )
            scope.fail(message, part.span)
    return BOOLEAN


def _is_not_null(wanted: ast.CypherType) -> bool:
    return not isinstance(wanted, ast.UnionType) and getattr(wanted, "not_null", False)


def _label_predicate(node: ast.LabelPredicate, scope: Scope, inner: InnerChecks) -> TypeSet:
    found = check_expression(node.subject, scope, inner)
    scope.expect(found, _ENTITIES, node.subject.span, _status(node.subject))
    if any(isinstance(each, ast.LabelDynamic) for each in walk(node.labels)):
        message = (
            "Dynamic Label and Types are only allowed in MATCH, CREATE, MERGE, SET and REMOVE"
            " clauses."
        )
        scope.fail(message, node.labels.span)
    return BOOLEAN


# ------------------------------------------------------------------ calls
def _call(node: ast.FunctionCall, scope: Scope, inner: InnerChecks) -> TypeSet:
    found = signature(node.name)
    if found is None:
        return _unknown(node, scope, inner)
    _check_count(node, found, scope)
    if node.name.lower() == "exists":
        return _exists(node, scope, inner)
    if node.distinct and not found.aggregates:
        scope.fail(f"Invalid use of DISTINCT with function '{node.name}'", node.span)
    kinds = [check_expression(each, scope, inner) for each in node.arguments]
    for argument, kind, wanted in zip(node.arguments, kinds, found.arguments, strict=False):
        scope.expect(kind, wanted, argument.span, "22N27")
    check_literals(node, scope)
    return _result(node.name.lower(), kinds, found)


def _unknown(node: ast.FunctionCall, scope: Scope, inner: InnerChecks) -> TypeSet:
    if "." not in node.name:
        scope.fail(unknown_function(node.name), node.span)
    for argument in node.arguments:  # a plugin's function, whose signature is unknown here
        check_expression(argument, scope, inner)
    return ANY


def _check_count(node: ast.FunctionCall, found: Signature, scope: Scope) -> None:
    count = len(node.arguments)
    if count < found.least or (found.most is not None and count > found.most):
        problem = "Insufficient" if count < found.least else "Too many"
        scope.fail(f"{problem} parameters for function '{node.name}'", node.span, "42I13")


def _exists(node: ast.FunctionCall, scope: Scope, inner: InnerChecks) -> TypeSet:
    (argument,) = node.arguments
    if not isinstance(argument, ast.PatternExpression):
        message = "Argument to exists(...) is not a pattern: write ... IS NOT NULL"
        scope.fail(message, argument.span, "22N27")
    inner.pattern(argument.pattern, scope)
    return BOOLEAN


def _result(name: str, kinds: list[TypeSet], found: Signature) -> TypeSet:
    if name == "coalesce":
        return _united(set(kinds))
    if name in ("head", "last"):
        return kinds[0].element or ANY
    if name == "tail":
        return _as_list(kinds[0])
    if name in ("reverse", "max", "min", "abs"):
        return kinds[0]
    if name == "collect":
        return list_of(kinds[0])
    return list_of(_ELEMENTS[name]) if name in _ELEMENTS else found.result


def _count_star(node: ast.CountStar, scope: Scope, inner: InnerChecks) -> TypeSet:
    return INTEGER


def _trim(node: ast.Trim, scope: Scope, inner: InnerChecks) -> TypeSet:
    for part in (node.characters, node.subject):
        if part is not None:
            scope.expect(check_expression(part, scope, inner), STRING, part.span, "22N27")
    return STRING


def _case(node: ast.Case, scope: Scope, inner: InnerChecks) -> TypeSet:
    if node.operand is not None:
        check_expression(node.operand, scope, inner)
    kinds = set()
    for alternative in node.alternatives:
        for condition in alternative.conditions:
            check_condition(condition, scope, inner)
        kinds.add(check_expression(alternative.result, scope, inner))
    if node.otherwise is not None:
        kinds.add(check_expression(node.otherwise, scope, inner))
    return _united(kinds)


def _united(kinds: set[TypeSet]) -> TypeSet:
    if len(kinds) == 1:
        return kinds.pop()
    found: set[str] = set()
    for kind in kinds:
        if kind.types is None:
            return ANY
        found |= kind.types
    return TypeSet(frozenset(found))


# ------------------------------------------------------------------ lists
def _element(
    variable: ast.Variable, elements: ast.Expression, scope: Scope, inner: InnerChecks
) -> Scope:
    """The scope with a variable for each element."""
    found = check_expression(elements, scope, inner)
    scope.expect(found, LIST, elements.span, _status(elements))
    scope.check_local(variable)
    element = found.element if found.is_certainly("List") else None
    return scope.with_locals({variable.name: element or ANY})


def _list_comprehension(node: ast.ListComprehension, scope: Scope, inner: InnerChecks) -> TypeSet:
    within = _element(node.variable, node.elements, scope, inner)
    if node.where is not None:
        _refuse_aggregates(node.where, scope)
        check_condition(node.where, within, inner)
    if node.projection is None:
        return list_of(within.variables[node.variable.name])
    _refuse_aggregates(node.projection, scope)
    return list_of(check_expression(node.projection, within, inner))


def refuse_aggregates(node: ast.Expression, scope: Scope) -> None:
    """Rejects aggregates in a position where they are not allowed.

    Raises:
        CypherSyntaxError: There is an aggregate.
    """
    for part in walk(node, without=SUBQUERIES):
        if is_aggregate(part):
            name = part.name if isinstance(part, ast.FunctionCall) else "count"
            message = f"Invalid use of aggregating function {name}(...) in this context"
            scope.fail(message, part.span)


def _refuse_aggregates(node: ast.Expression, scope: Scope) -> None:
    for part in walk(node, without=SUBQUERIES):
        if is_aggregate(part):
            message = "Can't use aggregating expressions inside of expressions executing over lists"
            scope.fail(message, part.span)


def _list_predicate(node: ast.ListPredicate, scope: Scope, inner: InnerChecks) -> TypeSet:
    _refuse_aggregates(node.where, scope)
    within = _element(node.variable, node.elements, scope, inner)
    check_condition(node.where, within, inner)
    return BOOLEAN


def _reduce(node: ast.Reduce | ast.AllReduce, scope: Scope, inner: InnerChecks) -> TypeSet:
    _refuse_aggregates(node.step, scope)
    start = check_expression(node.initial, scope, inner)
    scope.check_local(node.accumulator)
    within = _element(node.variable, node.elements, scope, inner)
    if node.accumulator.name == node.variable.name:
        scope.fail(f"Variable `{node.variable.name}` already declared", node.variable.span)
    # The accumulator's type is that of its start or of a step; steps are not iterated here.
    guess = within.with_locals({node.accumulator.name: start})
    step = check_expression(node.step, guess, inner)
    if not step.overlaps(start) and not (start.overlaps(_NUMBER) and step.overlaps(_NUMBER)):
        message = f"Type mismatch: accumulator is {start} but expression has type {step}"
        scope.fail(message, node.step.span, "22N27")
    if isinstance(node, ast.AllReduce):
        check_condition(node.predicate, guess, inner)
        return BOOLEAN
    return _accumulated(start, step)


def _accumulated(start: TypeSet, step: TypeSet) -> TypeSet:
    """The common type of start and step; the step's type if they have none in common."""
    if start == step or start.types is None:
        return step
    common = start.types if step.types is None else start.types & step.types
    return TypeSet(common) if common else step


def _map_projection(node: ast.MapProjection, scope: Scope, inner: InnerChecks) -> TypeSet:
    subject = check_expression(node.subject, scope, inner)
    if not _is_temporal(subject):
        scope.expect(subject, _WITH_PROPERTIES, node.subject.span, "22N27")
    for selector in node.selectors:
        if isinstance(selector, ast.MapEntry):
            check_expression(selector.value, scope, inner)
        elif isinstance(selector, ast.MapVariable):
            scope.read(selector.variable)
    return MAP


# ------------------------------------------------------------------ patterns and queries
def _pattern(node: ast.PatternExpression, scope: Scope, inner: InnerChecks) -> TypeSet:
    inner.pattern(node.pattern, scope)
    scope.fail(_PATTERN, node.span)


def _shortest(node: ast.ShortestPathExpression, scope: Scope, inner: InnerChecks) -> TypeSet:
    inner.shortest(node.pattern, scope)
    selector = node.pattern.selector
    one = selector is not None and selector.kind is ast.SelectorKind.SHORTEST_PATH
    return of("Path") if one else list_of(of("Path"))


def _pattern_comprehension(
    node: ast.PatternComprehension, scope: Scope, inner: InnerChecks
) -> TypeSet:
    within = inner.comprehension(node.pattern, scope)
    if node.where is not None:
        check_condition(node.where, within, inner)
    _refuse_aggregates(node.projection, scope)
    return list_of(check_expression(node.projection, within, inner))


def _subquery(node: ast.Subquery, scope: Scope, inner: InnerChecks) -> TypeSet:
    return inner.subquery(node, scope)


_VISITORS: Final[Mapping[type, Callable[[Any, Scope, InnerChecks], TypeSet]]] = {
    ast.Literal: _literal,
    ast.Parameter: _parameter,
    ast.CaseOperand: _any,
    ast.Variable: _variable,
    ast.ListLiteral: _list,
    ast.MapLiteral: _map,
    ast.Property: _property,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Comparison: _comparison,
    ast.TypePredicate: _predicate,
    ast.NormalizedPredicate: _predicate,
    ast.LabelPredicate: _label_predicate,
    ast.FunctionCall: _call,
    ast.CountStar: _count_star,
    ast.Trim: _trim,
    ast.Case: _case,
    ast.ListComprehension: _list_comprehension,
    ast.ListPredicate: _list_predicate,
    ast.Reduce: _reduce,
    ast.AllReduce: _reduce,
    ast.MapProjection: _map_projection,
    ast.PatternExpression: _pattern,
    ast.ShortestPathExpression: _shortest,
    ast.PatternComprehension: _pattern_comprehension,
    ast.ExistsSubquery: _subquery,
    ast.CountSubquery: _subquery,
    ast.CollectSubquery: _subquery,
}
