"""Lists, temporal and spatial values, maps and mixed values as Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.result.rows import column_values
from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.data.columns import Column
    from gpugda.result.entities import EntityReader

__all__ = ["array_of_objects"]

_DURATION = pa.struct([(name, pa.int64()) for name in ("months", "days", "seconds", "nanoseconds")])
_POINT = pa.struct(
    [("srid", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64())]
)
_DAY_NS = 86_400 * 10**9
_EPOCH_ORDINAL = 719_163  # of 1970-01-01


def array_of_objects(column: Column, entities: EntityReader) -> tuple[pa.Array, bool]:
    """The array of an OBJECT column, and whether its values had to become texts."""
    values = column_values(column, entities, 0, len(column))
    try:
        return _typed_array(values), False
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        texts = [None if value is None else format_value(value) for value in values]
        return pa.array(texts, pa.large_string()), True


def _typed_array(values: Sequence[Any]) -> pa.Array:
    """An array of the one type that holds all values.

    Raises:
        pyarrow.ArrowInvalid: There is none.
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
    # Offsets of zones are whole seconds.
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


_CONVERTERS: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    "Date": _dates,
    "local Time": _local_times,
    "local DateTime": lambda values: _timestamps(values, None),
    "zoned DateTime": lambda values: _timestamps(values, "UTC"),
    "Duration": _durations,
    "Point": _points,
}
