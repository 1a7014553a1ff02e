"""Temporal and spatial property values as neo4j's classes, from Python's and Arrow's.

This room does not access a database: ``neo4j.time`` and ``neo4j.spatial`` are imported when the
first such value occurs, so that graphs without any never load them.

Neo4j distinguishes the offset ``Z`` and the zone ``[UTC]``. Its driver returns ``pytz.UTC`` for
both, and sends that as the zone. Here ``pytz.UTC`` stands for the zone only; values at the offset 0
have a fixed offset of pytz, as at any other. `gpugda.data.values.driver_values` converts them back
for users.
"""

from __future__ import annotations

import datetime
import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "any_date",
    "any_datetime",
    "at_offset_zero",
    "date_from_days",
    "datetime_from_ticks",
    "duration_from_ticks",
    "identity_of_temporal",
    "is_at_offset_zero",
    "is_far",
    "is_near_end",
    "is_of_pytz",
    "is_stored_object",
    "neo4j_spatial",
    "neo4j_time",
    "own_zone",
    "point_of",
    "rezoned",
    "temporal_from_native",
    "time_from_ticks",
    "zone_from_name",
    "zone_from_offset",
    "zone_name",
]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_LAST_ORDINAL = datetime.date.max.toordinal()
_DAYS_PER_400_YEARS = 146_097
_EDGE = 2
"""Days near the ends of the years 1 to 9999 in which a zone's offset may lead out of them."""
_LARGEST_OFFSET = datetime.timedelta(hours=18)
_TICKS_PER_SECOND = 10**9
_TICKS_PER_DAY = 86_400 * _TICKS_PER_SECOND


def neo4j_time() -> Any:
    """The module of neo4j's temporal classes."""
    return importlib.import_module("neo4j.time")


def neo4j_spatial() -> Any:
    """The module of neo4j's spatial classes."""
    return importlib.import_module("neo4j.spatial")


def is_stored_object(value: Any) -> bool:
    """True if the value is one of neo4j's temporal or spatial values."""
    # Test the module first: accessing the classes would import them for every other value.
    if not type(value).__module__.startswith("neo4j."):
        return False
    time = neo4j_time()
    kinds = (time.Date, time.Time, time.DateTime, time.Duration, neo4j_spatial().Point)
    return isinstance(value, kinds)


def identity_of_temporal(value: Any) -> Any:
    """A hashable key that also distinguishes equal instants in different zones."""
    name = type(value).__name__
    if name == "Duration":
        return (name, *value)
    if hasattr(value, "srid"):
        return (name, value.srid, *map(float.hex, map(float, value)))
    return (name, value.iso_format(), zone_name(getattr(value, "tzinfo", None)))


_POINT_CLASSES = {
    4326: "WGS84Point",
    4979: "WGS84Point",
    7203: "CartesianPoint",
    9157: "CartesianPoint",
}


def point_of(srid: int, x: float, y: float, z: float | None) -> Any:
    """A point of the neo4j driver.

    Raises:
        SourceError: The coordinate system is unknown, or has another number of coordinates.
    """
    coordinates = (x, y) if z is None else (x, y, z)
    if srid in _POINT_CLASSES:
        point = getattr(neo4j_spatial(), _POINT_CLASSES[srid])(coordinates)
        if point.srid == srid:
            return point
    raise SourceError(
        f"a point of {len(coordinates)} coordinates with srid {srid} is none of Neo4j's"
    )


# ------------------------------------------------------------------ from counts of ticks
def date_from_days(days: int) -> Any:
    """``neo4j.time.Date`` from days since 1970-01-01.

    Raises:
        ValueError: Outside the years 1 to 9999.
    """
    return neo4j_time().Date.from_ordinal(_EPOCH_ORDINAL + days)


def time_from_ticks(nanoseconds: int) -> Any:
    """``neo4j.time.Time`` without zone from nanoseconds since midnight."""
    return neo4j_time().Time.from_ticks(nanoseconds)


