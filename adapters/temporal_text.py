"""Parses dates, times and durations in Cypher's notation to the driver's temporal values."""

from __future__ import annotations

import datetime
import importlib
import re
from collections.abc import Callable
from typing import Any

from gpugda.data.temporal import zone_from_offset

__all__ = ["TEMPORAL_PARSERS", "parse_duration"]

TemporalParser = Callable[[str, str], Any]

_DATE = re.compile(
    r"(?P<year>\d{4})(?:"
    r"-?W(?P<week>\d{2})(?:-?(?P<weekday>[1-7]))?"
    r"|-?Q(?P<quarter>[1-4])(?:-?(?P<quarter_day>\d{2}))?"
    r"|-?(?P<ordinal>\d{3})"
    r"|-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?"
    r"|(?P<month_>\d{2})(?P<day_>\d{2})?"
    r")?"
)
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"|(?P<minute_>\d{2})(?:(?P<second_>\d{2})(?:[.,](?P<fraction_>\d{1,9}))?)?)?"
)
_OFFSET = re.compile(r"(?:Z|(?P<sign>[+-])(?P<hours>\d{2})(?::?(?P<minutes>\d{2}))?)")
_ZONED = re.compile(
    r"(?P<local>.*?)(?P<offset>Z|[+-]\d{2}(?::?\d{2})?)?(?:\[(?P<region>[^\]]+)\])?"
)
_NUMBER = r"[+-]?\d+(?:[.,]\d{1,9})?"


def _amounts(*names: str) -> str:
    return "".join(rf"(?:(?P<{name}>{_NUMBER}){name[0].upper()})?" for name in names)


_DURATION = re.compile(
    rf"(?P<sign>[+-]?)P{_amounts('years', 'months', 'weeks', 'days')}"
    rf"(?P<clock>T{_amounts('hours', 'minutes', 'seconds')})?"
)
_DURATION_AS_MOMENT = re.compile(
    r"P(?P<years>\d{4})-(?P<months>\d{2})-(?P<days>\d{2})"
    r"(?:T(?P<hours>\d{2}):(?P<minutes>\d{2}):(?P<seconds>\d{2}(?:[.,]\d{1,9})?))?"
)
_NANO = 10**9
_DAY = 86_400 * _NANO
_MONTH = 2_629_746 * _NANO  # Neo4j's average month, for fractions of months


def _time_module() -> Any:
    return importlib.import_module("neo4j.time")


def _zones() -> Any:
    return importlib.import_module("pytz")  # like the driver, so that values compare equal


def _matched(expression: re.Pattern[str], text: str, kind: str) -> dict[str, str]:
    found = expression.fullmatch(text)
    if found is None:
        raise ValueError(f"no {kind}")
    return {name.rstrip("_"): part for name, part in found.groupdict().items() if part is not None}


def _parse_date(text: str, _zone: str = "") -> Any:
    parts = _matched(_DATE, text, "date")
    number = {name: int(part) for name, part in parts.items()}
    year = number["year"]
    if "week" in number:
        native = datetime.date.fromisocalendar(year, number["week"], number.get("weekday", 1))
    elif "quarter" in number:
        native = _within_quarter(year, number["quarter"], number.get("quarter_day", 1))
    elif "ordinal" in number:
        native = datetime.date(year, 1, 1) + datetime.timedelta(days=number["ordinal"] - 1)
        if native.year != year:
            raise ValueError("no date: there is no such day in that year")
    else:
        native = datetime.date(year, number.get("month", 1), number.get("day", 1))
    return _time_module().Date.from_native(native)


def _within_quarter(year: int, quarter: int, day: int) -> datetime.date:
    first = datetime.date(year, 3 * quarter - 2, 1)
    native = first + datetime.timedelta(days=day - 1)
    if native.year != year or (native.month - 1) // 3 != quarter - 1:
        raise ValueError("no date: there is no such day in that quarter")
    return native


def _parse_local_time(text: str, _zone: str = "") -> Any:
    parts = _matched(_TIME, text, "time")
    nanoseconds = int(parts.get("fraction", "0").ljust(9, "0"))
    clock = (int(parts.get(name, "0")) for name in ("hour", "minute", "second"))
    return _time_module().Time(*clock, nanoseconds)


def _parse_local_datetime(text: str, _zone: str = "") -> Any:
    date, mark, clock = text.partition("T")
    if mark and not clock:
        raise ValueError("no datetime")
    return _time_module().DateTime.combine(_parse_date(date), _parse_local_time(clock or "00"))


