"""Parses dates and times in the forms of ISO 8601 that Neo4j accepts."""

from __future__ import annotations

import re

from gpugda.errors import CypherArgumentError, CypherSyntaxError
from gpugda.expressions.temporal.calendar import (
    NANOS_PER_SECOND,
    days_of,
    is_leap,
    month_length,
    week_start,
)
from gpugda.expressions.temporal.moments import Moment, at_wall
from gpugda.expressions.temporal.zones import Zone, offset_at, parse_offset, parse_zone

__all__ = ["KINDS", "parse_moment"]

_DATE = (
    r"(?:(?P<year>[0-9]{4}|[+-][0-9]{1,9})"
    r"(?:-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})|-(?P<monthonly>[0-9]{2})"
    r"|-W(?P<week>[0-9]{1,2})(?:-(?P<weekday>[0-9]))?"
    r"|-Q(?P<quarter>[0-9])(?:-(?P<quarterday>[0-9]{1,2}))?|-(?P<ordinal>[0-9]{3}))?"
    r"|(?P<yearb>[0-9]{4})(?:(?P<monthb>[0-9]{2})(?P<dayb>[0-9]{2})?"
    r"|W(?P<weekb>[0-9]{2})(?P<weekdayb>[0-9])?|Q(?P<quarterb>[0-9])(?P<quarterdayb>[0-9]{2})?"
    r"|(?P<ordinalb>[0-9]{3})))"
)
_TIME = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})"
    r"(?:[.,](?P<fraction>[0-9]{1,9}))?)?)?"
    r"|(?P<hourb>[0-9]{2})(?P<minuteb>[0-9]{2})(?:(?P<secondb>[0-9]{2})"
    r"(?:[.,](?P<fractionb>[0-9]{1,9}))?)?)"
)
_ZONE = r"(?P<offset>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?(?:\[(?P<zone>[A-Za-z0-9/_+\-]+)\])?"
_DATE_TEXT = re.compile(_DATE, re.IGNORECASE)
_LOCALTIME_TEXT = re.compile(f"T?{_TIME}", re.IGNORECASE)
_TIME_TEXT = re.compile(f"T?{_TIME}{_ZONE}", re.IGNORECASE)
_LOCALDATETIME_TEXT = re.compile(f"{_DATE}(?:T{_TIME})?", re.IGNORECASE)
_DATETIME_TEXT = re.compile(f"{_DATE}(?:T{_TIME}{_ZONE})?", re.IGNORECASE)


KINDS = ("date", "localtime", "time", "localdatetime", "datetime")
"""The kinds of moments, which are all temporal kinds but durations."""


def parse_moment(kind: str, text: str, default: Zone) -> Moment:
    """Parses a text of one of `KINDS`; the default zone is for a time or datetime without one."""
    if kind == "time":
        return parse_time(text, default)
    if kind == "datetime":
        return parse_datetime(text, default)
    plain = {
        "date": parse_date,
        "localtime": parse_localtime,
        "localdatetime": parse_localdatetime,
    }
    return plain[kind](text)


def _match(pattern: re.Pattern[str], text: str, kind: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise CypherSyntaxError(f"{text!r} is not a {kind}")
    return found


def parse_date(text: str) -> Moment:
    """``date('2015-07-21')``; also by week, quarter or day of the year, with or without dashes."""
    return Moment(_days(_match(_DATE_TEXT, text, "date")))


def parse_localtime(text: str) -> Moment:
    """``localtime('21:40:32.142')``."""
    return Moment(None, _nanos(_match(_LOCALTIME_TEXT, text, "local time")))


def parse_localdatetime(text: str) -> Moment:
    """``localdatetime('2015-07-21T21:40')``."""
    found = _match(_LOCALDATETIME_TEXT, text, "local datetime")
    return Moment(_days(found), _nanos(found))


def parse_time(text: str, default: Zone) -> Moment:
    """``time('21:40+01:00')``; without an offset it gets the default one."""
    found = _match(_TIME_TEXT, text, "time")
    if found["zone"] is not None:
        raise CypherArgumentError(f"{text!r}: a time has an offset, not a named time zone")
    nanos = _nanos(found)
    offset = offset_at(default, 0) if found["offset"] is None else _offset(found)
    return Moment(None, nanos, offset, offset)


def parse_datetime(text: str, default: Zone) -> Moment:
    """``datetime('2015-07-21T21:40+02:00[Europe/Berlin]')``; the zone is optional."""
    found = _match(_DATETIME_TEXT, text, "datetime")
    days, nanos = _days(found), _nanos(found)
    if found["zone"] is None:
        return at_wall(days, nanos, default if found["offset"] is None else _offset(found))
    zone = parse_zone(found["zone"])
    if found["offset"] is None:
        return at_wall(days, nanos, zone)
    offset = _offset(found)
    moment = at_wall(days, nanos, zone, offset)
    if moment.offset != offset:
        raise CypherArgumentError(f"{text!r}: {zone} does not have this offset at that time")
    return moment


def _offset(found: re.Match[str]) -> int:
    offset = parse_offset(found["offset"].upper())
    if offset is None:
        raise CypherArgumentError(f"invalid offset from UTC: {found['offset']}")
    return offset


# ------------------------------------------------------------------ parts
def _number(found: re.Match[str], name: str, default: int) -> int:
    text = found[name] or found[f"{name}b"]
    return default if text is None else int(text)


def _has(found: re.Match[str], name: str) -> bool:
    return bool(found[name] or found[f"{name}b"])


def _days(found: re.Match[str]) -> int:
    year = _number(found, "year", 0)
    if _has(found, "week"):
        week, day = _number(found, "week", 1), _number(found, "weekday", 1)
        _check(found, 1 <= week <= 53 and 1 <= day <= 7)
        return week_start(year, week) + day - 1
    if _has(found, "quarter"):
        return _quarter_day(found, year)
    if _has(found, "ordinal"):
        day = _number(found, "ordinal", 1)
        _check(found, 1 <= day <= 365 + is_leap(year))
        return days_of(year, 1, 1) + day - 1
    month = int(found["monthonly"] or _number(found, "month", 1))
    day = _number(found, "day", 1)
    _check(found, 1 <= month <= 12)
    _check(found, 1 <= day <= month_length(year, month))
    return days_of(year, month, day)


def _quarter_day(found: re.Match[str], year: int) -> int:
    quarter, day = _number(found, "quarter", 1), _number(found, "quarterday", 1)
    _check(found, 1 <= quarter <= 4 and 1 <= day <= 92)
    start = days_of(year, 3 * quarter - 2, 1)
    length = sum(month_length(year, 3 * quarter - rest) for rest in range(3))
    if day > length:
        raise CypherArgumentError(f"quarter {quarter} of {year} has no day {day}")
    return start + day - 1


def _nanos(found: re.Match[str]) -> int:
    if not _has(found, "hour"):
        return 0
    hour, minute, second = (_number(found, name, 0) for name in ("hour", "minute", "second"))
    _check(found, hour <= 23 and minute <= 59 and second <= 59)
    fraction = found["fraction"] or found["fractionb"] or "0"
    seconds = hour * 3600 + minute * 60 + second
    return seconds * NANOS_PER_SECOND + int(fraction.ljust(9, "0"))


def _check(found: re.Match[str], holds: bool) -> None:
    if not holds:
        raise CypherSyntaxError(f"{found[0]!r}: a part is out of range")
