"""Dates and times of day from fields such as ``year`` and ``minute``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import (
    CypherArgumentError,
    CypherExecutionError,
    CypherTypeError,
    UnsupportedQueryError,
)
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.temporal.calendar import (
    NANOS_PER_SECOND,
    civil_of,
    clamped,
    day_of_week,
    days_of,
    is_leap,
    month_length,
    plus_months,
    quarter_start,
    week_of,
    week_start,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DATE_FIELDS",
    "TIME_FIELDS",
    "check_date_fields",
    "check_time_fields",
    "date_with",
    "has_day",
    "integer_field",
    "time_with",
]

_FAMILIES = (
    ("month", "day"),
    ("week", "dayofweek"),
    ("quarter", "dayofquarter"),
    ("ordinalday",),
)
_CHAIN = ("hour", "minute", "second")
_FRACTIONS = ("millisecond", "microsecond", "nanosecond")

DATE_FIELDS = frozenset(("year", *(name for family in _FAMILIES for name in family)))
TIME_FIELDS = frozenset((*_CHAIN, *_FRACTIONS))

_LARGEST_YEAR = 999_999_999


def integer_field(fields: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """An integer field within a range.

    Raises:
        CypherExecutionError: The field is no integer.
        CypherArgumentError: The field is out of range.
    """
    number = fields[name]
    if number is None:
        raise UnsupportedQueryError(
            f"null for {name} is not supported by this engine", construct="null field"
        )
    if kind_of_value(number) != "integer":
        raise CypherExecutionError(f"{name} must be an integer, not {number!r}")
    if not low <= number <= high:
        raise CypherArgumentError(f"{name} must be {low} to {high}, not {number}")
    return int(number)


# ------------------------------------------------------------------ dates
def check_date_fields(fields: Mapping[str, Any], has_base: bool) -> None:
    """Checks that the fields describe a date, with a base or alone.

    Raises:
        CypherTypeError: Fields of different calendars (month, week, quarter, …) are mixed.
        CypherArgumentError: A larger unit is missing.
    """
    families = [family for family in _FAMILIES if not fields.keys().isdisjoint(family)]
    if len(families) > 1:
        names = ", ".join(name for family in families for name in family if name in fields)
        raise CypherTypeError(f"these fields cannot be combined: {names}")
    if has_base:
        return
    wanted = ("year", *families[0]) if families else ("year",)
    _check_chain(fields, wanted)


def has_day(fields: Mapping[str, Any]) -> bool:
    """True if the fields determine a day, so that an hour may follow."""
    return any(family[-1] in fields for family in _FAMILIES)


def _check_chain(fields: Mapping[str, Any], chain: tuple[str, ...]) -> None:
    missing = next((name for name in chain if name not in fields), None)
    if missing is None:
        return
    smaller = [name for name in chain[chain.index(missing) :] if name in fields]
    if smaller or missing == chain[0]:
        raise CypherArgumentError(f"{missing} must be given{_for(smaller)}")


def _for(smaller: list[str]) -> str:
    return f" where {smaller[0]} is" if smaller else ""


def date_with(fields: Mapping[str, Any], base: int | None) -> int:
    """Days since 1970 of the base with these fields replaced, or of the fields alone."""
    if "week" in fields or "dayofweek" in fields:
        return _week_date(fields, base)
    days = _with_year(fields, base)
    if "quarter" in fields or "dayofquarter" in fields:
        return _quarter_date(fields, days)
    if "ordinalday" in fields:
        year = civil_of(days).year
        largest = 365 + is_leap(year)
        return days_of(year, 1, 1) + integer_field(fields, "ordinalday", 1, largest) - 1
    return _calendar_date(fields, days)


def _year(fields: Mapping[str, Any]) -> int:
    return integer_field(fields, "year", -_LARGEST_YEAR, _LARGEST_YEAR)


def _with_year(fields: Mapping[str, Any], base: int | None) -> int:
    if base is None:
        return days_of(_year(fields), 1, 1)
    if "year" not in fields:
        return base
    civil = civil_of(base)
    return clamped(_year(fields), civil.month, civil.day)


def _calendar_date(fields: Mapping[str, Any], days: int) -> int:
    if "month" in fields:
        civil = civil_of(days)
        days = clamped(civil.year, integer_field(fields, "month", 1, 12), civil.day)
    if "day" in fields:
        civil = civil_of(days)
        day = integer_field(fields, "day", 1, 31)
        if day > month_length(civil.year, civil.month):
            raise CypherArgumentError(f"{civil.year:04}-{civil.month:02} has no day {day}")
        days = days_of(civil.year, civil.month, day)
    return days


def _week_date(fields: Mapping[str, Any], base: int | None) -> int:
    if base is None:
        year, week, day = _year(fields), 1, 1
    else:
        year, week = week_of(base)
        day = day_of_week(base)
        year = _year(fields) if "year" in fields else year
    if "week" in fields:
        week = integer_field(fields, "week", 1, 53)
    if "dayofweek" in fields:
        day = integer_field(fields, "dayofweek", 1, 7)
    return week_start(year, week) + day - 1


def _quarter_date(fields: Mapping[str, Any], days: int) -> int:
    if "quarter" in fields:
        quarter = integer_field(fields, "quarter", 1, 4)
        days = plus_months(days, 3 * (quarter - 1 - (civil_of(days).month - 1) // 3))
    if "dayofquarter" in fields:
        days = quarter_start(days) + integer_field(fields, "dayofquarter", 1, 92) - 1
    return days


# ------------------------------------------------------------------ times of day
def check_time_fields(fields: Mapping[str, Any], has_base: bool) -> None:
    """Checks that the fields describe a time of day, with a base or alone.

    Raises:
        CypherArgumentError: A larger unit is missing.
    """
    if has_base:
        return
    fractions = [name for name in _FRACTIONS if name in fields]
    _check_chain(fields, (*_CHAIN, fractions[0]) if fractions else _CHAIN)


def time_with(fields: Mapping[str, Any], base: int) -> int:
    """Nanoseconds since midnight of the base with these fields replaced.

    Any part of a second replaces the whole fraction.
    """
    seconds, fraction = divmod(base, NANOS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    if "hour" in fields:
        hour = integer_field(fields, "hour", 0, 23)
    if "minute" in fields:
        minute = integer_field(fields, "minute", 0, 59)
    if "second" in fields:
        second = integer_field(fields, "second", 0, 59)
    if not fields.keys().isdisjoint(_FRACTIONS):
        fraction = _fraction(fields)
    return (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + fraction


def _fraction(fields: Mapping[str, Any]) -> int:
    """Nanoseconds of the fraction; each part is limited by the next larger given one."""
    total, limit = 0, NANOS_PER_SECOND
    for name, size in zip(_FRACTIONS, (10**6, 10**3, 1), strict=True):
        if name in fields:
            total += size * integer_field(fields, name, 0, limit // size - 1)
            limit = size
    return total
