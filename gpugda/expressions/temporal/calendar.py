"""Calendar arithmetic for any year: days since 1970, parts of a date, weeks and quarters."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "NANOS_PER_DAY",
    "NANOS_PER_SECOND",
    "SECONDS_PER_DAY",
    "Civil",
    "civil_of",
    "clamped",
    "day_of_quarter",
    "day_of_week",
    "days_of",
    "is_leap",
    "month_length",
    "ordinal_day",
    "plus_months",
    "quarter_start",
    "truncated",
    "week_of",
    "week_start",
    "whole_months",
]

NANOS_PER_SECOND = 10**9
SECONDS_PER_DAY = 86_400
NANOS_PER_DAY = SECONDS_PER_DAY * NANOS_PER_SECOND

_DAYS_PER_400_YEARS = 146_097
_DAYS_TO_1970 = 719_468
"""From 0000-03-01 to 1970-01-01."""


class Civil(NamedTuple):
    """Year, month and day of the proleptic Gregorian calendar."""

    year: int
    month: int
    day: int


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    # Years start in March here, so the leap day is the last one.
    shifted = year if month > 2 else year - 1
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_400_YEARS + day_of_era - _DAYS_TO_1970


def civil_of(days: int) -> Civil:
    """The date ``days`` after 1970-01-01."""
    era, day_of_era = divmod(days + _DAYS_TO_1970, _DAYS_PER_400_YEARS)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return Civil(year_of_era + era * 400 + (month <= 2), month, day)


def is_leap(year: int) -> bool:
    """True for a leap year."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Number of days in a month."""
    return 29 if month == 2 and is_leap(year) else _LENGTHS[month - 1]


_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def clamped(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date; a day after the end of the month becomes its last day."""
    return days_of(year, month, min(day, month_length(year, month)))


def plus_months(days: int, months: int) -> int:
    """The date some months later; a day after the end of the month becomes its last day."""
    civil = civil_of(days)
    year, month = divmod(civil.year * 12 + civil.month - 1 + months, 12)
    return clamped(year, month + 1, civil.day)


def whole_months(start: int, end: int) -> int:
    """Whole months from one date to another, truncated."""
    first, last = civil_of(start), civil_of(end)
    packed = (last.year - first.year) * 384 + (last.month - first.month) * 32 + last.day - first.day
    return packed // 32 if packed >= 0 else -(-packed // 32)


# ------------------------------------------------------------------ weeks, quarters, years
def day_of_week(days: int) -> int:
    """ISO day of the week: 1 for Monday, 7 for Sunday."""
    return (days + 3) % 7 + 1


def week_start(week_year: int, week: int) -> int:
    """The Monday of an ISO 8601 week."""
    fourth = days_of(week_year, 1, 4)
    return fourth - (day_of_week(fourth) - 1) + 7 * (week - 1)


def week_of(days: int) -> tuple[int, int]:
    """ISO 8601 year and week."""
    thursday = days - day_of_week(days) + 4
    year = civil_of(thursday).year
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def ordinal_day(days: int) -> int:
    """Day of the year, from 1."""
    return days - days_of(civil_of(days).year, 1, 1) + 1


def quarter_start(days: int) -> int:
    """The first day of the quarter."""
    civil = civil_of(days)
    return days_of(civil.year, (civil.month - 1) // 3 * 3 + 1, 1)


def day_of_quarter(days: int) -> int:
    """Day of the quarter, from 1."""
    return days - quarter_start(days) + 1


def truncated(days: int, unit: str) -> int:
    """The first day of the unit that contains a day: ``millennium`` to ``day``."""
    civil = civil_of(days)
    if unit in _YEARS:
        # Truncated division, as in Java.
        size = _YEARS[unit]
        years = abs(civil.year) // size * size
        return days_of(years if civil.year >= 0 else -years, 1, 1)
    if unit == "weekYear":
        return week_start(week_of(days)[0], 1)
    if unit == "quarter":
        return quarter_start(days)
    if unit == "month":
        return days_of(civil.year, civil.month, 1)
    return days - day_of_week(days) + 1 if unit == "week" else days


_YEARS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}
