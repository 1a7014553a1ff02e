"""Durations: months, days, seconds and nanoseconds, which are not normalised into each other.

Only fractions carry over: of a month into days by the mean Gregorian month, of a day into seconds.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from gpugda.data.values.temporal import neo4j_time
from gpugda.errors import (
    CypherArgumentError,
    CypherArithmeticError,
    CypherExecutionError,
    CypherSyntaxError,
    UnsupportedQueryError,
)
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import LARGEST, SMALLEST
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["approximate", "floored", "from_map", "from_text", "make_duration"]

_SECONDS_PER_MONTH = 2_629_746
_NANOS_PER_MONTH = float(_SECONDS_PER_MONTH * NANOS_PER_SECOND)
_NANOS_PER_DAY = float(SECONDS_PER_DAY * NANOS_PER_SECOND)
_NANOS = float(NANOS_PER_SECOND)


def make_duration(months: int, days: int, seconds: int, nanos: int) -> Any:
    """The duration with these parts.

    Raises:
        CypherArgumentError: The duration is out of range.
    """
    carried, rest = divmod(nanos, NANOS_PER_SECOND)
    whole = seconds + carried
    total = months * _SECONDS_PER_MONTH + days * SECONDS_PER_DAY + whole
    parts = (months, days, whole, total)
    if not all(SMALLEST <= part <= LARGEST for part in parts):
        raise CypherArgumentError(f"a duration of {total} seconds is too long")
    return neo4j_time().Duration(
        months=months, days=days, nanoseconds=whole * NANOS_PER_SECOND + rest
    )


def floored(duration: Any) -> tuple[int, int, int, int]:
    """Months, days, seconds and nanoseconds; as in Neo4j, nanoseconds are never negative."""
    months, days, seconds, nanos = duration
    carried, rest = divmod(nanos, NANOS_PER_SECOND)
    return months, days, seconds + carried, rest


def approximate(months: float, days: float, seconds: float, nanos: float) -> Any:
    """The duration of fractional parts; fractions carry over to the next smaller part.

    The operations follow Neo4j's order, which determines the last digits.

    Raises:
        CypherArithmeticError: A part is too large.
    """
    whole_months = _cut(months)
    days += _NANOS_PER_MONTH * (months - whole_months) / _NANOS_PER_DAY
    whole_days = _cut(days)
    seconds += _NANOS_PER_DAY * (days - whole_days) / _NANOS
    whole_seconds = _cut(seconds)
    nanos += _NANOS * (seconds - whole_seconds)
    return make_duration(whole_months, whole_days, whole_seconds, _cut(nanos))


def _cut(part: float) -> int:
    if math.isnan(part):
        return 0
    if not SMALLEST <= part <= LARGEST:
        raise CypherArithmeticError("long overflow: a part of a duration is too large")
    return int(part)


# ------------------------------------------------------------------ from maps
_FIELDS = (
    "years",
    "months",
    "weeks",
    "days",
    "hours",
    "minutes",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
)


def from_map(fields: Mapping[str, Any]) -> Any:
    """``duration({…})``.

    Raises:
        CypherArgumentError: There is no field, or the duration is out of range.
        CypherExecutionError: A field is unknown or not numeric.
    """
    if not fields:
        raise CypherArgumentError("duration() needs at least one field")
    if len({name.lower() for name in fields}) < len(fields):
        message = "a repeated field of a duration is not supported by this engine"
        raise UnsupportedQueryError(message, construct="duration() with a field twice")
    numbers = dict.fromkeys(_FIELDS, 0)
    for name, number in fields.items():
        if name.lower() not in numbers:
            raise CypherExecutionError(f"a duration has no field {name!r}")
        if kind_of_value(number) not in ("integer", "float"):
            raise CypherExecutionError(f"{name} of a duration must be a number, not {number!r}")
        numbers[name.lower()] = number
    return _from_numbers(*numbers.values())


def _from_numbers(*numbers: Any) -> Any:
    years, months, weeks, days, hours, minutes, seconds, millis, micros, nanos = numbers
    parts = (
        years * 12 + months,
        weeks * 7 + days,
        hours * 3600 + minutes * 60 + seconds,
        millis * 10**6 + micros * 1000 + nanos,
    )
    if any(isinstance(number, float) for number in numbers):
        return approximate(*map(float, parts))
    # Integers wrap around, as in Java.
    return make_duration(*map(_wrapped, parts))


def _wrapped(number: int) -> int:
    return (number - SMALLEST) % 2**64 + SMALLEST


# ------------------------------------------------------------------ from texts
_YEARS, _MONTHS, _WEEKS, _DAYS, _HOURS, _MINUTES, _SECONDS = (
    rf"(?:([-+]?[0-9]+(?:[.,][0-9]{{1,9}})?){unit})?" for unit in "YMWDHMS"
)
_UNITS = re.compile(
    rf"([-+])?P{_YEARS}{_MONTHS}{_WEEKS}{_DAYS}(T{_HOURS}{_MINUTES}{_SECONDS})?", re.IGNORECASE
)
_DATE = re.compile(
    r"([-+])?P(?:([0-9]{4})-([0-9]{2})-([0-9]{2})|([0-9]{4})([0-9]{2})([0-9]{2}))?"
    r"(?:T(?:([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"|([0-9]{2})([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]{1,9}))?)?))?",
    re.IGNORECASE,
)


def from_text(text: str) -> Any:
    """``duration('P1DT2H')``, also ``duration('P2012-02-02T14:37:21.545')``.

    Raises:
        CypherSyntaxError: The text is not a duration.
        CypherArgumentError: A part is out of range.
    """
    if found := _UNITS.fullmatch(text):
        parts = [found[place] for place in (2, 3, 4, 5, 7, 8, 9)]
        if any(parts) and (found[6] is None or any(parts[4:])) and _one_fraction(parts):
            return _from_units(found[1] == "-", parts)
    found = _DATE.fullmatch(text)
    if found is not None and any(found.groups()[1:]):
        return _from_date(found)
    raise CypherSyntaxError(f"{text!r} is not a duration")


def _one_fraction(parts: list[str | None]) -> bool:
    """True if at most the last part has a fraction."""
    given = [part for part in parts if part is not None]
    return not any("." in part or "," in part for part in given[:-1])


def _from_units(negative: bool, parts: list[str | None]) -> Any:
    texts = [(part or "0").replace(",", ".") for part in parts]
    sign = -1 if negative else 1
    if any(abs(int(text.partition(".")[0])) > LARGEST for text in texts):
        raise CypherExecutionError("a part of a duration is too large")
    if not any("." in text for text in texts):
        years, months, weeks, days, hours, minutes, seconds = (sign * int(text) for text in texts)
        total = hours * 3600 + minutes * 60 + seconds
        return make_duration(years * 12 + months, weeks * 7 + days, total, 0)
    if "." in texts[6]:
        return _with_seconds(sign, texts)
    y, m, w, d, h, minute, _ = (sign * float(text) for text in texts)
    return approximate(y * 12 + m, w * 7 + d, h * 3600 + minute * 60, 0.0)


def _with_seconds(sign: int, texts: list[str]) -> Any:
    years, months, weeks, days, hours, minutes = (sign * int(text) for text in texts[:6])
    whole, _, fraction = texts[6].partition(".")
    nanos = int(fraction.ljust(9, "0")) * (-1 if whole.startswith("-") else 1) * sign
    seconds = hours * 3600 + minutes * 60 + sign * int(whole)
    return make_duration(years * 12 + months, weeks * 7 + days, seconds, nanos)


def _from_date(found: re.Match[str]) -> Any:
    sign = -1 if found[1] == "-" else 1
    groups = found.groups()
    year, month, day = (int(a or b or 0) for a, b in zip(groups[1:4], groups[4:7], strict=True))
    times = [a or b or "0" for a, b in zip(groups[7:11], groups[11:15], strict=True)]
    hour, minute, second = map(int, times[:3])
    if month > 12 or day > 31 or hour > 23 or minute > 59 or second > 59:
        raise CypherArgumentError(f"{found[0]!r}: a part is out of range")
    seconds = hour * 3600 + minute * 60 + second
    nanos = int(times[3].ljust(9, "0"))
    return make_duration(sign * (year * 12 + month), sign * day, sign * seconds, sign * nanos)
