"""What Neo4j's rewriter computes while it plans: numbers from literals, and conditions from these.

It leaves ``>=``, ``<=``, ``<>``, ``IN``, texts, lists and functions to the rows.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final

from gpugda import values
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two
from gpugda.query.ast import ComparisonOperator as Than
from gpugda.query.ast import UnaryOperator as One

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["always_holds", "never_holds", "number_of"]


def never_holds(condition: ast.Expression) -> bool:
    """True for ``false``, and for what Neo4j's rewriter makes ``false``: then no row is read."""
    return _truth(condition) is False


def always_holds(condition: ast.Expression) -> bool:
    """True for ``true``, and for what Neo4j's rewriter makes ``true``."""
    return _truth(condition) is True


def _truth(condition: ast.Expression) -> bool | None:
    """True or false; None for what is decided row by row."""
    match condition:
        case ast.Literal(value=value):
            return value if isinstance(value, bool) else None
        case ast.Unary(operator=One.NOT):
            return _inverse(_truth(condition.operand))
        case ast.Binary(operator=Two.AND):
            return _all_of(map(_truth, (condition.left, condition.right)))
        case ast.Binary(operator=Two.OR):
            return _inverse(_all_of(_inverse(_truth(e)) for e in (condition.left, condition.right)))
        case ast.Binary(operator=Two.XOR):
            left, right = _truth(condition.left), _truth(condition.right)
            return None if left is None or right is None else left is not right
        case ast.Comparison(operands=operands, operators=operators):
            numbers = tuple(map(number_of, operands))
            pairs = zip(numbers, operators, numbers[1:], strict=False)
            return _all_of(_compared(*pair) for pair in pairs)
    return None


def _inverse(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all_of(truths: Iterable[bool | None]) -> bool | None:
    known = tuple(truths)
    return False if False in known else None if None in known else True


def _compared(left: int | float | None, than: Than, right: int | float | None) -> bool | None:
    """A comparison's outcome, if it is the same of doubles, as the rewriter does, and in a row."""
    if left is None or right is None or than not in _COMPARISONS:
        return None
    of_doubles, of_rows = _COMPARISONS[than]
    exact = bool(of_rows(left, right))
    if isinstance(left, float) or isinstance(right, float):
        return exact if exact is of_doubles(float(left), float(right)) else None
    return exact


def number_of(expression: ast.Expression) -> int | float | None:
    """The value of an expression of numbers alone; None for others, and if it is an error."""
    match expression:
        case ast.Literal(value=value):
            return value if type(value) in (int, float) else None
        case ast.Unary(operator=One.MINUS):
            return _computed(operator.neg, number_of(expression.operand))
        case ast.Binary(operator=two, left=left, right=right) if two in _OPERATORS:
            return _computed(_OPERATORS[two], number_of(left), number_of(right))
    return None


def _computed(compute: Callable[..., Any], *operands: int | float | None) -> int | float | None:
    if None in operands:
        return None
    try:
        result: int | float = compute(*operands)
    except (ArithmeticError, ValueError):
        return None
    return None if isinstance(result, int) and not _LEAST <= result < -_LEAST else result


def _quotient(left: int | float, right: int | float) -> int | float:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _remainder(left: int | float, right: int | float) -> int | float:
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    return left - right * int(_quotient(left, right))


_OPERATORS: Final[dict[Two, Callable[[Any, Any], Any]]] = {
    Two.ADD: operator.add,
    Two.SUBTRACT: operator.sub,
    Two.MULTIPLY: operator.mul,
    Two.DIVIDE: _quotient,
    Two.MODULO: _remainder,
    Two.POWER: math.pow,
}
_COMPARISONS: Final[dict[Than, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]]] = {
    Than.EQUAL: (operator.eq, values.equals),
    Than.LESS: (operator.lt, values.less),
    Than.GREATER: (operator.gt, values.greater),
}
_LEAST: Final = -(1 << 63)
