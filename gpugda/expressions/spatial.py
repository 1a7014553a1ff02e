"""Points: coordinate reference systems, construction, components and distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpugda.data.values.temporal import neo4j_spatial
from gpugda.errors import CypherArgumentError
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import added

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CARTESIAN", "WGS", "component", "crs_name", "distance", "make_point", "within_box"]

CARTESIAN = (7203, 9157)
"""SRIDs of Cartesian points in two and three dimensions."""

WGS = (4326, 4979)
"""SRIDs of geographic points, without and with a height."""

_NAMES = {7203: "cartesian", 9157: "cartesian-3d", 4326: "wgs-84", 4979: "wgs-84-3d"}
_SRIDS = {name: srid for srid, name in _NAMES.items()}


def crs_name(srid: int) -> str:
    """Name of a coordinate reference system: ``cartesian``, ``wgs-84-3d``, …."""
    return _NAMES[srid]


def make_point(fields: Mapping[str, Any]) -> Any:
    """``point({…})``; None if any field is null.

    Raises:
        CypherArgumentError: Coordinates are missing, mixed, not numeric, inconsistent with the
            named system, or out of range.
    """
    if any(item is None for item in fields.values()):
        return None
    named = _system_named(fields)
    coordinates, on_earth = _coordinates(fields)
    srid = _system(named, len(coordinates), on_earth)
    numbers = [_number(item) for item in coordinates]
    if srid in WGS:
        numbers[:2] = _on_earth(numbers[0], numbers[1])
    return _point(srid, numbers)


def _coordinates(fields: Mapping[str, Any]) -> tuple[list[Any], bool]:
    if "x" in fields and "y" in fields:
        found, on_earth = [fields["x"], fields["y"]], False
    elif "longitude" in fields and "latitude" in fields:
        found, on_earth = [fields["longitude"], fields["latitude"]], True
    else:
        raise CypherArgumentError("a point takes x and y, or longitude and latitude")
    if "z" in fields:
        found.append(fields["z"])
    elif on_earth and "height" in fields:
        found.append(fields["height"])
    return found, on_earth


def _system_named(fields: Mapping[str, Any]) -> int | None:
    if "crs" in fields and "srid" in fields:
        raise CypherArgumentError("a point takes crs or srid, not both")
    if "crs" in fields:
        name = fields["crs"]
        if not isinstance(name, str) or name.lower() not in _SRIDS:
            raise CypherArgumentError(f"unknown coordinate reference system: {name!r}")
        return _SRIDS[name.lower()]
    if "srid" not in fields:
        return None
    srid = fields["srid"]
    if kind_of_value(srid) != "integer" or srid not in _NAMES:
        raise CypherArgumentError(f"unknown coordinate reference system: {srid!r}")
    return int(srid)


def _system(named: int | None, dimensions: int, on_earth: bool) -> int:
    family = WGS if on_earth else CARTESIAN
    if named is None:
        return family[dimensions - 2]
    if on_earth and named not in WGS:
        raise CypherArgumentError("longitude and latitude need a geographic reference system")
    if (CARTESIAN[dimensions - 2], WGS[dimensions - 2]).count(named) == 0:
        raise CypherArgumentError(
            f"{crs_name(named)} does not have {dimensions} coordinates, as the point has"
        )
    return named


def _number(item: Any) -> float:
    if kind_of_value(item) not in ("integer", "float"):
        raise CypherArgumentError(f"a coordinate must be a number, not {item!r}")
    if not math.isfinite(item):
        raise CypherArgumentError(f"a coordinate must be a finite number, not {item}")
    return float(item)


def _on_earth(longitude: float, latitude: float) -> tuple[float, float]:
    if not -90 <= latitude <= 90:
        raise CypherArgumentError(f"latitude must be -90 to 90, not {latitude}")
    # Wrap around the earth; -180 and 180 are both kept.
    if not -180 <= longitude <= 180:
        longitude = math.fmod(longitude, 360.0)
        if longitude > 180:
            longitude -= 360
        elif longitude < -180:
            longitude += 360
    return longitude, latitude


def _point(srid: int, numbers: list[float]) -> Any:
    spatial = neo4j_spatial()
    kind = spatial.CartesianPoint if srid in CARTESIAN else spatial.WGS84Point
    return kind(tuple(numbers))


_FLAT_FIELDS = {"x": 0, "y": 1, "z": 2}
_EARTH_FIELDS = _FLAT_FIELDS | {"longitude": 0, "latitude": 1, "height": 2}


def component(point: Any, key: str) -> Any:
    """``point.x`` and the like; case-insensitive.

    Raises:
        CypherArgumentError: Points of this system have no such field.
    """
    key = key.lower()
    if key == "srid":
        return point.srid
    if key == "crs":
        return crs_name(point.srid)
    names = _EARTH_FIELDS if point.srid in WGS else _FLAT_FIELDS
    place = names.get(key)
    if place is not None and place < len(point):
        return float(point[place])
    raise CypherArgumentError(f"a {crs_name(point.srid)} point has no {key}")


# ------------------------------------------------------------------ distances and boxes
_EARTH_RADIUS = 6378140.0
"""In metres; Neo4j's value."""


def distance(a: Any, b: Any) -> float | None:
    """``point.distance()``; None for points of different reference systems."""
    if a.srid != b.srid:
        return None
    if a.srid in CARTESIAN:
        return math.sqrt(added((x - y) * (x - y) for x, y in zip(a, b, strict=True)))
    angle = _great_circle(a, b)
    if len(a) == 2:
        return _EARTH_RADIUS * angle
    along = (_EARTH_RADIUS + (a[2] + b[2]) / 2) * angle
    return math.sqrt(along * along + (a[2] - b[2]) * (a[2] - b[2]))


def _great_circle(a: Any, b: Any) -> float:
    """The central angle between two points in radians, by the haversine formula."""
    latitude, other = math.radians(a[1]), math.radians(b[1])
    across = math.sin((math.radians(b[0]) - math.radians(a[0])) / 2)
    up = math.sin((other - latitude) / 2)
    alpha = up * up + math.cos(latitude) * math.cos(other) * across * across
    return 2.0 * math.atan2(math.sqrt(alpha), math.sqrt(1 - alpha))


def within_box(point: Any, lower_left: Any, upper_right: Any) -> bool | None:
    """``point.withinBBox()``; None for points of different reference systems.

    A geographic box whose left side is east of its right side crosses the 180th meridian.
    """
    if not point.srid == lower_left.srid == upper_right.srid:
        return None
    inside = [
        low <= coordinate <= high
        for coordinate, low, high in zip(point, lower_left, upper_right, strict=True)
    ]
    if point.srid in WGS and lower_left[0] > upper_right[0]:
        inside[0] = point[0] >= lower_left[0] or point[0] <= upper_right[0]
    return all(inside)
