"""Checks patterns: the types of their variables, and their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.scope_expressions import InnerChecks, check_condition, check_expression
from gpugda.query.scope_forms import check_forms, is_selective, is_shortest, named_variables
from gpugda.query.type_sets import STRING, list_of, of
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.scope import Scope
    from gpugda.query.type_sets import TypeSet

__all__ = ["check_patterns"]

_NODE: Final = of("Node")
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
            check_expression(element.properties, scope, inner)
        labels = element.labels if isinstance(element, ast.NodePattern) else element.types
        if labels is not None:
            _check_labels(labels, scope, inner)
            if isinstance(element, ast.RelationshipPattern) and element.length is not None:
                _refuse_type_expression(labels, scope)
        if element.where is not None:
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
        check_condition(group.where, within, inner)
