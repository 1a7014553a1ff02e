"""Checks literals that are invalid in their position for any data."""

from __future__ import annotations

from operator import add, mul, sub
from typing import TYPE_CHECKING, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.query.scope import Scope

__all__ = ["check_literals", "check_range"]

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
