"""Text form of temporal values in Neo4j's variant of ISO 8601."""

from __future__ import annotations

from typing import Any

from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, civil_of
from gpugda.expressions.temporal.moments import Moment, moment_of

__all__ = ["duration_text", "moment_text", "offset_text"]


def _date_text(days: int) -> str:
    year, month, day = civil_of(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _clock_text(nanos: int) -> str:
    seconds, rest = divmod(nanos, NANOS_PER_SECOND)
    fraction = f".{rest:09}".rstrip("0").rstrip(".")
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def offset_text(seconds: int) -> str:
    """An offset from UTC: ``Z``, ``+01:00``, ``-00:53:28``."""
    if seconds == 0:
        return "Z"
    hours, rest = divmod(abs(seconds), 3600)
    text = f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
    return f"{text}:{rest % 60:02}" if rest % 60 else text


def _zone_text(moment: Moment) -> str:
    if moment.zone is None or moment.offset is None:
        return ""
    named = isinstance(moment.zone, str)
    return offset_text(moment.offset) + (f"[{moment.zone}]" if named else "")


def moment_text(given: Any) -> str:
    """The text of a date, time or datetime: ``2020-01-01T10:00:00+01:00[Europe/Berlin]``."""
    moment = moment_of(given)
    parts = []
    if moment.days is not None:
        parts.append(_date_text(moment.days))
    if moment.nanos is not None:
        parts.append(_clock_text(moment.nanos) + _zone_text(moment))
    return "T".join(parts)


def duration_text(duration: Any) -> str:
    """The text of a duration, such as ``P1Y2M3DT4H5M6.7S``; each part has its own sign."""
    months, days, seconds, nanoseconds = duration
    date = _parts((months, 12, "Y", "M")) + (f"{days}D" if days else "")
    time = _time_parts(seconds, nanoseconds)
    if not date and not time:
        return "PT0S"
    return f"P{date}T{time}" if time else f"P{date}"


def _parts(split: tuple[int, int, str, str]) -> str:
    number, size, large, small = split
    sign = -1 if number < 0 else 1
    whole, rest = divmod(abs(number), size)
    texts = [(sign * whole, large), (sign * rest, small)]
    return "".join(f"{count}{letter}" for count, letter in texts if count)


def _time_parts(seconds: int, nanoseconds: int) -> str:
    # Seconds and nanoseconds have the same sign.
    sign = "-" if seconds < 0 or nanoseconds < 0 else ""
    minutes, rest = divmod(abs(seconds), 60)
    text = _parts((-minutes if sign else minutes, 60, "H", "M"))
    fraction = f".{abs(nanoseconds):09}".rstrip("0").rstrip(".")
    return text + (f"{sign}{rest}{fraction}S" if rest or fraction else "")
