"""Java's 64-bit integers and doubles, and Neo4j's text form of floats."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from gpugda.errors import CypherArithmeticError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LARGEST", "SMALLEST", "added", "float_text", "long", "saturated"]

LARGEST = 2**63 - 1
SMALLEST = -(2**63)


def long(exact: int, operation: str) -> int:
    """The exact result of an operation, if it fits in 64 bits.

    Raises:
        CypherArithmeticError: The result overflows.
    """
    if not SMALLEST <= exact <= LARGEST:
        raise CypherArithmeticError(f"long overflow: {operation} exceeds 64 bits")
    return exact


def saturated(number: float) -> int:
    """Java's cast of a float to a long: truncates, NaN gives 0, out-of-range values saturate."""
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return LARGEST if number > 0 else SMALLEST
    return min(max(int(number), SMALLEST), LARGEST)


def added(numbers: Iterable[float]) -> float:
    """The sum, rounded after each addition as in Java.

    Python's own `sum` compensates rounding errors from version 3.12 on.
    """
    return reduce(add, numbers, 0.0)


def float_text(number: float) -> str:
    """A float as ``toString()`` prints it: ``1.0``, ``1.0E10``, ``NaN``, ``-Infinity``."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("-Infinity" if number < 0 else "Infinity")
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if number == 0:
        return sign + "0.0"
    digits, exponent = _shortest(abs(number))
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest(number: float) -> tuple[str, int]:
    """The fewest digits that identify a positive float, and the decimal exponent of the first.

    If one digit would suffice, two closer ones are used, as in Java: 4.9E-324.
    """
    text = _scientific(repr(number))
    if text.startswith(".", 1) and text[2] == "e" and float(closer := f"{number:.1e}") == number:
        text = closer
    mantissa, _, exponent = text.partition("e")
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)


def _scientific(text: str) -> str:
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power or 0)
    first = point - (len(whole + fraction) - len(digits)) - 1
    return f"{digits[0]}.{digits[1:]}e{first}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"