def datetime_from_ticks(nanoseconds: int, zone: Any = None) -> Any:
    """``neo4j.time.DateTime`` from nanoseconds since 1970, as local time or, with a zone, in UTC.

    Raises:
        ValueError: Outside the years 1 to 9999.
    """
    offset = None if zone is None else zone.utcoffset(None)
    if offset is not None:  # a fixed offset, whose fromutc does not accept neo4j's class
        nanoseconds += _ticks(offset)
    days, rest = divmod(nanoseconds, _TICKS_PER_DAY)
    moment = neo4j_time().DateTime.combine(date_from_days(days), time_from_ticks(rest))
    if zone is None:
        return moment
    moment = moment.replace(tzinfo=zone)
    return moment if offset is not None else zone.fromutc(moment)


def duration_from_ticks(nanoseconds: int) -> Any:
    """``neo4j.time.Duration`` of days, seconds and nanoseconds, normalised like the driver's."""
    days, rest = divmod(nanoseconds, _TICKS_PER_DAY)
    seconds, ticks = divmod(rest, _TICKS_PER_SECOND)
    return neo4j_time().Duration(days=days, seconds=seconds, nanoseconds=ticks)


# ------------------------------------------------------------------ years below 1, above 9999
def is_far(value: Any) -> bool:
    """True for a date or date-time outside the years 1 to 9999, the range of the driver."""
    if type(value).__name__ not in ("Date", "DateTime"):
        return False
    return not 1 <= value.to_ordinal() <= _LAST_ORDINAL


def is_near_end(value: Any) -> bool:
    """True for a date or date-time in whose zone or in UTC the year may be outside 1 to 9999."""
    if type(value).__name__ not in ("Date", "DateTime"):
        return False
    return not _EDGE < value.to_ordinal() <= _LAST_ORDINAL - _EDGE


def any_date(days: int) -> Any:
    """As `date_from_days`, of any year.

    Neo4j has dates that the driver's constructors refuse. Its class can hold them: this restores
    one as from a pickle. They compare, order and group like others; only what needs Python's
    calendar, such as ``replace`` and ``to_native``, fails.
    """
    ordinal = _EPOCH_ORDINAL + days
    if 1 <= ordinal <= _LAST_ORDINAL:
        return date_from_days(days)
    era, rest = divmod(ordinal - 1, _DAYS_PER_400_YEARS)
    civil = datetime.date.fromordinal(rest + 1)
    parts = {"ordinal": ordinal, "year": civil.year + 400 * era, "month": civil.month}
    parts["day"] = civil.day
    return neo4j_time().Date._restore({f"_Date__{name}": part for name, part in parts.items()})


def any_datetime(nanoseconds: int, zone: Any = None) -> Any:
    """As `datetime_from_ticks`, of any year."""
    ordinal = _EPOCH_ORDINAL + nanoseconds // _TICKS_PER_DAY
    if _EDGE < ordinal <= _LAST_ORDINAL - _EDGE:
        return datetime_from_ticks(nanoseconds, zone)
    if zone is not None:
        # In a named zone the offset near the end of the calendar applies.
        near = min(max(ordinal, 1 + _EDGE), _LAST_ORDINAL - _EDGE)
        moment = datetime.datetime.fromordinal(near).replace(tzinfo=zone)
        if zone.utcoffset(None) is None:
            moment = zone.fromutc(moment)
            zone = moment.tzinfo
        nanoseconds += _ticks(zone.utcoffset(moment))
    days, rest = divmod(nanoseconds, _TICKS_PER_DAY)
    clock = time_from_ticks(rest)
    clock = clock if zone is None else clock.replace(tzinfo=zone)
    return neo4j_time().DateTime.combine(any_date(days), clock)


# ------------------------------------------------------------------ zones
def zone_from_name(name: str) -> Any:
    """The zone with a name such as ``Europe/Berlin`` or an offset such as ``+05:30``.

    Raises:
        ValueError: The zone is unknown.
    """
    pytz = importlib.import_module(
        "pytz"
    )  # the driver uses it, too, so users get the same classes everywhere
    if name[:1] in "+-" and name:
        hours, _, minutes = name[1:].partition(":")
        offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        return zone_from_offset(-offset if name[0] == "-" else offset)
    try:
        return pytz.timezone(name)
    except pytz.UnknownTimeZoneError:
        raise ValueError(f"unknown time zone {name!r}") from None


