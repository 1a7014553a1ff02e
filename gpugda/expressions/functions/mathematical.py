"""Numeric, logarithmic and trigonometric functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpugda.expressions import checks
from gpugda.expressions.functions.registry import BOTH_VERSIONS, CYPHER_25, Function, signature
from gpugda.expressions.functions.rounding import round_number
from gpugda.expressions.numbers import SMALLEST

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS"]


def _abs(number: Any) -> Any:
    checks.number("abs()", number)
    # As in Java, the smallest integer has no positive counterpart and stays unchanged.
    return number if number == SMALLEST and isinstance(number, int) else abs(number)


def _sign(number: Any) -> int:
    checks.number("sign()", number)
    return 0 if math.isnan(number) else (number > 0) - (number < 0)


def _is_nan(number: Any) -> bool:
    return math.isnan(checks.number("isNaN()", number))


def _whole(towards: Callable[[float], int]) -> Callable[[float], float]:
    def rounded(number: float) -> float:
        # Floats have no fraction from 2^52 on. A zero result keeps the sign.
        if not abs(number) < 2.0**52:
            return number
        return math.copysign(float(towards(number)), number)

    return rounded


def _logarithm(logarithm: Callable[[float], float]) -> Callable[[float], float]:
    def evaluated(number: float) -> float:
        if number == 0:
            return -math.inf
        return logarithm(number) if number > 0 else math.nan

    return evaluated


def _cotangent(number: float) -> float:
    tangent = math.tan(number)
    return 1.0 / tangent if tangent else math.copysign(math.inf, tangent)


def _haversin(number: float) -> float:
    return (1.0 - math.cos(number)) / 2.0


def _float_function(name: str, evaluate: Callable[..., float], count: int = 1) -> Function:
    """A float function with Java's results: NaN outside its domain, infinity on overflow."""

    def evaluated(*given: Any) -> float:
        numbers = [float(checks.number(f"{name}()", number)) for number in given]
        try:
            return evaluate(*numbers)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    places = ", ".join(["float"] * count)
    return Function(
        name,
        signature(f"{places} -> float"),
        evaluated,
        exact=name in _EXACT,
        cypher_versions=CYPHER_25 if name in _NEW else BOTH_VERSIONS,
    )


_EXACT = frozenset(("ceil", "floor", "sqrt", "degrees", "radians"))
_NEW = frozenset(("sinh", "cosh", "tanh", "coth"))

FUNCTIONS: tuple[Function, ...] = (
    Function("abs", signature("number -> number"), _abs),
    Function("isNaN", signature("number -> boolean"), _is_nan),
    Function("sign", signature("number -> integer"), _sign),
    Function("round", signature("float, number, string -> float", 2), round_number),
    Function("pi", signature("-> float"), lambda: math.pi),
    Function("e", signature("-> float"), lambda: math.e),
    Function(
        "rand",
        signature("-> float"),
        lambda context: context.random(),
        deterministic=False,
        contextual=True,
    ),
    _float_function("ceil", _whole(math.ceil)),
    _float_function("floor", _whole(math.floor)),
    _float_function("sqrt", math.sqrt),
    _float_function("exp", math.exp),
    _float_function("log", _logarithm(math.log)),
    _float_function("log10", _logarithm(math.log10)),
    _float_function("sin", math.sin),
    _float_function("cos", math.cos),
    _float_function("tan", math.tan),
    _float_function("cot", _cotangent),
    _float_function("asin", math.asin),
    _float_function("acos", math.acos),
    _float_function("atan", math.atan),
    _float_function("atan2", math.atan2, 2),
    _float_function("degrees", math.degrees),
    _float_function("radians", math.radians),
    _float_function("haversin", _haversin),
    _float_function("sinh", math.sinh),
    _float_function("cosh", math.cosh),
    _float_function("tanh", math.tanh),
    _float_function("coth", lambda number: 1.0 / math.tanh(number) if number else math.nan),
)
