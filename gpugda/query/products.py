"""Joins the numbers of a product, as Neo4j does: ``(n.x * 0.1) * 3`` is ``n.x * (0.1 * 3)``.

The last digits of floats differ, and months stay months in ``(duration * 0.5) * 2``.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.types import Span

__all__ = ["product"]


def product(span: Span, left: ast.Expression, right: ast.Expression) -> ast.Expression:
    """``left * right``; the numbers of both are multiplied first if exactly one is a number."""
    plain = ast.Binary(span, Two.MULTIPLY, left, right)
    value, last, number = left, right, _number(right)
    if number is None:
        value, last, number = right, left, _number(left)
    if number is None or not isinstance(value, ast.Binary) or value.operator is not Two.MULTIPLY:
        return plain
    rest, first, other = value.left, value.right, _number(value.right)
    if other is None:
        rest, first, other = value.right, value.left, _number(value.left)
    if other is None or _number(rest) is not None:
        return plain
    joined = _number(ast.Binary(span, Two.MULTIPLY, first, last))
    return plain if joined is None else product(span, rest, ast.Literal(first.span, joined))


def _number(expression: ast.Expression) -> int | float | None:
    """The value of an expression of numbers alone; None for others, and if it is an error."""
    if isinstance(expression, ast.Literal):
        return expression.value if type(expression.value) in (int, float) else None
    if not isinstance(expression, ast.Binary) or expression.operator not in _OPERATORS:
        return None
    left, right = _number(expression.left), _number(expression.right)
    if left is None or right is None:
        return None
    try:
        found = _OPERATORS[expression.operator](left, right)
    except ArithmeticError:
        return None
    return None if isinstance(found, int) and not _LEAST <= found < -_LEAST else found


def _quotient(left: int | float, right: int | float) -> int | float:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


_OPERATORS: Final[dict[Two, Callable[[Any, Any], Any]]] = {
    Two.ADD: operator.add,
    Two.SUBTRACT: operator.sub,
    Two.MULTIPLY: operator.mul,
    Two.DIVIDE: _quotient,
}
_LEAST: Final = -(1 << 63)
