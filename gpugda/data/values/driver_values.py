"""Property values as the driver reads them, and as users receive them.

Neo4j has dates outside the years 1 to 9999, which the driver cannot show: it returns an object that
raises ``BrokenRecordError`` when it is read from a record, and ``ZeroDate`` for 0000-12-31. Here
they are values like others; users get what the driver gives.
"""

from __future__ import annotations

import datetime
import importlib
import operator
from functools import cache
from typing import TYPE_CHECKING, Any

from gpugda.data.values.temporal import (
    any_date,
    any_datetime,
    is_at_offset_zero,
    is_far,
    is_near_end,
    neo4j_time,
    zone_from_name,
    zone_from_offset,
    zone_name,
)
from gpugda.text_order import StoredText
from gpugda.values import ByteArray

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["as_driver_gives", "from_driver", "is_broken"]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_TICKS_PER_SECOND = 10**9
_TICKS_PER_DAY = 86_400 * _TICKS_PER_SECOND


# ------------------------------------------------------------------ from the driver
def from_driver(value: Any) -> Any:
    """A value that the driver read, or a list of them, with the dates that it cannot show.

    Raises:
        ValueError: The driver cannot read the value, and it is no such date.
    """
    if type(value) is list:
        return list(map(from_driver, value))
    if is_broken(value):
        return _from_structure(value)
    if not is_far(value) or value.month:
        return value
    # The driver's ZeroDate, which has no year, month and day: 0000-12-31.
    if type(value).__name__ == "Date":
        return any_date(-_EPOCH_ORDINAL)
    clock = value.time().replace(tzinfo=value.tzinfo)
    return neo4j_time().DateTime.combine(any_date(-_EPOCH_ORDINAL), clock)


def is_broken(value: Any) -> bool:
    """True for the driver's object in place of a value that it cannot show."""
    return type(value).__name__ == "BrokenHydrationObject"


def _from_structure(value: Any) -> Any:
    tag, fields = getattr(value.raw_data, "tag", None), getattr(value.raw_data, "fields", ())
    if tag not in _STRUCTURES:
        raise ValueError(f"the driver cannot read it: {value.error}")
    return _STRUCTURES[tag](*fields)


def _zoned(seconds: int, rest: int, zone: int | str) -> Any:
    if isinstance(zone, str):
        found = zone_from_name(zone)
    else:
        found = zone_from_offset(datetime.timedelta(seconds=zone))
    return any_datetime(seconds * _TICKS_PER_SECOND + rest, found)


_STRUCTURES: dict[Any, Callable[..., Any]] = {
    b"D": any_date,
    b"d": lambda seconds, rest: any_datetime(seconds * _TICKS_PER_SECOND + rest),
    b"I": _zoned,
    b"i": _zoned,
    b"F": lambda seconds, rest, offset: _zoned(seconds - offset, rest, offset),
}
"""By the tag of Bolt; the local time in a named zone of old connections (``f``) is refused."""


# ------------------------------------------------------------------ to users
def as_driver_gives(value: Any) -> Any:
    """A value, or a list or map of values, as the driver returns it.

    The offset 0 becomes ``pytz.UTC``, stored texts become plain ones, and dates outside the years 1
    to 9999 become what the driver gives instead. Returns the value itself if there is nothing to
    convert.
    """
    if type(value) is StoredText:
        return str(value)
    if type(value) is ByteArray:
        return value.data
    if type(value) is list:
        shown = [as_driver_gives(item) for item in value]
        return shown if any(map(operator.is_not, shown, value)) else value
    if type(value) is dict:
        values = [as_driver_gives(item) for item in value.values()]
        is_same = not any(map(operator.is_not, values, value.values()))
        return value if is_same else dict(zip(value, values, strict=True))
    if is_near_end(value):
        return _read_again(value)
    if not is_at_offset_zero(value):
        return value
    return value.replace(tzinfo=importlib.import_module("pytz").UTC)


def _read_again(value: Any) -> Any:
    """What the driver makes of the structure that Neo4j sends for the value."""
    days = value.to_ordinal() - _EPOCH_ORDINAL
    if type(value).__name__ == "Date":
        return _hydrated(b"D", days)
    offset = value.utcoffset()
    seconds, rest = divmod(days * _TICKS_PER_DAY + value.time().ticks, _TICKS_PER_SECOND)
    if offset is None:
        return _hydrated(b"d", seconds, rest)
    shift = offset.days * 86_400 + offset.seconds
    name = zone_name(value.tzinfo)
    if name is None:
        return _hydrated(b"I", seconds - shift, rest, shift)
    return _hydrated(b"i", seconds - shift, rest, name)


def _hydrated(tag: bytes, *fields: Any) -> Any:
    structure, hydrate = _hydration()
    return hydrate(structure(tag, *fields))


@cache
def _hydration() -> tuple[Any, Any]:
    # The driver's own function: only it knows which values it refuses, and with which error.
    structure = importlib.import_module("neo4j._codec.packstream").Structure
    try:
        room = importlib.import_module("neo4j._codec.hydration.bolt.v2")
    except ImportError:  # before its version 6
        room = importlib.import_module("neo4j._codec.hydration.v2")
    handler = room.HydrationHandler()
    return structure, handler.new_hydration_scope().hydration_hooks[structure]
