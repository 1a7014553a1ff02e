"""Numeric, logarithmic and trigonometric functions."""

from __future__ import annotations

import math
from typing import Any

from gpugda.expressions import checks
from gpugda.expressions.functions.registry import Function, signature
from gpugda.expressions.numbers import SMALLEST, long

__all__ = ["FUNCTIONS"]


def _abs(number: Any) -> Any:
    checks.number("abs()", number)
    if isinstance(number, int):
        return long(-number, "abs()") if number == SMALLEST else abs(number)
    return abs(number)


def _sign(number: Any) -> int:
    checks.number("sign()", number)
    return 0 if math.isnan(number) else (number > 0) - (number < 0)


def _is_nan(number: Any) -> bool:
    return math.isnan(checks.number("isNaN()", number))


FUNCTIONS: tuple[Function, ...] = (
    Function("abs", signature("number -> number"), _abs),
    Function("isNaN", signature("number -> boolean"), _is_nan),
    Function("sign", signature("number -> integer"), _sign),
)
