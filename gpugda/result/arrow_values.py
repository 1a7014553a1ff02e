"""Lists, temporal and spatial values, maps, plain entities and mixed values as Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.result.entities import NodeValue, PathValue, RelationshipValue

__all__ = [
    "MIXED",
    "EntityForm",
    "array_of_values",
    "node_structs",
    "properties_of_rows",
    "relationship_structs",
    "struct_of_properties",
]

EntityForm = Literal["struct", "index", "id"]
"""How nodes and relationships are represented, see ``Result.to_arrow``."""

MIXED = {b"gpugda.mixed": b"cypher text"}
"""Metadata of a field whose values had several types and became Cypher text."""

_DURATION = pa.struct([(name, pa.int64()) for name in ("months", "days", "seconds", "nanoseconds")])
_POINT = pa.struct(
    [("srid", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64())]
)
_DAY_NS = 86_400 * 10**9
_EPOCH_ORDINAL = 719_163  # ordinal of 1970-01-01


def array_of_values(values: Sequence[Any]) -> tuple[pa.Array, bool]:
    """The array of any values, and True if they became text."""
    try:
        return _typed_array(values), False
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        texts = [None if value is None else format_value(value) for value in values]
        return pa.array(texts, pa.large_string()), True


def struct_of_properties(arrays: Mapping[str, tuple[pa.Array, bool]], count: int) -> pa.StructArray:
    """The properties of ``count`` nodes or relationships.

    Args:
        arrays: By key, the array and True if its values became text.
        count: Length of the arrays.
    """
    if not arrays:
        return pa.array([{}] * count, pa.struct([]))
    fields = [
        pa.field(key, array.type, metadata=MIXED if mixed else None)
        for key, (array, mixed) in arrays.items()
    ]
    return pa.StructArray.from_arrays([array for array, _ in arrays.values()], fields=fields)


def properties_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.StructArray:
    """The properties of nodes or relationships; ``rows`` holds those of one each."""
    keys = sorted({key for row in rows for key in row})
    arrays = {key: array_of_values([row.get(key) for row in rows]) for key in keys}
    return struct_of_properties(arrays, len(rows))


def node_structs(element_ids: pa.Array, labels: pa.Array, properties: pa.Array) -> pa.StructArray:
    """Nodes from arrays with one entry per node; ``labels`` holds lists of strings."""
    return pa.StructArray.from_arrays(
        [element_ids, labels, properties], names=["element_id", "labels", "properties"]
    )


def relationship_structs(
    element_ids: pa.Array, types: pa.Array, starts: pa.Array, ends: pa.Array, properties: pa.Array
) -> pa.StructArray:
    """Relationships from arrays with one entry per relationship."""
    return pa.StructArray.from_arrays(
        [element_ids, types, starts, ends, properties],
        names=["element_id", "type", "start", "end", "properties"],
    )


def _typed_array(values: Sequence[Any]) -> pa.Array:
    """An array of the Arrow type that holds all values.

    Raises:
        pyarrow.ArrowInvalid: No Arrow type holds them all.
    """
    names = {_kind(value) for value in values} - {"null"}
    if not names:
        return pa.nulls(len(values))
    if len(names) > 1 and names != {"number", "integer"}:
        raise pa.ArrowInvalid("several types")
    name = names.pop() if len(names) == 1 else "number"
    if name == "list":
        return _list_array(values)
    if name in _CONVERTERS:
        return _CONVERTERS[name](values)
    if name in ("integer", "number", "boolean"):
        return pa.array(values)
    if name == "string":
        return pa.array(values, pa.large_string())
    raise pa.ArrowInvalid(f"no type for {name}")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "list"),
        (dict, "map"),
    ):
        if isinstance(value, kind):
            return name
    name = type(value).__name__
    if name in ("DateTime", "Time"):
        return f"local {name}" if value.tzinfo is None else f"zoned {name}"
    return "Point" if "Point" in name else name


def _list_array(values: Sequence[Any]) -> pa.Array:
    lengths = [0 if value is None else len(value) for value in values]
    items = _typed_array([item for value in values if value is not None for item in value])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    mask = np.array([value is None for value in values], dtype=np.bool_)
    return pa.LargeListArray.from_arrays(pa.array(offsets), items, mask=pa.array(mask))


def _dates(values: Sequence[Any]) -> pa.Array:
    days = [None if value is None else value.to_ordinal() - _EPOCH_ORDINAL for value in values]
    return pa.array(days, pa.int32()).cast(pa.date32())


def _local_times(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else value.ticks for value in values], pa.int64()).cast(
        pa.time64("ns")
    )


def _timestamps(values: Sequence[Any], zone: str | None) -> pa.Array:
    nanoseconds = [None if value is None else _nanoseconds(value) for value in values]
    known = [each for each in nanoseconds if each is not None]
    if all(-(2**63) < each < 2**63 for each in known):
        return pa.array(nanoseconds, pa.int64()).cast(pa.timestamp("ns", zone))
    if any(each % 1000 for each in known):
        raise pa.ArrowInvalid("neither nanoseconds nor microseconds hold these")
    microseconds = [None if each is None else each // 1000 for each in nanoseconds]
    return pa.array(microseconds, pa.int64()).cast(pa.timestamp("us", zone))


def _nanoseconds(value: Any) -> int:
    days = int(value.date().to_ordinal()) - _EPOCH_ORDINAL
    offset = value.utcoffset()
    # Zone offsets are whole seconds.
    shift = 0 if offset is None else int(offset.total_seconds())
    return days * _DAY_NS + int(value.time().ticks) - shift * 10**9


def _durations(values: Sequence[Any]) -> pa.Array:
    keys = ("months", "days", "seconds", "nanoseconds")
    made = [
        None if value is None else {key: getattr(value, key) for key in keys} for value in values
    ]
    return pa.array(made, _DURATION)


def _points(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else _point(value) for value in values], _POINT)


def _point(value: Any) -> dict[str, Any]:
    coordinates = [float(each) for each in value]
    return {"srid": value.srid, **dict(zip("xyz", coordinates, strict=False))}


def _nodes(values: Sequence[NodeValue | None]) -> pa.Array:
    distinct, places = _distinct(values)
    return node_structs(
        _texts([node.element_id for node in distinct]),
        pa.array([list(node.labels) for node in distinct], pa.list_(pa.large_string())),
        properties_of_rows([node.properties for node in distinct]),
    ).take(places)


def _relationships(values: Sequence[RelationshipValue | None]) -> pa.Array:
    distinct, places = _distinct(values)
    return relationship_structs(
        _texts([each.element_id for each in distinct]),
        _texts([each.type for each in distinct]),
        _texts([each.start for each in distinct]),
        _texts([each.end for each in distinct]),
        properties_of_rows([each.properties for each in distinct]),
    ).take(places)


def _distinct(values: Sequence[Any]) -> tuple[list[Any], pa.Array]:
    """The distinct entities, and each value's position among them."""
    known = {value.element_id: value for value in values if value is not None}
    place_of = {element_id: place for place, element_id in enumerate(known)}
    places = [None if value is None else place_of[value.element_id] for value in values]
    return list(known.values()), pa.array(places, pa.int64())


