"""Temporal and spatial property values as neo4j's classes, made from Python's and Arrow's.

This room holds values, it talks to no database: ``neo4j.time`` and ``neo4j.spatial`` are looked up
when the first such value is met, so that graphs without any never load them.

To Neo4j the offset ``Z`` and the zone ``[UTC]`` are two. Its driver gives ``pytz.UTC`` for both,
and sends that as the zone. Values in here have ``pytz.UTC`` for the zone only; at the offset 0 they
have a fixed offset of pytz, as at any other. `as_driver_gives` undoes this for users.
"""

from __future__ import annotations

import datetime
import importlib
import operator
from functools import cache
from typing import TYPE_CHECKING, Any

from gpugda.errors import SourceError
from gpugda.text_order import StoredText

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "as_driver_gives",
    "at_offset_zero",
    "date_from_days",
    "datetime_from_ticks",
    "duration_from_ticks",
    "identity_of_temporal",
    "is_stored_object",
    "neo4j_spatial",
    "neo4j_time",
    "point_of",
    "rezoned",
    "temporal_from_native",
    "time_from_ticks",
    "zone_from_name",
    "zone_from_offset",
    "zone_name",
]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_TICKS_PER_SECOND = 10**9
_TICKS_PER_DAY = 86_400 * _TICKS_PER_SECOND


def neo4j_time() -> Any:
    """The module of neo4j's temporal classes."""
    return importlib.import_module("neo4j.time")


def neo4j_spatial() -> Any:
    """The module of neo4j's spatial classes."""
    return importlib.import_module("neo4j.spatial")


def is_stored_object(value: Any) -> bool:
    """Is it already one of neo4j's temporal or spatial values?"""
    # By module first: asking for the classes would load them for every value that is none.
    if not type(value).__module__.startswith("neo4j."):
        return False
    time = neo4j_time()
    kinds = (time.Date, time.Time, time.DateTime, time.Duration, neo4j_spatial().Point)
    return isinstance(value, kinds)


def identity_of_temporal(value: Any) -> Any:
    """A hashable key that also tells apart equal instants in different zones."""
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
    """A point of neo4j's.

    Raises:
        SourceError: There is no such coordinate system, or it has more or fewer coordinates.
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
    """``neo4j.time.DateTime`` from nanoseconds since 1970: by the wall clock, with a zone by UTC.

    Raises:
        ValueError: Outside the years 1 to 9999.
    """
    offset = None if zone is None else zone.utcoffset(None)
    if offset is not None:  # a fixed one; its fromutc refuses neo4j's class
        nanoseconds += _ticks(offset)
    days, rest = divmod(nanoseconds, _TICKS_PER_DAY)
    moment = neo4j_time().DateTime.combine(date_from_days(days), time_from_ticks(rest))
    if zone is None:
        return moment
    moment = moment.replace(tzinfo=zone)
    return moment if offset is not None else zone.fromutc(moment)


def duration_from_ticks(nanoseconds: int) -> Any:
    """``neo4j.time.Duration`` of days, seconds and nanoseconds, as the driver makes it."""
    days, rest = divmod(nanoseconds, _TICKS_PER_DAY)
    seconds, ticks = divmod(rest, _TICKS_PER_SECOND)
    return neo4j_time().Duration(days=days, seconds=seconds, nanoseconds=ticks)


# ------------------------------------------------------------------ zones
def zone_from_name(name: str) -> Any:
    """The zone of a name such as ``Europe/Berlin`` or of an offset such as ``+05:30``.

    Raises:
        ValueError: No such zone is known.
    """
    pytz = importlib.import_module(
        "pytz"
    )  # what the driver uses, and so what its users get elsewhere
    if name[:1] in "+-" and name:
        hours, _, minutes = name[1:].partition(":")
        offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        return zone_from_offset(-offset if name[0] == "-" else offset)
    try:
        return pytz.timezone(name)
    except pytz.UnknownTimeZoneError:
        raise ValueError(f"unknown time zone {name!r}") from None


def zone_name(zone: datetime.tzinfo | None) -> str | None:
    """Name of a zone if it has one; None for plain offsets and no zone at all."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) else None


def zone_from_offset(offset: datetime.timedelta) -> Any:
    """The zone without a name that is always this far from UTC.

    Raises:
        ValueError: It is no whole number of minutes.
    """
    minutes, seconds = divmod(offset.days * 86_400 + offset.seconds, 60)
    if seconds:
        raise ValueError(f"offsets from UTC are whole minutes, not {offset}")
    return importlib.import_module("pytz").FixedOffset(minutes) if minutes else _offset_zero()


@cache
def _offset_zero() -> Any:
    # What pytz.FixedOffset(0) gives is pytz.UTC, which has a name.
    return type(importlib.import_module("pytz").FixedOffset(1))(0)


def at_offset_zero(value: Any) -> Any:
    """A value in the zone UTC, with the offset 0 instead."""
    return value.replace(tzinfo=_offset_zero())


def as_driver_gives(value: Any) -> Any:
    """A value, or a list or map of such, with ``pytz.UTC`` for the offset 0; plain texts.

    Itself if it has neither.
    """
    if type(value) is StoredText:
        return str(value)
    if type(value) is list:
        shown = [as_driver_gives(item) for item in value]
        return shown if any(map(operator.is_not, shown, value)) else value
    if type(value) is dict:
        values = [as_driver_gives(item) for item in value.values()]
        is_same = not any(map(operator.is_not, values, value.values()))
        return value if is_same else dict(zip(value, values, strict=True))
    zone = getattr(value, "tzinfo", None)
    if zone is None or zone is not _offset_zero():
        return value
    return value.replace(tzinfo=importlib.import_module("pytz").UTC)


def _own_zone(zone: datetime.tzinfo, offset: datetime.timedelta) -> Any:
    name = zone_name(zone)
    return zone_from_offset(offset) if name is None else zone_from_name(name)


# ------------------------------------------------------------------ from Python's own classes
def rezoned(value: Any) -> Any:
    """A stored value with a zone of pytz.

    Others may not know neo4j's classes: CPython's zoneinfo reads them as its own and crashes.

    Raises:
        ValueError: Its zone is not known.
    """
    zone = getattr(value, "tzinfo", None)
    if zone is None or type(zone).__module__.partition(".")[0] == "pytz":
        return value
    return temporal_from_native(value.to_native()).replace(nanosecond=value.nanosecond)


def temporal_from_native(value: Any) -> Any:
    """neo4j's value for one of the module ``datetime``; None for other values.

    Raises:
        ValueError: It has a zone that is not known.
    """
    for kind, convert in _NATIVE:
        if isinstance(value, kind):
            return convert(value)
    return None


def _from_datetime(value: datetime.datetime) -> Any:
    zone, offset = value.tzinfo, value.utcoffset()
    elapsed = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    ticks = _ticks(elapsed)
    if zone is None or offset is None:
        return datetime_from_ticks(ticks)
    return datetime_from_ticks(ticks - _ticks(offset), _own_zone(zone, offset))


def _from_time(value: datetime.time) -> Any:
    plain = neo4j_time().Time.from_native(value.replace(tzinfo=None))
    offset = value.utcoffset()
    if value.tzinfo is None:
        return plain
    if offset is None:
        raise ValueError("a time of day takes an offset such as +01:00, not a zone")
    return plain.replace(tzinfo=_own_zone(datetime.timezone(offset), offset))


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
