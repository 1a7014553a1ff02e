"""``round()`` with precision and mode."""

from __future__ import annotations

import decimal
import math
from typing import Any

from gpugda.errors import CypherArgumentError, CypherExecutionError
from gpugda.expressions import checks
from gpugda.expressions.numbers import saturated

__all__ = ["round_number"]

_MODES = {
    "CEILING": decimal.ROUND_CEILING,
    "FLOOR": decimal.ROUND_FLOOR,
    "UP": decimal.ROUND_UP,
    "DOWN": decimal.ROUND_DOWN,
    "HALF_EVEN": decimal.ROUND_HALF_EVEN,
    "HALF_UP": decimal.ROUND_HALF_UP,
    "HALF_DOWN": decimal.ROUND_HALF_DOWN,
    "UNNECESSARY": "",
}
_WIDE = decimal.Context(prec=1200)


def round_number(given: Any, precision: Any = 0, mode: Any = None) -> float:
    """``round(number)``, ``round(number, precision)``, ``round(number, precision, mode)``.

    Without a mode ties go up, and without a precision the result is a 64-bit integer in between,
    which bounds it. A tie is one of the shortest decimal digits that print the float: 1.35 is.
    """
    number = float(checks.number("round()", given))
    places = saturated(checks.number("round()", precision))
    if places < 0:
        raise CypherArgumentError("round(): the precision must not be negative")
    rule = _rule(mode)
    if not math.isfinite(number):
        return number
    if mode is None and places == 0:
        return float(saturated(_half_up(number)))
    return _rounded(number, places, rule)


def _rule(mode: Any) -> str:
    if mode is None:
        return decimal.ROUND_HALF_UP
    known = _MODES.get(checks.string("round()", mode))
    if known is None:
        raise CypherArgumentError(f"round() does not know the mode {mode!r}: {', '.join(_MODES)}")
    return known


def _half_up(number: float) -> float:
    below = math.floor(number)
    return float(below + 1 if number - below >= 0.5 else below)


def _rounded(number: float, places: int, rule: str) -> float:
    exact = decimal.Decimal(repr(number))
    exponent = exact.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent <= places:
        return number
    step = decimal.Decimal(1).scaleb(-places, _WIDE)
    if not rule:
        raise CypherExecutionError(f"round() of {number} to {places} places would change it")
    return float(exact.quantize(step, rule, _WIDE))