def _parse_time(text: str, zone: str = "") -> Any:
    parts = _matched(_ZONED, text, "time")
    if "region" in parts:
        raise ValueError("no time: a time takes an offset such as +01:00, not a region")
    local = _parse_local_time(parts["local"])
    offset = _offset(parts.get("offset") or zone or "Z")
    return local.replace(tzinfo=zone_from_offset(offset))


def _parse_datetime(text: str, zone: str = "") -> Any:
    date, mark, clock = text.partition("T")  # else the day's "-02" would parse as an offset
    parts = _matched(_ZONED, clock, "datetime")
    local = _parse_local_datetime(date + mark + parts["local"])
    region, offset = parts.get("region"), parts.get("offset")
    if region is None and offset is None:
        offset = zone or "Z"
        if not _OFFSET.fullmatch(offset):
            region, offset = zone, None
    if region is None:
        return local.replace(tzinfo=zone_from_offset(_offset(offset or "Z")))
    return _in_region(local, region, offset)


def _in_region(local: Any, region: str, offset: str | None) -> Any:
    pytz = _zones()
    try:
        zone = pytz.timezone(region)
    except pytz.UnknownTimeZoneError:
        raise ValueError(f"no datetime: unknown time zone {region!r}") from None
    moment = zone.localize(local)
    if offset is not None and moment.utcoffset() != _offset(offset):
        other = zone.localize(local, is_dst=True)
        if other.utcoffset() != _offset(offset):
            raise ValueError(f"no datetime: the offset {offset} is not that of {region} then")
        moment = other
    return moment


def _offset(text: str) -> datetime.timedelta:
    """Offset east of UTC."""
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise ValueError(f"no time: {text!r} is no offset such as Z or +01:00")
    minutes = int(found["hours"] or 0) * 60 + int(found["minutes"] or 0)
    return datetime.timedelta(minutes=-minutes if found["sign"] == "-" else minutes)


def parse_duration(text: str, _zone: str = "") -> Any:
    """``neo4j.time.Duration``; fractions carry over to smaller units, as in Neo4j.

    Raises:
        ValueError: The text is not a duration.
    """
    text = text.upper()
    found = _DURATION_AS_MOMENT.fullmatch(text) or _DURATION.fullmatch(text)
    parts = {name: part for name, part in (found.groupdict() if found else {}).items() if part}
    sign = -1 if parts.pop("sign", "") == "-" else 1
    if parts.pop("clock", "") == "T" or not parts:
        raise ValueError("no duration")
    amounts = {name: sign * _nanos(part) for name, part in parts.items()}
    months, month_rest = _split(amounts.get("years", 0) * 12 + amounts.get("months", 0))
    ticks = month_rest * _MONTH // _NANO
    days, day_rest = _split(amounts.get("weeks", 0) * 7 + amounts.get("days", 0))
    clock = sum(
        amounts.get(name, 0) * seconds
        for name, seconds in (("hours", 3600), ("minutes", 60), ("seconds", 1))
    )
    extra_days, ticks = _split_by(ticks, _DAY)
    total = ticks + day_rest * 86_400 + clock
    seconds, nanoseconds = _split(total)
    return _time_module().Duration(
        months=months, days=days + extra_days, seconds=seconds, nanoseconds=nanoseconds
    )


def _nanos(text: str) -> int:
    """A decimal number times 10⁹, exact."""
    whole, _, fraction = text.replace(",", ".").partition(".")
    size = int(whole.lstrip("+-")) * _NANO + int(fraction.ljust(9, "0") or 0)
    return -size if whole.startswith("-") else size


def _split(amount: int) -> tuple[int, int]:
    return _split_by(amount, _NANO)


def _split_by(amount: int, unit: int) -> tuple[int, int]:
    """Whole units and the rest, both rounded towards zero."""
    whole, rest = divmod(abs(amount), unit)
    return (whole, rest) if amount >= 0 else (-whole, -rest)


TEMPORAL_PARSERS: dict[str, TemporalParser] = {
    "date": _parse_date,
    "localtime": _parse_local_time,
    "time": _parse_time,
    "localdatetime": _parse_local_datetime,
    "datetime": _parse_datetime,
    "duration": parse_duration,
}
"""Parser per type name: takes the text and the default zone (UTC if that is empty)."""
