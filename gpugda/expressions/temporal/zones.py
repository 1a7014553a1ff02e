"""Time zones: a fixed offset from UTC in seconds, or a name such as ``Europe/Berlin``.

The rules come from pytz's files, read by zoneinfo: pytz itself has no daylight saving time after
2037 and rounds local times of the 19th century to minutes.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import re
import zoneinfo
from typing import Any

from gpugda.data.values.temporal import zone_from_name, zone_from_offset, zone_name
from gpugda.errors import CypherSyntaxError, UnsupportedQueryError

__all__ = [
    "Zone",
    "offset_at",
    "parse_offset",
    "parse_zone",
    "tzinfo_of",
    "utc_seconds_of",
    "zone_of",
]

Zone = int | str
"""An offset in seconds, or the name of a zone."""


def zone_of(tzinfo: Any) -> Zone:
    """The zone of a stored or computed value."""
    name = zone_name(tzinfo)
    if name is not None:
        return name
    offset = tzinfo.utcoffset(None)
    return int(offset.days * 86_400 + offset.seconds)


def tzinfo_of(zone: Zone) -> Any:
    """The tzinfo object for a zone.

    Raises:
        UnsupportedQueryError: The zone is an offset of a fraction of a minute.
    """
    if isinstance(zone, str):
        return zone_from_name(zone)
    if zone % 60:
        message = "offsets from UTC with seconds are not supported by this engine"
        raise UnsupportedQueryError(message, construct="time zone offset with seconds")
    return zone_from_offset(datetime.timedelta(seconds=zone))


# ------------------------------------------------------------------ offsets
_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST = -62_135_300_000
_LAST = 253_402_000_000
"""Seconds near the ends of Python's calendar; zone rules do not change beyond."""
_CYCLE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar and with it the rules repeat."""


@functools.lru_cache(maxsize=700)
def _rules(name: str) -> zoneinfo.ZoneInfo:
    with importlib.import_module("pytz").open_resource(name) as file:
        return zoneinfo.ZoneInfo.from_file(file, key=name)


def _seconds(offset: datetime.timedelta | None) -> int:
    assert offset is not None
    return offset.days * 86_400 + offset.seconds


def _near(seconds: int) -> datetime.datetime:
    if seconds > _LAST:
        seconds -= -(-(seconds - _LAST) // _CYCLE) * _CYCLE
    return _EPOCH + datetime.timedelta(seconds=max(seconds, _FIRST))


def offset_at(zone: Zone, utc_seconds: int) -> int:
    """Offset of a zone at an instant, in seconds."""
    if isinstance(zone, int):
        return zone
    rules = _rules(zone)
    return _seconds(rules.fromutc(_near(utc_seconds).replace(tzinfo=rules)).utcoffset())


def utc_seconds_of(zone: Zone, wall_seconds: int, preferred: int | None = None) -> int:
    """The instant of a local time, in seconds since 1970 in UTC.

    In a gap the offset before it applies. In an overlap, the preferred offset applies if possible,
    else the earlier instant.
    """
    if isinstance(zone, int):
        return wall_seconds - zone
    wall = _near(wall_seconds).replace(tzinfo=_rules(zone))
    before, after = _seconds(wall.utcoffset()), _seconds(wall.replace(fold=1).utcoffset())
    return wall_seconds - (after if preferred == after < before else before)


# ------------------------------------------------------------------ texts
_OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2}))?(?::([0-9]{2}))?")
_NO_REGIONS = frozenset(("EST", "MST", "HST", "ROC"))
"""Names known to pytz but not to Java."""

_LARGEST_OFFSET = 18 * 3600


@functools.cache
def _names() -> dict[str, str]:
    known = importlib.import_module("pytz").all_timezones
    return {name.lower(): name for name in known if name not in _NO_REGIONS}


def parse_offset(text: str) -> int | None:
    """Seconds of ``Z``, ``+01:00``, ``-0130`` or ``+01``; None if invalid or out of range."""
    if text in ("Z", "z"):
        return 0
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _LARGEST_OFFSET:
        return None
    return -total if found[1] == "-" else total


def parse_zone(text: str) -> Zone:
    """Parses a ``timezone`` value: an offset with colons, or a region (case-insensitive).

    Raises:
        CypherSyntaxError: The text is no time zone.
        UnsupportedQueryError: Java knows the zone, but no driver does.
    """
    if text in ("Z", "z"):
        return 0
    if re.fullmatch(r"[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?", text):
        offset = parse_offset(text)
        if offset is not None:
            return offset
    if re.fullmatch(r"(UTC|GMT|UT)[+-][0-9]{2}:[0-9]{2}", text):
        message = f"the time zone {text} is not supported by this engine"
        raise UnsupportedQueryError(message, construct="time zone with an offset")
    name = _names().get(text.lower())
    if name is None:
        raise CypherSyntaxError(f"unknown time zone {text!r}")
    return name
