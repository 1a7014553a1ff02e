"""Checks patterns: their forms, the types of their variables, their contents, and hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.check.expressions import (
    InnerChecks,
    check_condition,
    check_expression,
    refuse_aggregates,
)
from gpugda.query.check.scope import STRING, list_of, of
from gpugda.query.constants import always_holds, never_holds
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.check.scope import Scope, TypeSet

__all__ = [
    "check_aliases",
    "check_forms",
    "check_hints",
    "check_named",
    "check_patterns",
    "check_shortest",
    "is_selective",
    "is_shortest",
    "named_variables",
]

_SHORTEST: Final = (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS)


def check_forms(patterns: tuple[ast.Pattern, ...], scope: Scope, *, repeats: bool) -> None:
    """Checks the patterns of one clause; ``repeats``: True if relationships may repeat.

    Raises:
        CypherSyntaxError: A form is invalid, or cannot be combined with another one.
    """
    for pattern in patterns:
        _check_form(pattern, scope)
    _check_together(patterns, scope, repeats=repeats)
    if repeats:
        _check_bounded(patterns, scope)


def named_variables(pattern: ast.Pattern) -> Iterator[ast.Variable]:
    """The variables of nodes and relationships, including those in groups."""
    for element in pattern.elements:
        if isinstance(element, ast.GroupPattern):
            yield from named_variables(element.pattern)
        elif element.variable is not None:
            yield element.variable


# ------------------------------------------------------------------ variables
def _check_form(pattern: ast.Pattern, scope: Scope) -> None:
    selector = pattern.selector
    if is_shortest(pattern):
        check_shortest(pattern, scope)
    if selector is not None and selector.count == 0:
        scope.fail("The path count needs to be greater than 0.", selector.span, "42N31")
    alone = selector is not None and len(pattern.elements) == 1
    for element in pattern.elements:
        if isinstance(element, ast.GroupPattern):
            _check_group_form(element, scope, may_have_name=alone)
    _check_quantifiers(pattern, scope)


def _check_group_form(group: ast.GroupPattern, scope: Scope, *, may_have_name: bool) -> None:
    inside = group.pattern
    if inside.selector is not None:
        message = "Path selectors are not supported within parenthesized path patterns."
        scope.fail(message, inside.selector.span)
    if inside.variable is not None and group.quantifier is not None:
        message = "Assigning a path in a quantified path pattern is not yet supported."
        scope.fail(message, inside.variable.span)
    if inside.variable is not None and not may_have_name:
        scope.fail("Sub-path assignment is currently not supported.", inside.variable.span)
    if group.quantifier is not None:
        _check_repeatable(inside, scope)
    for element in inside.elements:
        if isinstance(element, ast.GroupPattern):
            _check_group_form(element, scope, may_have_name=False)


def _check_repeatable(inside: ast.Pattern, scope: Scope) -> None:
    for element in walk(inside, without=frozenset((ast.MapLiteral,))):
        parts = ast.GroupPattern | ast.RelationshipPattern
        if isinstance(element, parts) and element.quantifier is not None:
            scope.fail("Quantified path patterns are not allowed to be nested.", element.span)
        if isinstance(element, ast.RelationshipPattern) and element.length is not None:
            message = "Variable length relationships cannot be part of a quantified path pattern."
            scope.fail(message, element.span)
    if not any(isinstance(element, ast.RelationshipPattern) for element in inside.elements):
        message = "A quantified path pattern needs to have at least one relationship."
        scope.fail(message, inside.span)


def _check_quantifiers(pattern: ast.Pattern, scope: Scope) -> None:
    for element in pattern.elements:
        quantifier = None if isinstance(element, ast.NodePattern) else element.quantifier
        if quantifier is None or quantifier.maximum is None:
            continue
        if quantifier.maximum == 0:
            message = "A quantifier for a path pattern must not be limited by 0."
            scope.fail(message, quantifier.span, "42N31")
        if quantifier.minimum > quantifier.maximum:
            message = (
                "A quantifier for a path pattern must not have a lower bound which exceeds its"
                " upper bound."
            )
            scope.fail(message, quantifier.span)


def _check_bounded(patterns: tuple[ast.Pattern, ...], scope: Scope) -> None:
    """Rejects unbounded repetitions, for patterns whose relationships may repeat."""
    for pattern, element in ((each, e) for each in patterns for e in each.elements):
        quantifier = None if isinstance(element, ast.NodePattern) else element.quantifier
        if quantifier is not None and quantifier.maximum is None:
            message = (
                "The quantified path pattern may yield an infinite number of rows under match mode"
                " 'REPEATABLE ELEMENTS'. Add an upper bound to the quantified path pattern."
            )
            scope.fail(message, pattern.span)


def _check_together(patterns: tuple[ast.Pattern, ...], scope: Scope, *, repeats: bool) -> None:
    """Rejects combinations of patterns in a clause that are valid separately."""
    selective = [each.selector for each in patterns if is_selective(each)]
    if selective and len(patterns) > 1 and not repeats and selective[0] is not None:
        message = (
            "Multiple path patterns cannot be used in the same clause in combination with a"
            " selective path selector."
        )
        scope.fail(message, selective[0].span, "42I45")
    for pattern in patterns:
        if is_selective(pattern) and len(patterns) > 1:
            _refuse_inner(pattern, [each for each in patterns if each is not pattern], scope)
    elements = [element for pattern in patterns for element in pattern.elements]
    long = [e for e in elements if isinstance(e, ast.RelationshipPattern) and e.length is not None]
    quantified = [e for e in elements if not isinstance(e, ast.NodePattern) and e.quantifier]
    if long and quantified:
        message = (
            "Mixing variable-length relationships ('-[*]-') with quantified relationships"
            " ('()-->*()') or quantified path patterns ('(()-->())*') is not allowed."
        )
        scope.fail(message, long[0].span)


def _refuse_inner(pattern: ast.Pattern, others: list[ast.Pattern], scope: Scope) -> None:
    """Rejects inner variables of a selected path that other paths of the clause use."""
    ends = {id(pattern.elements[0]), id(pattern.elements[-1])}
    inner = ast.Pattern(pattern.span, None, tuple(e for e in pattern.elements if id(e) not in ends))
    elsewhere = {each.name for other in others for each in named_variables(other)}
    for variable in named_variables(inner):
        if variable.name in elsewhere:
            scope.fail(f"Variable `{variable.name}` already declared", variable.span)


def is_selective(pattern: ast.Pattern) -> bool:
    """True if it selects paths, other than with ``shortestPath`` and the like."""
    selector = pattern.selector
    return selector is not None and selector.kind not in (*_SHORTEST, ast.SelectorKind.ALL)


def is_shortest(pattern: ast.Pattern) -> bool:
    """True for ``shortestPath(…)`` and ``allShortestPaths(…)``."""
    return pattern.selector is not None and pattern.selector.kind in _SHORTEST


def check_shortest(pattern: ast.Pattern, scope: Scope) -> None:
    """Checks the path in ``shortestPath(…)`` and ``allShortestPaths(…)``.

    Raises:
        CypherSyntaxError: It has other than one relationship, or a minimum length above 1.
    """
    selector = pattern.selector
    name = "shortestPath" if selector is None else selector.kind
    relationships = [e for e in pattern.elements if isinstance(e, ast.RelationshipPattern)]
    if len(pattern.elements) != 3 or len(relationships) != 1:
        message = f"{name}(...) requires a pattern containing a single relationship"
        scope.fail(message, pattern.span, "42N40")
    arrow = relationships[0]
    if arrow.variable is not None and arrow.variable.name in scope.variables:
        scope.fail(f"Bound relationships not allowed in {name}(...)", pattern.span)
    if arrow.properties is not None:
        message = f"{name}(...) contains properties. This is currently not supported."
        scope.fail(message, arrow.properties.span)
    if arrow.quantifier is not None:
        message = f"{name}(...) contains quantified pattern. This is currently not supported."
        scope.fail(message, arrow.span)
    if arrow.where is not None:
        message = (
            "Relationship pattern predicates are not supported for variable-length relationships."
        )
        scope.fail(message, arrow.where.span)
    length = arrow.length
    if length is not None and length.bounds[0] not in (0, 1):
        message = f"{name}(...) does not support a minimal length different from 0 or 1"
        scope.fail(message, length.span)


# ------------------------------------------------------------------ columns
def check_named(body: ast.QueryBody, scope: Scope, place: str) -> None:
    """Requires that the query names its columns.

    Raises:
        CypherSyntaxError: A column is an expression without AS.
    """
    for part in body.parts:
        for clause in part.clauses:
            check_aliases(clause, scope, place)


def check_aliases(clause: ast.Clause, scope: Scope, place: str) -> None:
    """Requires that the clause, if it is RETURN, names its columns.

    Raises:
        CypherSyntaxError: A column is an expression without AS.
    """
    for item in clause.projection.items if isinstance(clause, ast.Return) else ():
        has_name = isinstance(item.expression, ast.Variable | ast.MapProjection)
        if item.alias is None and not has_name:
            message = f"Expression in {place} must be aliased (use AS)"
            scope.fail(message, item.span, "42N21")


_NODE: Final = of("Node")
_ENTITY: Final = of("Node", "Relationship")
_LOGICAL: Final = (ast.BinaryOperator.AND, ast.BinaryOperator.OR)
_OF_TEXTS: Final = (
    ast.BinaryOperator.STARTS_WITH,
    ast.BinaryOperator.ENDS_WITH,
    ast.BinaryOperator.CONTAINS,
)
_ON_TEXT: Final = (*_OF_TEXTS, ast.BinaryOperator.MATCHES)
_EQUALITIES: Final = (ast.ComparisonOperator.EQUAL, ast.ComparisonOperator.NOT_EQUAL)
_BY_INDEX: Final = (*_OF_TEXTS, ast.BinaryOperator.IN)
_NOT_WITHIN: Final = frozenset[type[ast.Node]]((ast.LabelNot,))


def check_hints(clause: ast.Match, scope: Scope) -> None:
    """Checks the hints of a clause; its variables are in scope.

    Raises:
        CypherSyntaxError: A variable cannot have such a hint, or the clause does not name the
            hint's label, type or one of its properties.
    """
    for hint in clause.hints:
        for variable in hint.variables:
            wanted = _NODE if hint.label is None else _ENTITY
            scope.expect(scope.read(variable), wanted, variable.span, "22N27")
        if hint.label is not None:
            _check_names(hint, clause, scope)


def _check_names(hint: ast.Hint, clause: ast.Match, scope: Scope) -> None:
    name = hint.variables[0].name
    elements = [
        each
        for pattern in clause.patterns
        for each in walk(pattern)
        if isinstance(each, ast.NodePattern | ast.RelationshipPattern)
        and each.variable is not None
        and each.variable.name == name
    ]
    tests = list(_tests(clause.where))
    labels = [e.labels if isinstance(e, ast.NodePattern) else e.types for e in elements]
    labels += [each.labels for each in tests if isinstance(each, ast.LabelPredicate)]
    missing = ""
    if hint.label not in {label for each in labels for label in _label_names(each)}:
        missing = f"label or type `{hint.label}`"
    keys = {key for each in elements for key in _map_keys(each)}
    keys.update(_keys([*tests, *(test for e in elements for test in _tests(e.where))], name))
    missing = missing or ", ".join(f"property `{key}`" for key in hint.keys if key not in keys)
    kind = "SyntaxError"
    if not missing and "TEXT" in hint.kind.upper().split():
        in_map = [v for e in elements for key, v in _entries(e) if key in hint.keys]
        wheres = (clause.where, *(e.where for e in elements))
        found = any(map(_may_be_text, in_map))
        found = found or any(_requires_text(each, name, hint.keys) for each in wheres)
        missing, kind = "" if found else "text to compare with a property", "SemanticError"
    if missing:
        message = (
            f"Cannot use {hint.span.of(scope.text)} in this context: the pattern, or WHERE outside"
            f" of functions and NOT, must name the {missing} of `{name}`"
        )
        scope.fail(message, hint.span, "42N76", kind)


def _tests(where: ast.Expression | None, *, negated: bool = False) -> Iterator[ast.Expression]:
    """The conditions that AND, OR and NOT combine, without labels and null tests that NOT turns."""
    if isinstance(where, ast.Binary) and where.operator in _LOGICAL:
        yield from _tests(where.left, negated=negated)
        yield from _tests(where.right, negated=negated)
    elif inner := _negated(where):
        tests = _tests(inner, negated=not negated)
        yield from (each for each in tests if not isinstance(each, ast.LabelPredicate))
    elif where is not None and not (negated and isinstance(where, ast.Unary)):
        yield where


def _negated(where: ast.Expression | None) -> ast.Expression | None:
    """The condition that NOT negates; None for others."""
    match where:
        case ast.Unary(operator=ast.UnaryOperator.NOT, operand=operand):
            return operand
    return None


def _label_names(labels: ast.LabelExpression | None) -> Iterator[str]:
    if labels is None or isinstance(labels, ast.LabelNot):
        return
    for each in walk(labels, without=_NOT_WITHIN):
        if isinstance(each, ast.LabelName):
            yield each.name


def _map_keys(element: ast.NodePattern | ast.RelationshipPattern) -> Iterator[str]:
    yield from (key for key, _ in _entries(element))


def _entries(
    element: ast.NodePattern | ast.RelationshipPattern,
) -> Iterator[tuple[str, ast.Expression]]:
    if isinstance(element.properties, ast.MapLiteral):
        yield from element.properties.entries


def _requires_text(
    where: ast.Expression | None, name: str, keys: tuple[str, ...], *, negated: bool = False
) -> bool:
    """True if no row passes a condition whose property differs from all of certain texts."""
    if inner := _negated(where):
        return _requires_text(inner, name, keys, negated=not negated)
    if isinstance(where, ast.Binary) and where.operator in _LOGICAL:
        either = (where.operator is ast.BinaryOperator.OR) is not negated
        ignored = always_holds if negated else never_holds
        sides = [side for side in (where.left, where.right) if not ignored(side)]
        found = [_requires_text(side, name, keys, negated=negated) for side in sides]
        if not either:
            return any(found)
        if len(sides) > 1 and not _are_one(*sides):
            # Neo4j makes IN of equalities only.
            found += [_is_equality(side, negated=negated) for side in sides]
        return all(found)
    if _reads_text(where, name, keys):
        return True
    if where is None or not _compares(where, negated=negated):
        return False
    return any(map(_may_be_text, _compared_with(where, name, keys)))


def _are_one(test: ast.Expression, other: ast.Expression) -> bool:
    """True for conditions of which Neo4j drops one: equal ones without values written out."""
    return test == other and not any(isinstance(each, ast.Literal) for each in walk(test))


def _reads_text(where: ast.Expression | None, name: str, keys: tuple[str, ...]) -> bool:
    """True if a condition is null unless a property is a text, and so also below NOT."""
    match where:
        case ast.NormalizedPredicate(operand=read):
            pass
        case ast.Binary(operator=operator, left=read) if operator in _ON_TEXT:
            pass
        case _:
            return False
    return not _keys_of(read, name).isdisjoint(keys)


def _compares(where: ast.Expression, *, negated: bool) -> bool:
    """True if a condition, or its negation, compares a value other than for inequality.

    Neo4j turns a negated comparison around, if it stands alone.
    """
    operators: tuple[ast.ComparisonOperator, ...] = getattr(where, "operators", ())
    if negated:
        return len(operators) == 1 and operators[0] is not ast.ComparisonOperator.EQUAL
    return ast.ComparisonOperator.NOT_EQUAL not in operators


def _is_equality(test: ast.Expression, *, negated: bool) -> bool:
    """True for an equality, IN, or several of these that OR combines."""
    if inner := _negated(test):
        return _is_equality(inner, negated=not negated)
    match test:
        case ast.Binary(operator=operator, left=left, right=right) if operator in _LOGICAL:
            either = (operator is ast.BinaryOperator.OR) is not negated
            return either and all(_is_equality(each, negated=negated) for each in (left, right))
        case ast.Binary(operator=operator):
            return operator is ast.BinaryOperator.IN and not negated
        case ast.Comparison(operators=operators):
            equal, different = _EQUALITIES
            return operators == (different if negated else equal,)
    return False


def _compared_with(
    test: ast.Expression, name: str, keys: tuple[str, ...]
) -> Iterator[ast.Expression]:
    """What a condition compares with properties of a variable; a test of its type is its own."""
    parts: tuple[ast.Expression, ...] = (getattr(test, "operand", test), test)
    if isinstance(test, ast.Comparison):
        parts = test.operands
    elif isinstance(test, ast.Binary):
        parts = (test.left, test.right)
    elif isinstance(test, ast.Unary):
        return
    if any(not _keys_of(part, name).isdisjoint(keys) for part in parts):
        yield from (part for part in parts if _keys_of(part, name).isdisjoint(keys))


def _keys_of(part: ast.Expression, name: str) -> set[str]:
    if isinstance(part, ast.Property) and isinstance(part.subject, ast.Variable):
        return {part.key} if part.subject.name == name else set()
    return set()


def _may_be_text(value: ast.Expression) -> bool:
    """False if Neo4j cannot know that it is a text, or a list of texts."""
    if isinstance(value, ast.ListLiteral):
        return bool(value.items) and all(map(_may_be_text, value.items))
    if isinstance(value, ast.Literal):
        return isinstance(value.value, str)
    return not isinstance(value, ast.Property)


def _keys(tests: list[ast.Expression], name: str) -> set[str]:
    """The properties of a variable that conditions compare in a way that an index serves."""
    return {key for test in tests for part in _served(test) for key in _keys_of(part, name)}


def _served(test: ast.Expression) -> Iterator[ast.Expression]:
    """The operands that an index can find."""
    match test:
        case ast.Comparison(operands=operands, operators=operators):
            for place, operator in enumerate(operators):
                yield from _served_by(operator, operands[place : place + 2])
        case ast.FunctionCall():
            yield from _point_of(test, "point.withinbbox")
        case ast.NormalizedPredicate(operand=operand, negated=False):
            yield operand
        case ast.Binary(operator=operator, left=left) if operator in _BY_INDEX:
            yield left
        case ast.Unary(operator=ast.UnaryOperator.IS_NOT_NULL, operand=operand):
            yield operand
        case ast.TypePredicate(operand=operand, type=kind, negated=False):
            if getattr(kind, "not_null", False):
                yield operand


def _served_by(
    operator: ast.ComparisonOperator, operands: tuple[ast.Expression, ...]
) -> Iterator[ast.Expression]:
    if operator is not ast.ComparisonOperator.NOT_EQUAL:
        yield from operands
    if operator not in _EQUALITIES:
        for operand in operands:
            yield from _point_of(operand, "point.distance")


def _point_of(call: ast.Expression, name: str) -> Iterator[ast.Expression]:
    """The point that an index of points finds by a call of this function."""
    if isinstance(call, ast.FunctionCall) and call.name.lower() == name:
        yield from call.arguments[:1]


_RELATIONSHIP: Final = of("Relationship")
_PATH: Final = of("Path")
_NAMES: Final = of("String", "List")


def check_patterns(
    patterns: tuple[ast.Pattern, ...], scope: Scope, inner: InnerChecks, *, repeats: bool = False
) -> None:
    """Declares the variables of the patterns of one clause, and checks their contents.

    ``repeats``: True if relationships may repeat.

    Raises:
        CypherSyntaxError: A part is invalid.
    """
    check_forms(patterns, scope, repeats=repeats)
    groups: dict[str, ast.Variable] = {}
    for pattern in patterns:
        _declare(pattern, scope, groups)
    paths = {each.variable.name for each in patterns if each.variable is not None}
    for pattern in patterns:
        _refuse_paths(pattern, paths, scope)
        _check_inside(pattern.elements, scope, inner)


def _refuse_paths(pattern: ast.Pattern, paths: set[str], scope: Scope) -> None:
    """Rejects path variables of the clause inside brackets or selected paths."""
    kind = "selective" if is_selective(pattern) else ""
    for element in pattern.elements if paths else ():
        within = kind
        if isinstance(element, ast.GroupPattern):
            within = "parenthesized" if element.quantifier is None else "quantified"
        read = walk(element) if within else ()
        for name in (each.name for each in read if isinstance(each, ast.Variable)):
            if name in paths:
                message = (
                    f"From within a {within} path pattern, one may only reference variables, that"
                    " are already bound in a previous `MATCH` clause. In this case,"
                    f" `{name}` is defined in the same `MATCH` clause."
                )
                scope.fail(message, element.span)


def _declare(pattern: ast.Pattern, scope: Scope, groups: dict[str, ast.Variable]) -> None:
    singles = {}
    for element in pattern.elements:
        if isinstance(element, ast.GroupPattern) and element.quantifier is None:
            _declare(element.pattern, scope, groups)
        elif isinstance(element, ast.GroupPattern):
            _declare_group(element, scope, groups)
        elif element.variable is not None:
            singles[element.variable.name] = element.variable
            _refuse_bound_repetition(element, scope)
            _refuse_group_variable(element.variable, scope, groups)
            scope.bind(element.variable, _kind(element, lists=is_shortest(pattern)))
    for name, variable in groups.items():
        if name in singles:
            _refuse_group_variable(variable, scope, groups)
    if pattern.variable is not None:
        scope.declare(pattern.variable, _PATH)


def _refuse_type_expression(types: ast.LabelExpression, scope: Scope) -> None:
    """Requires that the types of ``*1..2`` are names joined by ``|``."""
    parts = types.operands if isinstance(types, ast.LabelOr) else (types,)
    if not all(isinstance(each, ast.LabelName | ast.LabelDynamic) for each in parts):
        message = "Variable length relationships must not use relationship type expressions."
        scope.fail(message, types.span)


def _kind(element: ast.NodePattern | ast.RelationshipPattern, *, lists: bool = False) -> TypeSet:
    """The kind of an element's variable; ``lists``: True if each relationship is a list of one."""
    if isinstance(element, ast.NodePattern):
        return _NODE
    many = lists or element.length is not None or element.quantifier is not None
    return list_of(_RELATIONSHIP) if many else _RELATIONSHIP


