"""Type conversions, each plain, as ``…OrNull`` and for lists."""

from __future__ import annotations

import decimal
import re
from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.checks import list_of, type_error
from gpugda.expressions.functions.registry import Function, signature
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import LARGEST, SMALLEST, saturated
from gpugda.expressions.printing import text_of, value_type

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS"]

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_HEX_FLOAT = re.compile(
    r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_NO_NUMBERS = {"NaN": "nan", "Infinity": "inf", "+Infinity": "inf", "-Infinity": "-inf"}
_TRIMMED = "".join(map(chr, range(33)))
"""Characters that Java's String.trim removes."""


def _integer_of_text(text: str) -> int | None:
    if _INTEGER.fullmatch(text):
        number = int(text) if len(text) < 50 else LARGEST + 1
    elif _DECIMAL.fullmatch(text):
        number = _cut(text)
    else:
        return None
    if not SMALLEST <= number <= LARGEST:
        raise CypherTypeError(f"toInteger(): {text!r} is too large for an integer of 64 bits")
    return number


def _cut(text: str) -> int:
    """The integer part of a decimal number; values out of range stay out of range."""
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:  # the exponent has too many digits
        return 0 if "e-" in text.lower() else LARGEST + 1
    if number.is_zero() or number.adjusted() < 0:
        return 0
    return int(number) if number.adjusted() < 30 else LARGEST + 1


def _to_integer(given: Any) -> int | None:
    kind = kind_of_value(given)
    if kind == "string":
        return _integer_of_text(given)
    if kind in ("integer", "boolean"):
        return int(given)
    if kind == "float":
        return saturated(given)
    raise type_error("toInteger()", "a string, a number or a boolean", given)


def _float_of_text(text: str) -> float | None:
    plain = text.strip(_TRIMMED)
    if _FLOAT.fullmatch(plain):
        return float(plain.rstrip("fFdD"))
    if _HEX_FLOAT.fullmatch(plain):
        return _hex_float(plain)
    named = _NO_NUMBERS.get(plain)
    return None if named is None else float(named)


def _hex_float(text: str) -> float:
    number, _, power = text.lower().partition("p")
    try:
        return float.fromhex(f"{number}p{power.rstrip('fd')}")
    except OverflowError:
        return float("-inf" if text.startswith("-") else "inf")


def _to_float(given: Any) -> float | None:
    kind = kind_of_value(given)
    if kind == "string":
        return _float_of_text(given)
    if kind in ("integer", "float"):
        return float(given)
    raise type_error("toFloat()", "a string or a number", given)


def _to_boolean(given: Any) -> bool | None:
    kind = kind_of_value(given)
    if kind == "string":
        return {"true": True, "false": False}.get(given.strip(_TRIMMED).lower())
    if kind in ("boolean", "integer"):
        return bool(given)
    raise type_error("toBoolean()", "a string, a boolean or an integer", given)


def _to_string(given: Any) -> str:
    text = text_of(given)
    if text is None:
        raise type_error("toString()", "a string, number, boolean, temporal value or point", given)
    return text


def _or_null(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(given: Any) -> Any:
        try:
            return convert(given)
        except CypherTypeError:
            return None

    return converted


def _of_list(name: str, convert: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    each = _or_null(convert)

    def converted(given: Any) -> list[Any]:
        items = list_of(name, given)
        return [None if item is None else each(item) for item in items]

    return converted


def _family(
    name: str, kinds: str, result: str, convert: Callable[[Any], Any]
) -> tuple[Function, ...]:
    return (
        Function(name, signature(f"{kinds} -> {result}"), convert),
        Function(f"{name}OrNull", signature(f"any -> {result}"), _or_null(convert)),
        Function(f"{name}List", signature("list -> list"), _of_list(f"{name}List()", convert)),
    )


_PRINTED = "string number boolean temporal duration point"

FUNCTIONS: tuple[Function, ...] = (
    *_family("toInteger", "string number boolean list", "integer", _to_integer),
    *_family("toFloat", "string number", "float", _to_float),
    *_family("toBoolean", "string boolean integer", "boolean", _to_boolean),
    *_family("toString", _PRINTED, "string", _to_string),
    Function("valueType", signature("any -> string"), value_type, null_in_null_out=False),
)
