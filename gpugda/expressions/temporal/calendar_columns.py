"""Vectorised calendar arithmetic: as `calendar`, for arrays of days since 1970."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = [
    "days_in_month",
    "days_of_months",
    "months_and_days",
    "plus_whole_months",
    "quarter_starts",
    "truncated_days",
    "week_days",
    "weeks_and_years",
    "whole_months_between",
    "year_starts",
]


def months_and_days(days: Numbers) -> tuple[Numbers, Numbers]:
    """Months since January 1970, and the day of the month, from 1."""
    months = days.view("datetime64[D]").astype("datetime64[M]")
    return months.view(np.int64), days - months.astype("datetime64[D]").view(np.int64) + 1


def days_of_months(months: Numbers) -> Numbers:
    """The first day of each month."""
    return months.view("datetime64[M]").astype("datetime64[D]").view(np.int64)


def days_in_month(months: Numbers) -> Numbers:
    """Number of days in each month."""
    return days_of_months(months + 1) - days_of_months(months)


def year_starts(days: Numbers) -> Numbers:
    """First of January of each day's year."""
    return days.view("datetime64[D]").astype("datetime64[Y]").astype("datetime64[D]").view(np.int64)


def quarter_starts(days: Numbers) -> Numbers:
    """The first day of each quarter."""
    return days_of_months(months_and_days(days)[0] // 3 * 3)


def week_days(days: Numbers) -> Numbers:
    """ISO day of the week: 1 for Monday, 7 for Sunday."""
    return (days + 3) % 7 + 1


def weeks_and_years(days: Numbers) -> tuple[Numbers, Numbers]:
    """ISO 8601 week and year."""
    thursdays = days - week_days(days) + 4
    weeks = (thursdays - year_starts(thursdays)) // 7 + 1
    return weeks, months_and_days(thursdays)[0] // 12 + 1970


def plus_whole_months(days: Numbers, months: Numbers) -> Numbers:
    """The dates some months later; a day after the end of the month becomes its last day."""
    own, day = months_and_days(days)
    later = own + months
    return days_of_months(later) + np.minimum(day, days_in_month(later)) - 1


def whole_months_between(starts: Numbers, ends: Numbers) -> Numbers:
    """Whole months from one date to the other, truncated."""
    (first, first_day), (last, last_day) = months_and_days(starts), months_and_days(ends)
    packed = (last - first) * 32 + last_day - first_day
    return np.where(packed >= 0, packed // 32, -(-packed // 32))


def truncated_days(days: Numbers, unit: str) -> Numbers:
    """First day of the unit that contains each day: ``millennium`` to ``day``; years from 1."""
    if unit in _YEARS:
        years = months_and_days(days)[0] // 12 + 1970
        return days_of_months((years // _YEARS[unit] * _YEARS[unit] - 1970) * 12)
    if unit == "weekYear":
        fourth = days_of_months((weeks_and_years(days)[1] - 1970) * 12) + 3
        return fourth - week_days(fourth) + 1
    if unit == "quarter":
        return quarter_starts(days)
    if unit == "month":
        return days_of_months(months_and_days(days)[0])
    return days - week_days(days) + 1 if unit == "week" else days


_YEARS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}
