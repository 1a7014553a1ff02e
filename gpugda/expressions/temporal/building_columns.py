"""Vectorised construction of temporal values from numbers and other values; durations between.

A result of None means that values must be computed one by one, including their errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.expressions.temporal import calendar_columns as calendar
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, SECONDS_PER_DAY
from gpugda.expressions.temporal.rows import FIRST_DAY, LAST_DAY, DurationRows, MomentRows
from gpugda.expressions.temporal.truncation import DATE_UNITS, TIME_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = [
    "at_instants",
    "between",
    "converted_rows",
    "date_days",
    "from_numbers",
    "truncated_rows",
]

_EPOCHS: Final = {"epochseconds": 1, "epochmillis": 1000}
_CHAIN: Final = ("year", "month", "day", "hour", "minute", "second")
_FRACTIONS: Final = {"millisecond": 10**6, "microsecond": 1000, "nanosecond": 1}
NUMBER_FIELDS: Final = frozenset((*_CHAIN, *_FRACTIONS, *_EPOCHS))
"""Map fields, in lower case, that are supported here."""
_FAR: Final = 1 << 50
"""Bound in milliseconds above every representable instant."""


def at_instants(parts: Numbers, a_second: int, offset: int) -> MomentRows | None:
    """Datetimes from instants since 1970 in UTC, counted in units of ``1 / a_second`` seconds."""
    if len(parts) and not -_FAR < int(parts.min()) <= int(parts.max()) < _FAR:
        return None
    days, rest = np.divmod(parts + offset * a_second, SECONDS_PER_DAY * a_second)
    return _held(MomentRows(days, rest * (NANOS_PER_SECOND // a_second), offset))


def _held(rows: MomentRows) -> MomentRows | None:
    """The rows; None if a year is outside 1 to 9999."""
    there = (rows.days >= FIRST_DAY) & (rows.days <= LAST_DAY)
    return rows if bool(there.all()) else None


# ------------------------------------------------------------------ fields
def from_numbers(kind: str, fields: Mapping[str, Numbers], offset: int) -> MomentRows | None:
    """``date({…})``, ``localdatetime({…})`` or ``datetime({…})`` with numeric fields.

    Args:
        kind: Kind of the result.
        fields: Arrays of equal length by lower-case name.
        offset: Offset of datetimes in seconds.
    """
    epochs = fields.keys() & _EPOCHS.keys()
    if epochs:
        (name, parts), *more = fields.items()
        return None if more or kind != "datetime" else at_instants(parts, _EPOCHS[name], offset)
    count = len(next(iter(fields.values())))
    names = [name for name in _CHAIN if name in fields]
    fractions = fields.keys() & _FRACTIONS.keys()
    if tuple(names) != _CHAIN[: len(names)] or len(names) + len(fractions) < len(fields):
        return None
    if len(fractions) > 1 or (fractions and len(names) < len(_CHAIN)):
        return None
    given = [fields[name] for name in names]
    given += [np.full(count, first) for first in (1, 1, 1, 0, 0, 0)[len(given) :]]
    days = date_days(*given[:3])
    if kind == "date":
        return None if len(names) > 3 or days is None else MomentRows(days)
    nanos = _nanos(given[3:], {name: fields[name] for name in fractions})
    if days is None or nanos is None:
        return None
    return MomentRows(days, nanos, offset if kind == "datetime" else None)


def date_days(years: Numbers, months: Numbers, days: Numbers) -> Numbers | None:
    """Days since 1970; None if a date is invalid or outside the years 1 to 9999."""
    if not len(years) or not (_within(years, 1, 9999) and _within(months, 1, 12)):
        return None
    since = (years - 1970) * 12 + months - 1
    if not bool(((days >= 1) & (days <= calendar.days_in_month(since))).all()):
        return None
    return calendar.days_of_months(since) + days - 1


def _within(numbers: Numbers, low: int, high: int) -> bool:
    return low <= int(numbers.min()) and int(numbers.max()) <= high


def _nanos(times: list[Numbers], fraction: Mapping[str, Numbers]) -> Numbers | None:
    hours, minutes, seconds = times
    if not all(_within(each, 0, top) for each, top in zip(times, (23, 59, 59), strict=True)):
        return None
    nanos = (hours * 3600 + minutes * 60 + seconds) * NANOS_PER_SECOND
    for name, parts in fraction.items():
        size = _FRACTIONS[name]
        if not _within(parts, 0, NANOS_PER_SECOND // size - 1):
            return None
        nanos = nanos + parts * size
    return nanos


# ------------------------------------------------------------------ conversion
def converted_rows(kind: str, rows: MomentRows, offset: int) -> MomentRows | None:
    """The values converted to another kind; datetimes without an offset get this one."""
    if kind == "date":
        return MomentRows(rows.days)
    if rows.nanos is None:
        return None
    if kind == "localdatetime":
        return MomentRows(rows.days, rows.nanos)
    return rows if rows.offset is not None else MomentRows(rows.days, rows.nanos, offset)


def truncated_rows(kind: str, unit: str, rows: MomentRows, offset: int) -> MomentRows | None:
    """``date.truncate(unit, …)`` and its variants, without further fields."""
    if unit in DATE_UNITS:
        days = calendar.truncated_days(rows.days, unit)
        cut = MomentRows(days, np.zeros_like(days), rows.offset)
    elif unit in TIME_UNITS and kind != "date" and rows.nanos is not None:
        size = TIME_UNITS[unit]
        cut = MomentRows(rows.days, rows.nanos // size * size, rows.offset)
    else:
        return None
    whole = _held(cut)
    return None if whole is None else converted_rows(kind, whole, offset)


# ------------------------------------------------------------------ between
def between(name: str, starts: MomentRows, ends: MomentRows) -> DurationRows | None:
    """``duration.between()`` and its variants, for values of one kind and offset."""
    if (starts.kind, starts.offset) != (ends.kind, ends.offset):
        return None
    first, last = starts.days, ends.days
    before = np.zeros_like(first) if starts.nanos is None else starts.nanos
    after = np.zeros_like(last) if ends.nanos is None else ends.nanos
    nothing = np.zeros(max(len(first), len(last)), dtype=np.int64)
    months: Any = nothing
    days: Any = nothing
    if name in ("duration.between", "duration.inmonths"):
        months = calendar.whole_months_between(first, _last_days(first, before, last, after))
    if name == "duration.inmonths":
        return DurationRows(nothing + months, nothing, nothing, nothing)
    if name == "duration.between":
        first = calendar.plus_whole_months(first + nothing, months + nothing)
    if name in ("duration.between", "duration.indays"):
        days = _last_days(first, before, last, after) - first
    if name == "duration.indays":
        return DurationRows(nothing, nothing + days, nothing, nothing)
    seconds, nanos = np.divmod(after - before + nothing, NANOS_PER_SECOND)
    seconds = seconds + (last - first - days) * SECONDS_PER_DAY
    return DurationRows(nothing + months, nothing + days, seconds, nanos)


def _last_days(first: Numbers, before: Numbers, last: Numbers, after: Numbers) -> Numbers:
    """The end's day, one closer to the start if its time of day is not reached."""
    early = (last > first) & (after < before)
    late = (last < first) & (after > before)
    return last - early.astype(np.int64) + late
