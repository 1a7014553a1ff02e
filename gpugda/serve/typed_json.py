"""Values of Cypher as JSON, in the two forms of Neo4j's Query API: plain and typed."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from gpugda.data.values import temporal
from gpugda.expressions.printing import text_of
from gpugda.serve.packstream import Structure
from gpugda.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["from_typed", "plain", "typed"]

_NODE, _RELATIONSHIP, _PATH = ord("N"), ord("R"), ord("P")
_PLAIN_NAMES = (
    "elementId", "labels", "properties", "type", "startNodeElementId", "endNodeElementId",
)  # fmt: skip
_TYPED_NAMES = (
    "_element_id", "_labels", "_properties", "_type", "_start_node_element_id",
    "_end_node_element_id",
)  # fmt: skip
_POINTS = {2: "POINT", 3: "POINT Z"}
_SHORTEST_ZONE = "["


def plain(value: Any) -> Any:
    """A value as JSON without types; times and points become texts."""
    if isinstance(value, Structure):
        return _entity(value, plain, _PLAIN_NAMES, lambda _, found: found)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return value if abs(value) < float("inf") else text_of(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    kind = kind_of(value)
    if kind == "list":
        return [plain(item) for item in value]
    if kind == "map":
        return {key: plain(item) for key, item in value.items()}
    text = _text(kind, value)
    return text.partition(_SHORTEST_ZONE)[0] if kind == "datetime" else text


def typed(value: Any) -> Any:
    """A value as JSON that names its type."""
    if isinstance(value, Structure):
        return _entity(
            value, typed, _TYPED_NAMES, lambda kind, found: {"$type": kind, "_value": found}
        )
    name, found = _typed(value)
    return {"$type": name, "_value": found}


def _typed(value: Any) -> tuple[str, Any]:
    if value is None:
        return "Null", None
    if isinstance(value, bytes):
        return "Base64", base64.b64encode(value).decode()
    if isinstance(value, bool):
        return "Boolean", value
    if isinstance(value, int | float):
        return "Integer" if isinstance(value, int) else "Float", text_of(value)
    kind = kind_of(value)
    if kind == "list":
        return "List", [typed(item) for item in value]
    if kind == "map":
        return "Map", {key: typed(item) for key, item in value.items()}
    if kind == "datetime":
        text = _text(kind, value)
        return ("ZonedDateTime" if _SHORTEST_ZONE in text else "OffsetDateTime"), text
    return _NAMES[kind], _text(kind, value)


_NAMES = {
    "string": "String",
    "date": "Date",
    "localtime": "LocalTime",
    "time": "Time",
    "localdatetime": "LocalDateTime",
    "duration": "Duration",
    "point": "Point",
}


def _text(kind: str, value: Any) -> str:
    if kind == "point":
        return f"SRID={value.srid};{_POINTS[len(value)]} ({' '.join(map(str, map(float, value)))})"
    found = text_of(value)
    assert found is not None
    return found


def _entity(
    value: Structure,
    convert: Callable[[Any], Any],
    names: tuple[str, ...],
    wrap: Callable[[str, Any], Any],
) -> Any:
    """A node, relationship or path, as PackStream of Bolt 5 has them."""
    own_id, labels, properties, kind, start, end = names
    fields = value.fields
    if value.tag == _NODE:
        found = {
            own_id: fields[3],
            labels: fields[1],
            properties: {key: convert(item) for key, item in fields[2].items()},
        }
        return wrap("Node", found)
    if value.tag == _RELATIONSHIP:
        found = {
            own_id: fields[5],
            start: fields[6],
            end: fields[7],
            kind: fields[3],
            properties: {key: convert(item) for key, item in fields[4].items()},
        }
        return wrap("Relationship", found)
    if value.tag == _PATH:
        return wrap("Path", [convert(each) for each in _steps(*fields)])
    return wrap("Unsupported", None)


def _steps(nodes: list[Structure], steps: list[Structure], places: list[int]) -> list[Structure]:
    """Nodes and relationships of a path in turn."""
    found = [nodes[0]]
    for step, node in zip(places[::2], places[1::2], strict=True):
        number, name, properties, own_id = steps[abs(step) - 1].fields
        ends = (found[-1], nodes[node]) if step > 0 else (nodes[node], found[-1])
        ids = [end.fields[0] for end in ends] + [end.fields[3] for end in ends]
        start, end, start_id, end_id = ids
        fields = (number, start, end, name, properties, own_id, start_id, end_id)
        found += (Structure(_RELATIONSHIP, fields), nodes[node])
    return found


# ------------------------------------------------------------------ parameters
def from_typed(value: Any) -> Any:
    """The value of JSON that names types; JSON without types is a value itself.

    Raises:
        ValueError: It makes no sense.
    """
    if isinstance(value, list):
        return [from_typed(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"$type", "_value"}:
        return {key: from_typed(item) for key, item in value.items()}
    name, given = value["$type"], value["_value"]
    kinds, read = _READERS.get(name, ((), None))
    if read is None:
        raise ValueError(f"there is no type {str(name)[:40]!r}")
    if type(given) not in kinds:
        raise ValueError(f"{name} has no value of the JSON type {type(given).__name__}")
    found = read(given)
    if name in _KINDS and kind_of(found) != _KINDS[name]:
        raise ValueError(f"this is no {name}: {given[:40]!r}")
    return found


def _integer(given: int | str) -> int:
    found = given if isinstance(given, int) else _number(given, int)
    if not -(1 << 63) <= found < 1 << 63:
        raise ValueError("Integer has 64 bits")
    return found


def _number(text: str, kind: Callable[[str], Any]) -> Any:
    if "_" in text:  # Python allows it within numbers
        raise ValueError(f"this is no number: {text[:40]!r}")
    return kind(text)


def _zoned(text: str) -> Any:
    shown, _, zone = text.partition(_SHORTEST_ZONE)
    found = temporal.neo4j_time().DateTime.from_iso_format(shown)
    if zone:
        return found.astimezone(temporal.zone_from_name(zone.rstrip("]")))
    offset = found.utcoffset()
    return found if offset is None else found.replace(tzinfo=temporal.zone_from_offset(offset))


def _point(text: str) -> Any:
    match = _POINT.fullmatch(text)
    if match is None:
        raise ValueError(f"this is no Point: {text[:40]!r}")
    x, y, *rest = map(float, match[2].split())
    if len(rest) > 1:
        raise ValueError(f"this is no Point: {text[:40]!r}")
    return temporal.point_of(int(match[1]), x, y, rest[0] if rest else None)


_POINT = re.compile(r"SRID=(\d+);\s*POINT(?:\s*Z)?\s*\(([^()]*)\)")
_KINDS = {
    **{name: kind for kind, name in _NAMES.items()},
    "OffsetDateTime": "datetime",
    "ZonedDateTime": "datetime",
}
"""Kinds of the values that texts of these types have: a `Time` without offset is none."""
_READERS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "Null": ((type(None),), lambda value: None),
    "Boolean": ((bool,), lambda value: value),
    "Integer": ((int, str), _integer),
    "Float": ((int, float, str), lambda value: _number(str(value), float)),
    "String": ((str,), lambda value: value),
    "Base64": ((str,), lambda text: base64.b64decode(text, validate=True)),
    "List": ((list,), lambda value: [from_typed(item) for item in value]),
    "Map": ((dict,), lambda value: {key: from_typed(item) for key, item in value.items()}),
    "Date": ((str,), lambda text: temporal.neo4j_time().Date.from_iso_format(text)),
    "LocalTime": ((str,), lambda text: temporal.neo4j_time().Time.from_iso_format(text)),
    "Time": ((str,), lambda text: temporal.neo4j_time().Time.from_iso_format(text)),
    "LocalDateTime": ((str,), lambda text: temporal.neo4j_time().DateTime.from_iso_format(text)),
    "OffsetDateTime": ((str,), _zoned),
    "ZonedDateTime": ((str,), _zoned),
    "Duration": ((str,), lambda text: temporal.neo4j_time().Duration.from_iso_format(text)),
    "Point": ((str,), _point),
}
