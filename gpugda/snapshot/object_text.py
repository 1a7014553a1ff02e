"""Lists, temporal and spatial values as tagged JSON, which round-trips exactly.

Integers and floats stay distinct because Python writes floats with a point or exponent. Values that
JSON lacks are objects whose key ``$`` names the type.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import TYPE_CHECKING, Any

from gpugda.data.values.dictionaries import identity_of
from gpugda.data.values.temporal import (
    any_date,
    any_datetime,
    is_far,
    neo4j_spatial,
    neo4j_time,
    zone_from_name,
    zone_from_offset,
    zone_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["check_object", "object_from_text", "object_to_text"]

_TICKS_PER_SECOND = 10**9
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_MOST_DAYS = 366 * 10**9
_ZONE_UTC = "[UTC]"
"""The zone named UTC. Older files wrote plain ``UTC`` for it and for the offset 0 alike."""
_SPATIAL = ("Point", "CartesianPoint", "WGS84Point")
_FLAT = (7203, 4326)


def object_to_text(value: Any) -> str:
    """Encodes a property value as text."""
    return json.dumps(_encoded(value), allow_nan=False, separators=(",", ":"))


def object_from_text(text: str) -> Any:
    """The inverse of `object_to_text`.

    Raises:
        ValueError: The text is invalid, or names an unknown type or time zone.
    """
    try:
        return _decoded(json.loads(text))
    except ValueError:
        raise
    except Exception as error:  # the value classes' constructors may raise any error
        raise ValueError(f"not a value of a property: {text[:80]!r}") from error


def check_object(value: Any) -> None:
    """Checks a value that was read from untrusted text.

    Raises:
        ValueError: It cannot be a property value, or does not round-trip.
    """
    try:
        _check_parts(value)
        same = identity_of(object_from_text(object_to_text(value))) == identity_of(value)
    except Exception as error:  # as above
        raise ValueError(f"not a value of a property: {type(value).__name__}") from error
    if value is None or not same:
        raise ValueError(f"not a value of a property: {type(value).__name__}")


def _check_parts(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _check_parts(item)
    elif isinstance(value, str):
        value.encode()
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits")
    elif type(value).__name__ in _SPATIAL and len(value) != (2 if value.srid in _FLAT else 3):
        raise ValueError("a point with the wrong number of coordinates")


# ------------------------------------------------------------------ to JSON
def _encoded(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    name = type(value).__name__
    if name in _SPATIAL:
        return {"$": name, "coordinates": [_encoded(float(each)) for each in value]}
    return {"$": name, **_ENCODERS[name](value)}


def _zone_fields(value: Any) -> dict[str, Any]:
    if value.tzinfo is None:
        return {}
    offset = value.utc_offset()
    seconds = None if offset is None else offset.days * 86_400 + offset.seconds
    name = zone_name(value.tzinfo)
    return {"offset": seconds, "zone": _ZONE_UTC if name == "UTC" else name}


def _date_fields(date: Any, name: str) -> dict[str, Any]:
    """ISO 8601; outside the years 1 to 9999, which it cannot express, days since 1970."""
    if is_far(date):
        return {"days": date.to_ordinal() - _EPOCH_ORDINAL}
    return {name: date.iso_format()}


_ENCODERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "Date": lambda value: _date_fields(value, "value"),
    "Time": lambda value: {"ticks": value.ticks, **_zone_fields(value)},
    "DateTime": lambda value: {
        **_date_fields(value.date(), "date"),
        "ticks": value.time().ticks,
        **_zone_fields(value),
    },
    "Duration": lambda value: {"parts": list(value)},
}


# ------------------------------------------------------------------ from JSON
def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    name = value["$"]
    if name in _SPATIAL:
        return getattr(neo4j_spatial(), name)([_decoded(each) for each in value["coordinates"]])
    if name not in _DECODERS:
        raise ValueError(f"values of type {name!r} are not known")
    return _DECODERS[name](value)


def _zone(value: Mapping[str, Any]) -> Any:
    name = value["zone"]
    if name == "UTC" and value["$"] == "DateTime":
        raise ValueError("it was saved when the zone UTC and the offset Z were not distinguished")
    if name is not None:
        return zone_from_name(name.strip("[]"))
    return zone_from_offset(datetime.timedelta(seconds=value["offset"]))


def _date(value: Mapping[str, Any], name: str) -> Any:
    if name in value:
        return neo4j_time().Date.from_iso_format(value[name])
    if abs(value["days"]) > _MOST_DAYS:
        raise ValueError("a date beyond the years of Neo4j")
    return any_date(value["days"])


def _time(value: Mapping[str, Any]) -> Any:
    plain = neo4j_time().Time.from_ticks(value["ticks"])
    return plain.replace(tzinfo=_zone(value)) if "zone" in value else plain


def _datetime(value: Mapping[str, Any]) -> Any:
    days = _date(value, "date").to_ordinal() - _EPOCH_ORDINAL
    wall_ticks = days * 86_400 * _TICKS_PER_SECOND + value["ticks"]
    if "zone" not in value:
        return any_datetime(wall_ticks)
    # From the instant, so that a time in the repeated hour at the end of summer time is kept.
    return any_datetime(wall_ticks - value["offset"] * _TICKS_PER_SECOND, _zone(value))


_DECODERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "float": lambda value: float(value["value"]),
    "Date": lambda value: _date(value, "value"),
    "Time": _time,
    "DateTime": _datetime,
    "Duration": lambda value: neo4j_time().Duration(
        months=value["parts"][0],
        days=value["parts"][1],
        seconds=value["parts"][2],
        nanoseconds=value["parts"][3],
    ),
}
