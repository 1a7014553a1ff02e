"""Checks the forms of patterns, and which forms may be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.scope import Scope

__all__ = [
    "check_aliases",
    "check_forms",
    "check_named",
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
