"""Checks hints of MATCH: the clause must name what a hint refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.type_sets import of
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.scope import Scope

__all__ = ["check_hints"]

_NODE: Final = of("Node")
_ENTITY: Final = of("Node", "Relationship")
_LOGICAL: Final = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)
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
    if missing:
        message = (
            f"Cannot use {hint.span.of(scope.text)} in this context: the pattern, or WHERE outside"
            f" of functions and NOT, must name the {missing} of `{name}`"
        )
        scope.fail(message, hint.span, "42N76")


def _tests(where: ast.Expression | None) -> Iterator[ast.Expression]:
    """The conditions that AND and OR combine, without negated labels."""
    if isinstance(where, ast.Binary) and where.operator in _LOGICAL:
        yield from _tests(where.left)
        yield from _tests(where.right)
    elif isinstance(where, ast.Unary) and where.operator is ast.UnaryOperator.NOT:
        negated = _tests(where.operand)
        yield from (each for each in negated if not isinstance(each, ast.LabelPredicate))
    elif where is not None:
        yield where


def _label_names(labels: ast.LabelExpression | None) -> Iterator[str]:
    for each in walk(labels, without=_NOT_WITHIN) if labels is not None else ():
        if isinstance(each, ast.LabelName):
            yield each.name


def _map_keys(element: ast.NodePattern | ast.RelationshipPattern) -> Iterator[str]:
    if isinstance(element.properties, ast.MapLiteral):
        yield from (key for key, _ in element.properties.entries)


def _keys(tests: list[ast.Expression], name: str) -> set[str]:
    """The properties of a variable that conditions compare."""
    found: set[str] = set()
    for test in tests:
        if isinstance(test, ast.Comparison):
            compared = test.operands
        elif isinstance(test, ast.Binary):
            compared = (test.left, test.right)
        else:
            operand = getattr(test, "operand", None)
            compared = () if operand is None else (operand,)
        for each in compared:
            subject = each.subject if isinstance(each, ast.Property) else None
            if isinstance(each, ast.Property) and isinstance(subject, ast.Variable):
                found.update((each.key,) if subject.name == name else ())
    return found
