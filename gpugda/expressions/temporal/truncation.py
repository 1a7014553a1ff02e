"""``date.truncate()`` and its variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherExecutionError, CypherTypeError
from gpugda.expressions.temporal.building import Clock, converted, from_fields
from gpugda.expressions.temporal.calendar import NANOS_PER_DAY, NANOS_PER_SECOND, truncated
from gpugda.expressions.temporal.moments import Moment, at_wall, value_of_moment

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DATE_UNITS", "TIME_UNITS", "truncate"]

DATE_UNITS = (
    "millennium",
    "century",
    "decade",
    "year",
    "weekYear",
    "quarter",
    "month",
    "week",
    "day",
)
TIME_UNITS = {
    "day": NANOS_PER_DAY,
    "hour": 3600 * NANOS_PER_SECOND,
    "minute": 60 * NANOS_PER_SECOND,
    "second": NANOS_PER_SECOND,
    "millisecond": 10**6,
    "microsecond": 1000,
}


def truncate(
    kind: str, unit: str, moment: Moment, fields: Mapping[str, Any] | None, clock: Clock
) -> Moment:
    """Truncates a moment to a unit, converts it to a kind, and replaces fields.

    Raises:
        CypherExecutionError: The unit is unknown.
        CypherTypeError: The kind or the moment does not have the unit.
    """
    if unit not in DATE_UNITS and unit not in TIME_UNITS:
        raise CypherExecutionError(f"unknown unit {unit!r}")
    cut = _cut(kind, unit, moment)
    result = converted(kind, cut, clock)
    if not fields:
        return result
    return _with_fields(kind, unit, cut, result, fields, clock)


def _cut(kind: str, unit: str, moment: Moment) -> Moment:
    of_date = kind == "date" or unit in DATE_UNITS
    wrong = (
        (kind == "date" and unit not in DATE_UNITS)
        or (kind in ("localtime", "time") and unit not in TIME_UNITS)
        or (of_date and kind not in ("localtime", "time") and moment.days is None)
        or (kind != "date" and unit in TIME_UNITS and unit != "day" and moment.nanos is None)
        or (kind in ("localtime", "time") and moment.nanos is None)
    )
    if wrong:
        raise CypherTypeError(f"a {moment.kind} cannot be truncated to a {kind} by {unit}")
    days = moment.days
    if days is not None and unit in DATE_UNITS:
        days = truncated(days, unit)
    size = TIME_UNITS.get(unit, NANOS_PER_DAY)
    nanos = (moment.nanos or 0) // size * size
    if moment.days is not None and moment.zone is not None and days is not None:
        return at_wall(days, nanos, moment.zone)
    return Moment(days, nanos, moment.zone, moment.offset)


def _with_fields(
    kind: str,
    unit: str,
    cut: Moment,
    result: Moment,
    fields: Mapping[str, Any],
    clock: Clock,
) -> Moment:
    base = {"date": "date", "localtime": "time", "time": "time"}.get(kind, "datetime")
    # Another time zone keeps the local time, not the instant.
    local = any(name.lower() == "timezone" for name in fields)
    source = Moment(cut.days, cut.nanos) if local else result
    given = {**_fraction_kept(unit, cut, fields), **fields}
    return from_fields(kind, {base: value_of_moment(source), **given}, clock)


_FRACTIONS = {"millisecond": 10**6, "microsecond": 1000}


def _fraction_kept(unit: str, cut: Moment, fields: Mapping[str, Any]) -> dict[str, int]:
    """The fraction of a second to which a smaller part is added, instead of replacing it."""
    if unit not in _FRACTIONS or cut.nanos is None:
        return {}
    smaller = ("microsecond", "nanosecond") if unit == "millisecond" else ("nanosecond",)
    names = {name.lower() for name in fields}
    if unit in names or names.isdisjoint(smaller):
        return {}
    return {unit: cut.nanos % NANOS_PER_SECOND // _FRACTIONS[unit]}
