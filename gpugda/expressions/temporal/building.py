"""Constructs temporal values from maps of fields and from other temporal values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, CypherExecutionError, CypherTypeError
from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND
from gpugda.expressions.temporal.fields import (
    DATE_FIELDS,
    TIME_FIELDS,
    check_date_fields,
    check_time_fields,
    date_with,
    has_day,
    integer_field,
    time_with,
)
from gpugda.expressions.temporal.moments import Moment, at_instant, at_wall, moment_of
from gpugda.expressions.temporal.zones import Zone, offset_at, parse_zone
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Clock", "converted", "from_fields"]

_HAS_DATE = frozenset(("date", "localdatetime", "datetime"))
_HAS_TIME = frozenset(("localtime", "time", "localdatetime", "datetime"))
_HAS_ZONE = frozenset(("time", "datetime"))
_EPOCHS = {"epochseconds": NANOS_PER_SECOND, "epochmillis": 10**6}
_BASES = frozenset(("date", "time", "datetime", *_EPOCHS))
_ALL_FIELDS = DATE_FIELDS | TIME_FIELDS | _BASES | {"timezone"}


@value(frozen=True, slots=True)
class Clock:
    """The current time for defaults: nanoseconds since 1970 in UTC, and a zone."""

    instant: int
    zone: Zone


def converted(kind: str, moment: Moment, clock: Clock) -> Moment:
    """Converts a moment to another kind of temporal value.

    Raises:
        CypherTypeError: The moment lacks the date or the time.
    """
    lacks_date = kind in _HAS_DATE and moment.days is None
    if lacks_date or (kind in _HAS_TIME and moment.nanos is None):
        raise CypherTypeError(f"a {moment.kind} cannot be converted to a {kind}")
    days = moment.days if kind in _HAS_DATE else None
    nanos = moment.nanos if kind in _HAS_TIME else None
    if kind == "datetime":
        if moment.zone is not None:
            return moment
        return at_wall(days or 0, nanos or 0, clock.zone)
    if kind == "time":
        offset = _offset_now(clock.zone, clock) if moment.offset is None else moment.offset
        return Moment(None, nanos, offset, offset)
    return Moment(days, nanos)


def _offset_now(zone: Zone, clock: Clock) -> int:
    return offset_at(zone, clock.instant // NANOS_PER_SECOND)


# ------------------------------------------------------------------ from fields
def from_fields(kind: str, given: Mapping[str, Any], clock: Clock) -> Moment:
    """``date({…})`` and its variants.

    Raises:
        CypherTypeError: This kind of value does not have a given field or base.
        CypherArgumentError: Fields are missing, unknown or out of range.
        CypherExecutionError: A field is no integer, or the zone is no string.
    """
    fields = {name.lower(): item for name, item in given.items()}
    if len(fields) < len(given):
        raise CypherArgumentError(f"a field of {kind}() occurs twice, in different case")
    _check_names(kind, fields)
    if not fields:
        raise CypherArgumentError(f"{kind}() needs at least one field")
    zone = _zone(fields)
    if fields.keys() == {"timezone"}:
        now = at_instant(clock.instant, clock.zone if zone is None else zone)
        return converted(kind, now, clock)
    _check_structure(kind, fields)
    date, time = _bases(fields)
    return _assembled(kind, fields, date, time, zone, clock)


def _assembled(
    kind: str,
    fields: dict[str, Any],
    date: Moment | None,
    time: Moment | None,
    zone: Zone | None,
    clock: Clock,
) -> Moment:
    days = None
    if kind in _HAS_DATE:
        base = None if date is None else date.days
        days = date_with(fields, base) if base is None or _has_date_fields(fields) else base
    if kind not in _HAS_TIME:
        return Moment(days)
    moment = Moment(days, None if time is None else time.nanos or 0)
    if kind in _HAS_ZONE:
        return _in_zone(moment, fields, time, zone, clock)
    return Moment(days, time_with(fields, moment.nanos or 0))


def _has_date_fields(fields: dict[str, Any]) -> bool:
    return not fields.keys().isdisjoint(DATE_FIELDS)


def _in_zone(
    moment: Moment, fields: dict[str, Any], time: Moment | None, zone: Zone | None, clock: Clock
) -> Moment:
    own = None if time is None else time.zone
    there = next(each for each in (own, zone, clock.zone) if each is not None)
    found = _placed(moment.days, time_with(fields, moment.nanos or 0), there, time, clock)
    if zone is None or own is None:
        return found
    # Fields apply in the base's zone; then the same instant is expressed in the new zone.
    if found.days is not None:
        return at_instant(found.instant, zone)
    return _shifted(found, _offset_now(zone, clock))


def _placed(days: int | None, nanos: int, zone: Zone, time: Moment | None, clock: Clock) -> Moment:
    if days is not None:
        return at_wall(days, nanos, zone)
    known = time is not None and time.zone == zone and time.offset is not None
    offset = time.offset if known and time is not None else _offset_now(zone, clock)
    return Moment(None, nanos, offset, offset)


def _shifted(time: Moment, offset: int) -> Moment:
    seconds = offset - (time.offset or 0)
    nanos = ((time.nanos or 0) + seconds * NANOS_PER_SECOND) % (86_400 * NANOS_PER_SECOND)
    return Moment(None, nanos, offset, offset)


# ------------------------------------------------------------------ checks
def _check_names(kind: str, fields: dict[str, Any]) -> None:
    unknown = sorted(fields.keys() - _ALL_FIELDS)
    if unknown:
        raise CypherArgumentError(f"a {kind} has no field {unknown[0]}")
    allowed = {"timezone"} if kind in _HAS_ZONE else set()
    if kind in _HAS_DATE:
        allowed |= DATE_FIELDS | {"date"}
    if kind in _HAS_TIME:
        allowed |= TIME_FIELDS | {"time"}
    if kind in _HAS_DATE & _HAS_TIME:
        allowed.add("datetime")
    if kind == "datetime":
        allowed |= _EPOCHS.keys()
    wrong = sorted(fields.keys() - allowed)
    # A map with only a zone means the current time, for every kind.
    if wrong and fields.keys() != {"timezone"}:
        raise CypherTypeError(f"a {kind} has no field {wrong[0]}")


def _check_structure(kind: str, fields: dict[str, Any]) -> None:
    whole = [name for name in ("datetime", *_EPOCHS) if name in fields]
    if len(whole) > 1 or (whole and not fields.keys().isdisjoint(("date", "time"))):
        raise CypherArgumentError("only one of datetime, epochSeconds and epochMillis may be given")
    has_date = bool(whole) or "date" in fields
    has_time = bool(whole) or "time" in fields
    if kind in _HAS_DATE:
        check_date_fields(fields, has_date)
    has_time_fields = not fields.keys().isdisjoint(TIME_FIELDS)
    if kind in _HAS_TIME and (has_time_fields or kind not in _HAS_DATE):
        check_time_fields(fields, has_time)
    if kind in _HAS_DATE & _HAS_TIME and not has_date:
        _check_day(fields, has_time or has_time_fields)


def _check_day(fields: dict[str, Any], has_time: bool) -> None:
    if has_time and not has_day(fields):
        raise CypherArgumentError("a time of day needs a date down to the day")


def _zone(fields: dict[str, Any]) -> Zone | None:
    if "timezone" not in fields:
        return None
    name = fields["timezone"]
    if not isinstance(name, str):
        raise CypherExecutionError(f"timezone must be a string, not {name!r}")
    return parse_zone(name)


# ------------------------------------------------------------------ bases
def _bases(fields: dict[str, Any]) -> tuple[Moment | None, Moment | None]:
    """The base values of the date and the time of day; None for parts given by fields only."""
    for name, size in _EPOCHS.items():
        if name in fields:
            moment = _epoch(fields, name, size)
            return moment, moment
    if "datetime" in fields:
        moment = _base(fields, "datetime", "localdatetime")
        return moment, moment
    date = _base(fields, "date", "date") if "date" in fields else None
    time = _base(fields, "time", "localtime") if "time" in fields else None
    return date, time


def _epoch(fields: dict[str, Any], name: str, size: int) -> Moment:
    if kind_of_value(fields[name]) != "integer":
        raise CypherArgumentError(f"{name} must be an integer, not {fields[name]!r}")
    return at_instant(integer_field(fields, name, -(2**63), 2**63 - 1) * size, 0)


def _base(fields: dict[str, Any], name: str, kind: str) -> Moment:
    if kind_of_value(fields[name]) not in TEMPORAL:
        raise CypherArgumentError(f"{name} must be a temporal value, not {fields[name]!r}")
    moment = moment_of(fields[name])
    converted(kind, moment, Clock(0, 0))
    return moment
