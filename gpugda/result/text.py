"""Formats values in Cypher's notation and as JSON, for terminals, notebooks and text files."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from gpugda.data.values.driver_values import from_driver, is_broken
from gpugda.expressions.temporal.printing import moment_text
from gpugda.result.entities import NodeValue, PathValue, RelationshipValue

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["format_value", "json_value"]

_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def format_value(value: Any) -> str:
    """Cypher text: ``"text"``, ``1.0``, ``NULL``, ``[1]``, ``(:Label {key: 1})``, ``[:T]``."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, NodeValue):
        labels = "".join(f":{_name(label)}" for label in value.labels)
        return f"({_joined(labels, value.properties)})"
    if isinstance(value, RelationshipValue):
        return f"[{_joined(f':{_name(value.type)}', value.properties)}]"
    if isinstance(value, PathValue):
        return _path(value)
    if isinstance(value, dict):
        return _map(value)
    if isinstance(value, list):
        return f"[{', '.join(format_value(item) for item in value)}]"
    return _other(value)


def _path(path: PathValue) -> str:
    text = format_value(path.nodes[0])
    for place, relationship in enumerate(path.relationships):
        before, after = path.nodes[place : place + 2]
        along = relationship.start == before.element_id
        arrow = ("-", "->") if along else ("<-", "-")
        text += arrow[0] + format_value(relationship) + arrow[1] + format_value(after)
    return text


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, exponent, power = repr(value).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(power)}" if exponent else mantissa


def _joined(head: str, properties: Mapping[str, Any]) -> str:
    parts = [head] if head else []
    if properties:
        parts.append(_map(properties))
    return " ".join(parts)


def _map(entries: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{_name(key)}: {format_value(value)}" for key, value in entries.items())
    return f"{{{inside}}}"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else "`" + name.replace("`", "``") + "`"


def _other(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    if "Point" in type(value).__name__:
        names = ", ".join(
            f"{axis}: {_float(float(each))}" for axis, each in zip("xyz", value, strict=False)
        )
        return f"point({{srid: {value.srid}, {names}}})"
    if is_broken(value):
        return moment_text(from_driver(value))
    iso_format = getattr(value, "iso_format", None)
    return str(iso_format() if iso_format else value)


def json_value(value: Any) -> Any:
    """A JSON value; temporal and spatial values, and floats that JSON lacks, become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else format_value(value)
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, NodeValue):
        return {
            "elementId": value.element_id,
            "labels": list(value.labels),
            "properties": json_value(value.properties),
        }
    if isinstance(value, RelationshipValue):
        return {
            "elementId": value.element_id,
            "type": value.type,
            "startNodeElementId": value.start,
            "endNodeElementId": value.end,
            "properties": json_value(value.properties),
        }
    if isinstance(value, PathValue):
        return [json_value(part) for part in value.parts]
    return format_value(value)
