"""Parses points written as maps, such as ``{latitude: 55.6, longitude: 13.0}``."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parse_options", "parse_point"]

_ENTRY = re.compile(
    r"\s*(?P<key>\"[^\"]*\"|'[^']*'|[^\s:,{}]+)\s*:\s*(?P<value>\"[^\"]*\"|'[^']*'|[^,{}'\"]*)\s*(?:,|\Z)"
)
_AXES = ("x", "y", "z")
_ALIASES = {"longitude": "x", "latitude": "y", "height": "z"}
_CRS_NAMES = {"cartesian": 7203, "cartesian-3d": 9157, "wgs-84": 4326, "wgs-84-3d": 4979}
_GEOGRAPHIC = {4326, 4979}
_DIMENSIONS = {7203: 2, 9157: 3, 4326: 2, 4979: 3}


def parse_options(text: str) -> dict[str, str]:
    """Keys (in lower case) and values of ``{key: value, …}``; quotes around values are dropped.

    Raises:
        ValueError: The text is not such a map.
    """
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError("no map such as {key: value}")
    inner, position, options = inner[1:-1].strip(), 0, {}
    while position < len(inner):
        found = _ENTRY.match(inner, position)
        if found is None:
            raise ValueError("no map such as {key: value}")
        options[found["key"].strip("'\"").lower()] = found["value"].strip().strip("'\"")
        position = found.end()
    return options


def parse_point(text: str, defaults: Mapping[str, str]) -> Any:
    """``neo4j.spatial`` point of a map, whose missing keys come from ``defaults``.

    Raises:
        ValueError: The text is not a point.
    """
    own = parse_options(text)
    if "crs" in own or "srid" in own:  # either one overrides both defaults
        defaults = {key: value for key, value in defaults.items() if key not in {"crs", "srid"}}
    options = {**defaults, **own}
    geographic = any(key in options for key in _ALIASES)
    axes = {_ALIASES.get(key, key): value for key, value in options.items()}
    if "x" not in axes or "y" not in axes:
        raise ValueError("no point: it needs x and y, or longitude and latitude")
    coordinates = [_coordinate(axes[axis]) for axis in _AXES if axis in axes]
    srid = _srid(options, geographic=geographic, dimensions=len(coordinates))
    return _point(coordinates, srid)


def _coordinate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"no point: {text!r} is no coordinate") from None


def _srid(options: Mapping[str, str], *, geographic: bool, dimensions: int) -> int:
    if "srid" in options:
        srid = int(options["srid"]) if options["srid"].isdigit() else 0
    elif "crs" in options:
        srid = _CRS_NAMES.get(options["crs"].lower(), 0)
    else:
        names = ("wgs-84", "wgs-84-3d") if geographic else ("cartesian", "cartesian-3d")
        srid = _CRS_NAMES[names[dimensions - 2]]
    if srid not in _DIMENSIONS:
        raise ValueError("no point: unknown coordinate reference system")
    if _DIMENSIONS[srid] != dimensions:
        raise ValueError(f"no point: the system {srid} has {_DIMENSIONS[srid]} coordinates")
    if geographic and srid not in _GEOGRAPHIC:
        raise ValueError("no point: longitude and latitude belong to WGS-84 only")
    return srid


def _point(coordinates: list[float], srid: int) -> Any:
    spatial = importlib.import_module("neo4j.spatial")
    if srid not in _GEOGRAPHIC:
        return spatial.CartesianPoint(coordinates)
    longitude, latitude = coordinates[:2]
    if not -90 <= latitude <= 90:
        raise ValueError(f"no point: the latitude {latitude} is not between -90 and 90")
    # Neo4j wraps longitudes into -180…180.
    if not -180 <= longitude <= 180:
        coordinates[0] = (longitude + 180) % 360 - 180
    return spatial.WGS84Point(coordinates)