def _paths(values: Sequence[PathValue | None]) -> pa.Array:
    parts = [
        _list_array([None if path is None else list(getattr(path, name)) for path in values])
        for name in ("nodes", "relationships")
    ]
    missing = pa.array([path is None for path in values], pa.bool_())
    return pa.StructArray.from_arrays(parts, names=["nodes", "relationships"], mask=missing)


def _maps(values: Sequence[dict[str, Any] | None]) -> pa.Array:
    """A struct of all keys; a key that a map lacks is null."""
    made = properties_of_rows([value or {} for value in values])
    missing = pa.array([value is None for value in values], pa.bool_())
    if made.type.num_fields == 0:
        return pa.array([None if value is None else {} for value in values], made.type)
    fields = [made.type.field(place) for place in range(made.type.num_fields)]
    return pa.StructArray.from_arrays(made.flatten(), fields=fields, mask=missing)


def _texts(values: Sequence[str]) -> pa.Array:
    return pa.array(values, pa.large_string())


_CONVERTERS: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    "Date": _dates,
    "local Time": _local_times,
    "local DateTime": lambda values: _timestamps(values, None),
    "zoned DateTime": lambda values: _timestamps(values, "UTC"),
    "Duration": _durations,
    "Point": _points,
    "NodeValue": _nodes,
    "RelationshipValue": _relationships,
    "PathValue": _paths,
    "map": _maps,
}