def zone_name(zone: datetime.tzinfo | None) -> str | None:
    """Name of a zone; None for a plain offset or no zone."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) else None


def zone_from_offset(offset: datetime.timedelta) -> Any:
    """The unnamed zone with a fixed offset from UTC.

    Raises:
        ValueError: The offset is not a whole number of minutes, or more than 18 hours.
    """
    minutes, seconds = divmod(offset.days * 86_400 + offset.seconds, 60)
    if seconds or offset.microseconds:
        raise ValueError(f"offsets from UTC are whole minutes, not {offset}")
    _check_offset(offset)
    return importlib.import_module("pytz").FixedOffset(minutes) if minutes else _offset_zero()


def _check_offset(offset: datetime.timedelta | None) -> None:
    if offset is not None and abs(offset) > _LARGEST_OFFSET:
        raise ValueError(f"offsets from UTC are at most 18 hours, not {offset}")


@cache
def _offset_zero() -> Any:
    # pytz.FixedOffset(0) returns pytz.UTC, which has a name.
    return type(importlib.import_module("pytz").FixedOffset(1))(0)


def at_offset_zero(value: Any) -> Any:
    """A value in the zone UTC, changed to the offset 0."""
    return neo4j_time().DateTime.combine(value.date(), value.time().replace(tzinfo=_offset_zero()))


def is_at_offset_zero(value: Any) -> bool:
    """True for a time at the offset 0, which the driver returns in the zone UTC."""
    return getattr(value, "tzinfo", None) is _offset_zero()


def own_zone(zone: datetime.tzinfo, offset: datetime.timedelta) -> Any:
    """The zone of pytz for another one, which has the offset at the moment in question.

    Raises:
        ValueError: The zone is unknown, or the offset is not a whole number of minutes.
    """
    name = zone_name(zone)
    return zone_from_offset(offset) if name is None else zone_from_name(name)


# ------------------------------------------------------------------ from Python's own classes
def rezoned(value: Any) -> Any:
    """A stored value with its zone converted to pytz.

    Other zone classes may not support neo4j's classes: CPython's zoneinfo reads them as its own and
    crashes.

    Raises:
        ValueError: The zone is unknown, or its offset more than 18 hours.
    """
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return value
    if is_of_pytz(zone):
        _check_offset(zone.utcoffset(None))
    if is_of_pytz(zone) and (zone.utcoffset(None) is not None or is_near_end(value)):
        return value
    native = value.to_native()
    if is_of_pytz(zone) and zone.normalize(native).tzinfo is zone:
        return value
    return temporal_from_native(native).replace(nanosecond=value.nanosecond)


def is_of_pytz(zone: datetime.tzinfo) -> bool:
    """True if the zone is one of pytz, the only ones that neo4j's classes may have safely."""
    return type(zone).__module__.partition(".")[0] == "pytz"


def temporal_from_native(value: Any) -> Any:
    """neo4j's value for one of the module ``datetime``; None for other values.

    Raises:
        ValueError: The value's zone is unknown.
    """
    for kind, convert in _NATIVE:
        if isinstance(value, kind):
            return convert(value)
    return None


def _from_datetime(value: datetime.datetime) -> Any:
    zone, offset = value.tzinfo, value.utcoffset()
    elapsed = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    ticks = _ticks(elapsed)
    if zone is None:
        return datetime_from_ticks(ticks)
    if offset is None:
        raise ValueError(f"the zone {zone} has no offset from UTC")
    return datetime_from_ticks(ticks - _ticks(offset), own_zone(zone, offset))


def _from_time(value: datetime.time) -> Any:
    plain = neo4j_time().Time.from_native(value.replace(tzinfo=None))
    offset = value.utcoffset()
    if value.tzinfo is None:
        return plain
    if offset is None:
        raise ValueError("a time of day takes an offset such as +01:00, not a zone")
    return plain.replace(tzinfo=own_zone(datetime.timezone(offset), offset))


def _ticks(elapsed: datetime.timedelta) -> int:
    seconds = elapsed.days * 86_400 + elapsed.seconds
    return (
        seconds * _TICKS_PER_SECOND
        + elapsed.microseconds * 1000
        + getattr(elapsed, "nanoseconds", 0)
    )


_NATIVE: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (datetime.datetime, _from_datetime),
    (datetime.date, lambda value: date_from_days(value.toordinal() - _EPOCH_ORDINAL)),
    (datetime.time, _from_time),
    (datetime.timedelta, lambda value: duration_from_ticks(_ticks(value))),
)
