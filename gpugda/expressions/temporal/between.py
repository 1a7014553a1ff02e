"""Durations between two temporal values: ``duration.between()`` and its variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.temporal.arithmetic import plus_days_in, plus_months_in
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, whole_months
from gpugda.expressions.temporal.durations import make_duration
from gpugda.expressions.temporal.moments import Moment, at_instant, at_wall, moment_of

if TYPE_CHECKING:
    from gpugda.expressions.temporal.zones import Zone

__all__ = ["between", "in_days", "in_months", "in_seconds"]


def between(start: Any, end: Any) -> Any:
    """Whole months, then whole days, then the remainder in seconds."""
    first, last, dated = _aligned(start, end)
    months = days = 0
    if dated:
        # A local time in a gap of the end's zone moves only where it is compared, not for good.
        given, zone = moment_of(start), first.zone
        own = Moment(given.days, given.nanos or 0) if given.zone is None else first
        months = _months(first, last)
        own = plus_months_in(own, months)
        days = _days(_in_zone(own, zone), last)
        first = _in_zone(plus_days_in(own, days), zone)
    return _ticks_duration(months, days, last.instant - first.instant)


def _in_zone(moment: Moment, zone: Zone | None) -> Moment:
    if zone is None or moment.zone is not None:
        return moment
    assert moment.days is not None
    assert moment.nanos is not None
    return at_wall(moment.days, moment.nanos, zone)


def in_months(start: Any, end: Any) -> Any:
    """Whole months only; one of the two must have a date.

    Raises:
        CypherTypeError: Neither has a date.
    """
    first, last = _dated(start, end)
    return make_duration(_months(first, last), 0, 0, 0)


def in_days(start: Any, end: Any) -> Any:
    """Whole days only; one of the two must have a date.

    Raises:
        CypherTypeError: Neither has a date.
    """
    first, last = _dated(start, end)
    return make_duration(0, _days(first, last), 0, 0)


def in_seconds(start: Any, end: Any) -> Any:
    """The whole difference in seconds and fractions."""
    first, last, _ = _aligned(start, end)
    return _ticks_duration(0, 0, last.instant - first.instant)


def _ticks_duration(months: int, days: int, ticks: int) -> Any:
    return make_duration(months, days, *divmod(ticks, NANOS_PER_SECOND))


# ------------------------------------------------------------------ alignment
def _aligned(start: Any, end: Any) -> tuple[Moment, Moment, bool]:
    """Both with date and time in one zone; and True if both had a date.

    Missing parts are taken from the other value; a missing time of day is midnight.
    """
    first, last = moment_of(start), moment_of(end)
    dated = first.days is not None and last.days is not None
    day = next((each.days for each in (first, last) if each.days is not None), 0)
    zones = (first.zone, last.zone)
    a, b = _filled(first, day, zones[1]), _filled(last, day, zones[0])
    if a.zone is not None and b.zone is not None and a.zone != b.zone:
        b = at_instant(b.instant, a.zone)
    return a, b, dated


def _dated(start: Any, end: Any) -> tuple[Moment, Moment]:
    first, last, _ = _aligned(start, end)
    if moment_of(start).days is None and moment_of(end).days is None:
        raise CypherTypeError("there are no days or months between two times of day")
    return first, last


def _filled(moment: Moment, day: int, other: Any) -> Moment:
    days = day if moment.days is None else moment.days
    nanos = moment.nanos or 0
    zone = other if moment.zone is None else moment.zone
    return Moment(days, nanos) if zone is None else at_wall(days, nanos, zone, moment.offset)


# ------------------------------------------------------------------ calendar units
def _last_day(first: Moment, last: Moment) -> int:
    """The end's day, one closer to the start if its time of day is not reached."""
    assert first.days is not None
    assert last.days is not None
    assert first.nanos is not None
    assert last.nanos is not None
    if last.days > first.days and last.nanos < first.nanos:
        return last.days - 1
    if last.days < first.days and last.nanos > first.nanos:
        return last.days + 1
    return last.days


def _months(first: Moment, last: Moment) -> int:
    assert first.days is not None
    return whole_months(first.days, _last_day(first, last))


def _days(first: Moment, last: Moment) -> int:
    assert first.days is not None
    return _last_day(first, last) - first.days
