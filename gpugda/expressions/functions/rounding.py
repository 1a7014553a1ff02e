"""``round()`` with precision and mode."""

from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.errors import CypherArgumentError, CypherExecutionError
from gpugda.expressions import checks
from gpugda.expressions.numbers import saturated

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["round_number", "round_numbers"]

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

_MAX_PLACES: Final = 22
"""Powers of ten up to this exponent are exact as floats."""
_LARGEST_SCALED: Final = 2.0**40
_NEAR_TIE: Final = 1e-3
"""Far above the rounding error of a product below `_LARGEST_SCALED`."""
_MAX_ALONE: Final = 1 << 10
_BLOCK: Final = 1 << 13
"""Numbers that fit in the processor's cache."""


def round_number(given: Any, precision: Any = 0, mode: Any = None) -> float:
    """``round(number)``, ``round(number, precision)``, ``round(number, precision, mode)``.

    Without a mode, ties round up; without a precision, the result passes through a 64-bit integer,
    which bounds it. Ties are decided on the shortest decimal digits of the float: 1.35 is one.
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


def round_numbers(numbers: NDArray[Any], places: int) -> NDArray[np.float64] | None:
    """As `round_number` without a mode, for an array.

    ``places`` must not be negative. Returns None if too many numbers are so close to a tie, or so
    large, that their decimal digits must decide.
    """
    if places > _MAX_PLACES:
        return None
    values = numbers.astype(np.float64, copy=False)
    if numbers.dtype.kind == "i" and places:
        return values
    if not places:
        return _whole_numbers(values)
    power = 10.0**places
    scaled = np.abs(values) * power
    below = np.floor(scaled)
    rest = scaled - below
    # Away from ties the result is a quotient of two integers, and division rounds correctly.
    found = np.copysign((below + (rest > 0.5)) / power, values) + 0.0  # no negative zero
    doubtful = ~(scaled < _LARGEST_SCALED) | (np.abs(rest - 0.5) < _NEAR_TIE)
    alone = np.flatnonzero(doubtful)
    if len(alone) > _MAX_ALONE:
        return None
    found[alone] = [round_number(number, places) for number in values[alone].tolist()]
    return found


def _whole_numbers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest integers as floats, ties up, clipped to 64 bits; non-finite values stay."""
    found, rest = np.empty_like(values), np.empty(min(len(values), _BLOCK))
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        nearest, above = found[start : start + _BLOCK], rest[: len(block)]
        np.floor(block, out=nearest)
        np.subtract(block, nearest, out=above)
        above += above  # at least 1 where the fraction is half or more, exactly
        np.floor(above, out=above)
        np.minimum(above, 1.0, out=above)  # just below an integer the fraction rounds to 1
        nearest += above
        nearest += 0.0  # no negative zero
        np.abs(nearest, out=above)
        if not above.max() < 2.0**63:
            inside = np.clip(nearest, -(2.0**63), 2.0**63)
            np.copyto(nearest, np.where(np.isfinite(block), inside, block))
    return found


def _rule(mode: Any) -> str:
    if mode is None:
        return decimal.ROUND_HALF_UP
    known = _MODES.get(checks.string("round()", mode))
    if known is None:
        raise CypherArgumentError(f"round(): unknown mode {mode!r}: {', '.join(_MODES)}")
    return known


def _half_up(number: float) -> float:
    below = math.floor(number)
    return float(below + 1 if number - below >= 0.5 else below)


def _rounded(number: float, places: int, rule: str) -> float:
    exact = decimal.Decimal(repr(number))
    exponent = exact.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent <= places:
        return number + 0.0  # removes a negative zero
    step = decimal.Decimal(1).scaleb(-places, _WIDE)
    if not rule:
        raise CypherExecutionError(f"round() of {number} to {places} places would change it")
    return float(exact.quantize(step, rule, _WIDE)) + 0.0
