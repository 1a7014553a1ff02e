"""``+``, ``-``, ``*``, ``/``, ``%``, ``^`` and signs."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArithmeticError, CypherTypeError
from gpugda.expressions.checks import check_items, check_text
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import SMALLEST, long
from gpugda.expressions.printing import text_of
from gpugda.expressions.temporal import arithmetic as temporal
from gpugda.values import describe

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "add",
    "concatenate",
    "divide",
    "minus",
    "modulo",
    "multiply",
    "plus",
    "power",
    "subtract",
]

_NUMBERS = frozenset(("integer", "float"))
_TIMES = frozenset(("date", "localtime", "time", "localdatetime", "datetime", "duration"))


def add(left: Any, right: Any) -> Any:
    """``left + right``: numbers, temporal values and durations, strings, lists."""
    kinds = kind_of_value(left), kind_of_value(right)
    if "list" in kinds:
        return _joined_lists(left, right, kinds)
    if "null" in kinds:
        return None
    if _NUMBERS.issuperset(kinds):
        return _of_numbers(left, right, operator.add, "+")
    if "string" in kinds:
        return _joined_texts(left, right)
    if "duration" in kinds and _TIMES.issuperset(kinds):
        return temporal.add(left, right)
    raise _refused("+", left, right)


def _joined_lists(left: Any, right: Any, kinds: tuple[str, str]) -> Any:
    if kinds == ("list", "list"):
        check_items(len(left) + len(right))
        return [*left, *right]
    if "null" in kinds:
        return None
    return [*left, right] if kinds[0] == "list" else [left, *right]


def _joined_texts(left: Any, right: Any) -> str:
    texts = text_of(left), text_of(right)
    if texts[0] is None or texts[1] is None:
        raise _refused("+", left, right)
    check_text(len(texts[0]) + len(texts[1]))
    return texts[0] + texts[1]


def concatenate(left: Any, right: Any) -> Any:
    """``left || right``: two strings or two lists."""
    if left is None or right is None:
        return None
    kinds = kind_of_value(left), kind_of_value(right)
    if kinds in (("string", "string"), ("list", "list")):
        return add(left, right)
    raise _refused("||", left, right)


def subtract(left: Any, right: Any) -> Any:
    """``left - right``."""
    if left is None or right is None:
        return None
    kinds = kind_of_value(left), kind_of_value(right)
    if _NUMBERS.issuperset(kinds):
        return _of_numbers(left, right, operator.sub, "-")
    if kinds[1] == "duration" and kinds[0] in _TIMES:
        return temporal.subtract(left, right)
    raise _refused("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    """``left * right``: numbers, or a duration and a number."""
    if left is None or right is None:
        return None
    kinds = kind_of_value(left), kind_of_value(right)
    if _NUMBERS.issuperset(kinds):
        return _of_numbers(left, right, operator.mul, "*")
    if kinds[0] == "duration" and kinds[1] in _NUMBERS:
        return temporal.multiply(left, right)
    if kinds[1] == "duration" and kinds[0] in _NUMBERS:
        return temporal.multiply(right, left)
    raise _refused("*", left, right)


def divide(left: Any, right: Any) -> Any:
    """``left / right``; integer division truncates.

    Raises:
        CypherArithmeticError: The divisor is the integer 0, even if the dividend is null or a
            float. (Neo4j folds two literals at compile time, and then ``1.0 / 0`` is infinite.)
    """
    if kind_of_value(right) == "integer" and right == 0:
        raise CypherArithmeticError("/ by zero")
    if left is None or right is None:
        return None
    kinds = kind_of_value(left), kind_of_value(right)
    if kinds == ("integer", "integer"):
        return _wrapped(_quotient(left, right))
    if _NUMBERS.issuperset(kinds):
        return _float_quotient(float(left), float(right))
    if kinds[0] == "duration" and kinds[1] in _NUMBERS:
        return temporal.divide(left, right)
    raise _refused("/", left, right)


def _quotient(left: int, right: int) -> int:
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def _wrapped(exact: int) -> int:
    # The only quotient that overflows wraps around to itself, as in Java.
    return SMALLEST if exact == -SMALLEST else exact


def _float_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> Any:
    """``left % right``, with the sign of the left side."""
    if left is None or right is None:
        return None
    kinds = kind_of_value(left), kind_of_value(right)
    if not _NUMBERS.issuperset(kinds):
        raise _refused("%", left, right)
    if kinds == ("integer", "integer"):
        if right == 0:
            raise CypherArithmeticError("/ by zero")
        return left - right * _quotient(left, right)
    try:
        return math.fmod(left, right)
    except ValueError:
        return math.nan


def power(left: Any, right: Any) -> float | None:
    """``left ^ right``: always a float."""
    if left is None or right is None:
        return None
    if not _NUMBERS.issuperset((kind_of_value(left), kind_of_value(right))):
        raise _refused("^", left, right)
    return _java_power(float(left), float(right))


def _java_power(base: float, exponent: float) -> float:
    if abs(base) == 1 and math.isinf(exponent):
        return math.nan
    if base == 1 and math.isnan(exponent):
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        negative_odd = math.copysign(1.0, base) < 0 and exponent % 2 == 1
        return math.nan if base else (-math.inf if negative_odd else math.inf)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def minus(operand: Any) -> Any:
    """``-operand``. For the float 0.0 it is 0.0: Neo4j subtracts from 0."""
    return subtract(0, operand)


def plus(operand: Any) -> Any:
    """``+operand``: the operand itself, whatever it is."""
    return operand


def _of_numbers(left: Any, right: Any, evaluate: Callable[[Any, Any], Any], name: str) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return long(evaluate(left, right), f"{left} {name} {right}")
    return evaluate(float(left), float(right))


def _refused(name: str, left: Any, right: Any) -> CypherTypeError:
    return CypherTypeError(f"{name} is not defined for {describe(left)} and {describe(right)}")