def _declare_group(group: ast.GroupPattern, scope: Scope, groups: dict[str, ast.Variable]) -> None:
    own = scope.with_locals({})
    for element in group.pattern.elements:
        if isinstance(element, ast.GroupPattern) or element.variable is None:
            continue
        variable = element.variable
        if variable.name in groups or variable.name in scope.variables:
            _refuse_group_variable(variable, scope, {variable.name: variable})
        own.bind(variable, _kind(element))
    for variable in named_variables(group.pattern):
        groups[variable.name] = variable
    for variable in named_variables(group.pattern):
        scope.variables[variable.name] = list_of(own.variables[variable.name])


def _refuse_group_variable(
    variable: ast.Variable, scope: Scope, groups: dict[str, ast.Variable]
) -> None:
    if variable.name in groups:
        message = (
            f"The variable `{variable.name}` occurs both inside and outside a quantified path"
            " pattern, or in two of them, and needs to be renamed."
        )
        scope.fail(message, variable.span)


def _refuse_bound_repetition(
    element: ast.NodePattern | ast.RelationshipPattern, scope: Scope
) -> None:
    """Rejects ``-[r]->+`` where r is bound; ``-[r*]->`` may repeat a bound list."""
    if isinstance(element, ast.NodePattern) or element.quantifier is None:
        return
    if element.variable is not None and element.variable.name in scope.variables:
        message = (
            f"The variable `{element.variable.name}` is already defined in a previous clause, it"
            " cannot be referenced as a node or as a relationship variable inside of a quantified"
            " path pattern."
        )
        scope.fail(message, element.variable.span)


