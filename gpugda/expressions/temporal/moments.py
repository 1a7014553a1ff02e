"""Decomposes temporal values into days, nanoseconds and zone, and composes them."""

from __future__ import annotations

from typing import Any

from gpugda.data.values.temporal import any_date, any_datetime, neo4j_time
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.temporal.calendar import (
    NANOS_PER_DAY,
    NANOS_PER_SECOND,
    civil_of,
)
from gpugda.expressions.temporal.zones import (
    Zone,
    offset_at,
    tzinfo_of,
    utc_seconds_of,
    zone_of,
)
from gpugda.types import value

_EPOCH_ORDINAL = 719_163
_LARGEST_YEAR = 999_999_999

__all__ = ["Moment", "at_instant", "at_wall", "moment_of", "value_of_moment"]


@value(frozen=True, slots=True)
class Moment:
    """Any temporal value but a duration; missing parts are None.

    Attributes:
        days: Days since 1970 of the local date.
        nanos: Nanoseconds since local midnight.
        zone: Time zone.
        offset: The zone's offset from UTC at this moment, in seconds.
    """

    days: int | None = None
    nanos: int | None = None
    zone: Zone | None = None
    offset: int | None = None

    @property
    def kind(self) -> str:
        """``date``, ``localtime``, ``time``, ``localdatetime`` or ``datetime``."""
        if self.nanos is None:
            return "date"
        local = "local" if self.zone is None else ""
        return f"{local}{'time' if self.days is None else 'datetime'}"

    @property
    def instant(self) -> int:
        """Nanoseconds since 1970 in UTC; without a zone, as if in UTC."""
        wall = (self.days or 0) * NANOS_PER_DAY + (self.nanos or 0)
        return wall - (self.offset or 0) * NANOS_PER_SECOND


def at_instant(instant: int, zone: Zone) -> Moment:
    """The datetime in a zone at an instant, given in nanoseconds since 1970 in UTC."""
    offset = offset_at(zone, instant // NANOS_PER_SECOND)
    days, nanos = divmod(instant + offset * NANOS_PER_SECOND, NANOS_PER_DAY)
    return Moment(days, nanos, zone, offset)


def at_wall(days: int, nanos: int, zone: Zone, preferred: int | None = None) -> Moment:
    """The datetime with this local date and time in a zone; see `utc_seconds_of` for gaps."""
    seconds, rest = divmod(days * NANOS_PER_DAY + nanos, NANOS_PER_SECOND)
    utc = utc_seconds_of(zone, seconds, preferred)
    return at_instant(utc * NANOS_PER_SECOND + rest, zone)


def moment_of(given: Any) -> Moment:
    """Decomposes a date, time or datetime, with or without a zone."""
    kind = kind_of_value(given)
    if kind == "date":
        return Moment(_days(given))
    if kind in ("localtime", "time"):
        return _time(given)
    days, nanos = _days(given), given.time().ticks
    if kind == "localdatetime":
        return Moment(days, nanos)
    # Use the instant: the driver's local time is not always right, see `zones`.
    offset = given.utcoffset()
    wall = days * NANOS_PER_DAY + nanos
    instant = wall - (offset.days * 86_400 + offset.seconds) * NANOS_PER_SECOND
    return at_instant(instant, zone_of(given.tzinfo))


def _days(given: Any) -> int:
    return int(given.to_ordinal()) - _EPOCH_ORDINAL


def _time(given: Any) -> Moment:
    if given.tzinfo is None:
        return Moment(None, given.ticks)
    offset = given.utcoffset()
    seconds = offset.days * 86_400 + offset.seconds
    return Moment(None, given.ticks, seconds, seconds)


def value_of_moment(moment: Moment) -> Any:
    """Composes the value.

    Raises:
        UnsupportedQueryError: The year is outside -999999999 to 999999999, Neo4j's range.
    """
    time = neo4j_time()
    if moment.days is None:
        found = time.Time.from_ticks(moment.nanos)
        return found if moment.zone is None else found.replace(tzinfo=tzinfo_of(moment.zone))
    year = civil_of(moment.days).year
    if abs(year) > _LARGEST_YEAR:
        raise UnsupportedQueryError(
            f"the year {year} is not supported by this engine", construct="far year"
        )
    if moment.nanos is None:
        return any_date(moment.days)
    return any_datetime(moment.instant, None if moment.zone is None else tzinfo_of(moment.zone))
