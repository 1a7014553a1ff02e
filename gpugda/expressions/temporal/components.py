"""Components of temporal values: ``.year``, ``.epochMillis``, ``.minutesOfHour``, …."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.temporal.calendar import (
    NANOS_PER_SECOND,
    civil_of,
    day_of_quarter,
    day_of_week,
    ordinal_day,
    week_of,
)
from gpugda.expressions.temporal.durations import floored
from gpugda.expressions.temporal.moments import Moment, moment_of
from gpugda.expressions.temporal.printing import offset_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OF_DURATION", "OF_TIME", "component", "towards_zero"]


def component(given: Any, key: str) -> Any:
    """A component of a temporal value or a duration; case-insensitive.

    Raises:
        CypherTypeError: The component does not exist.
    """
    kind = kind_of_value(given)
    name = key.lower()
    if kind == "duration":
        if name in OF_DURATION:
            return OF_DURATION[name](*floored(given))
    else:
        moment = moment_of(given)
        for read in _readers(moment, name):
            return read(moment)
    raise CypherTypeError(f"a {kind} has no component {key}")


def _readers(moment: Moment, name: str) -> list[Callable[[Moment], Any]]:
    tables = []
    if moment.days is not None:
        tables.append(_OF_DATE)
    if moment.nanos is not None:
        tables.append(OF_TIME)
    if moment.zone is not None:
        tables.append(_OF_ZONE)
        if moment.days is not None:
            tables.append(_OF_INSTANT)
    return [table[name] for table in tables if name in table]


def _days(moment: Moment) -> int:
    assert moment.days is not None
    return moment.days


def _nanos(moment: Moment) -> int:
    assert moment.nanos is not None
    return moment.nanos


def _offset(moment: Moment) -> int:
    assert moment.offset is not None
    return moment.offset


def _zone_text(moment: Moment) -> str:
    return moment.zone if isinstance(moment.zone, str) else offset_text(_offset(moment))


_Readers = dict[str, "Callable[[Moment], Any]"]

_OF_DATE: _Readers = {
    "year": lambda moment: civil_of(_days(moment)).year,
    "quarter": lambda moment: (civil_of(_days(moment)).month + 2) // 3,
    "month": lambda moment: civil_of(_days(moment)).month,
    "week": lambda moment: week_of(_days(moment))[1],
    "weekyear": lambda moment: week_of(_days(moment))[0],
    "day": lambda moment: civil_of(_days(moment)).day,
    "ordinalday": lambda moment: ordinal_day(_days(moment)),
    "dayofweek": lambda moment: day_of_week(_days(moment)),
    "weekday": lambda moment: day_of_week(_days(moment)),
    "dayofquarter": lambda moment: day_of_quarter(_days(moment)),
    "quarterday": lambda moment: day_of_quarter(_days(moment)),
}
OF_TIME: _Readers = {
    "hour": lambda moment: _nanos(moment) // (3600 * NANOS_PER_SECOND),
    "minute": lambda moment: _nanos(moment) // (60 * NANOS_PER_SECOND) % 60,
    "second": lambda moment: _nanos(moment) // NANOS_PER_SECOND % 60,
    "millisecond": lambda moment: _nanos(moment) % NANOS_PER_SECOND // 10**6,
    "microsecond": lambda moment: _nanos(moment) % NANOS_PER_SECOND // 1000,
    "nanosecond": lambda moment: _nanos(moment) % NANOS_PER_SECOND,
}
_OF_ZONE: _Readers = {
    "timezone": lambda moment: _zone_text(moment),
    "offset": lambda moment: offset_text(_offset(moment)),
    "offsetminutes": lambda moment: towards_zero(_offset(moment), 60),
    "offsetseconds": _offset,
}
_OF_INSTANT: _Readers = {
    # Neo4j truncates the milliseconds: half a second before 1970 is second 0.
    "epochseconds": lambda moment: towards_zero(moment.instant // 10**6, 1000),
    "epochmillis": lambda moment: moment.instant // 10**6,
}


def towards_zero(number: int, size: int) -> int:
    """Truncated division, as in Java; also for arrays."""
    return (number + (number < 0) * (size - 1)) // size


def _rest(number: int, size: int) -> int:
    return number - size * towards_zero(number, size)


OF_DURATION: dict[str, Callable[[int, int, int, int], int]] = {
    "years": lambda months, days, seconds, nanos: towards_zero(months, 12),
    "quarters": lambda months, days, seconds, nanos: towards_zero(months, 3),
    "months": lambda months, days, seconds, nanos: months,
    "weeks": lambda months, days, seconds, nanos: towards_zero(days, 7),
    "days": lambda months, days, seconds, nanos: days,
    "hours": lambda months, days, seconds, nanos: towards_zero(seconds, 3600),
    "minutes": lambda months, days, seconds, nanos: towards_zero(seconds, 60),
    "seconds": lambda months, days, seconds, nanos: seconds,
    "milliseconds": lambda months, days, seconds, nanos: seconds * 1000 + nanos // 10**6,
    "microseconds": lambda months, days, seconds, nanos: seconds * 10**6 + nanos // 1000,
    "nanoseconds": lambda months, days, seconds, nanos: seconds * NANOS_PER_SECOND + nanos,
    "quartersofyear": lambda months, days, seconds, nanos: towards_zero(_rest(months, 12), 3),
    "monthsofyear": lambda months, days, seconds, nanos: _rest(months, 12),
    "monthsofquarter": lambda months, days, seconds, nanos: _rest(months, 3),
    "daysofweek": lambda months, days, seconds, nanos: _rest(days, 7),
    "minutesofhour": lambda months, days, seconds, nanos: towards_zero(_rest(seconds, 3600), 60),
    "secondsofminute": lambda months, days, seconds, nanos: _rest(seconds, 60),
    "millisecondsofsecond": lambda months, days, seconds, nanos: nanos // 10**6,
    "microsecondsofsecond": lambda months, days, seconds, nanos: nanos // 1000,
    "nanosecondsofsecond": lambda months, days, seconds, nanos: nanos,
}