# ------------------------------------------------------------------ bracket contents
def _check_inside(
    elements: tuple[ast.PatternElement, ...], scope: Scope, inner: InnerChecks
) -> None:
    for element in elements:
        if isinstance(element, ast.GroupPattern):
            _check_group(element, scope, inner)
            continue
        if element.properties is not None:
            refuse_aggregates(element.properties, scope)
            check_expression(element.properties, scope, inner)
        labels = element.labels if isinstance(element, ast.NodePattern) else element.types
        if labels is not None:
            _check_labels(labels, scope, inner)
            if isinstance(element, ast.RelationshipPattern) and element.length is not None:
                _refuse_type_expression(labels, scope)
        if element.where is not None:
            refuse_aggregates(element.where, scope)
            check_condition(element.where, _singular(element, scope), inner)


def _singular(element: ast.NodePattern | ast.RelationshipPattern, scope: Scope) -> Scope:
    """The scope inside a quantified relationship, where its variable is one relationship."""
    quantified = isinstance(element, ast.RelationshipPattern) and element.quantifier is not None
    if quantified and element.variable is not None:
        return scope.with_locals({element.variable.name: _RELATIONSHIP})
    return scope


def _check_labels(labels: ast.LabelExpression, scope: Scope, inner: InnerChecks) -> None:
    if isinstance(labels, ast.LabelName):
        return
    for part in walk(labels):
        if isinstance(part, ast.LabelDynamic):
            found = check_expression(part.expression, scope, inner)
            wanted = _NAMES if not found.is_certainly("List") else list_of(STRING)
            scope.expect(found, wanted, part.expression.span)
            for name in _literals(part.expression):
                if not name or "\0" in name:
                    said = "a label or type must have a name, without null characters"
                    scope.fail(said, labels.span)


def _literals(expression: ast.Expression) -> Iterator[str]:
    items = expression.items if isinstance(expression, ast.ListLiteral) else (expression,)
    for each in items:
        if isinstance(each, ast.Literal) and isinstance(each.value, str):
            yield each.value


def _check_group(group: ast.GroupPattern, scope: Scope, inner: InnerChecks) -> None:
    within = scope
    if group.quantifier is not None:
        within = scope.with_locals(
            {
                v.name: scope.variables[v.name].element or _NODE
                for v in named_variables(group.pattern)
            }
        )
    _check_inside(group.pattern.elements, within, inner)
    if group.where is not None:
        refuse_aggregates(group.where, within)
        check_condition(group.where, within, inner)
