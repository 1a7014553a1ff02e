"""Conversion of Arrow arrays to property columns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.values.arrow_numbers import numpy_numbers, valid_entries
from gpugda.data.values.chunked_column import concatenate_columns
from gpugda.data.values.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.values.dictionaries import ObjectDictionary, encode_objects, encode_strings
from gpugda.data.values.temporal import (
    date_from_days,
    datetime_from_ticks,
    duration_from_ticks,
    neo4j_time,
    point_of,
    time_from_ticks,
    zone_from_name,
)
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["convert_array"]

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def convert_array(array: pa.Array | pa.ChunkedArray) -> Column:
    """See ``column_from_arrow``."""
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks == 1:
            return convert_array(array.chunk(0))
        if array.num_chunks == 0:
            return convert_array(pa.array([], type=array.type))
        pieces = [convert_array(chunk) for chunk in array.chunks]
        return concatenate_columns(pieces, [len(piece) for piece in pieces])
    if isinstance(array, pa.ExtensionArray):
        return convert_array(_meaning(array))
    if array.null_count == len(array) > 0 or pa.types.is_null(array.type):
        return constant_null(len(array))
    return _converter(array.type)(array)


def _meaning(array: pa.ExtensionArray) -> pa.Array:
    """The array in the type that its values mean; a month's stored ordinal is not the month."""
    name = array.type.extension_name
    if name == "pandas.period":
        raise SourceError(
            "a column of pandas periods cannot be a property, as Neo4j has no spans of time: make "
            "it points in time (.dt.to_timestamp()) or texts (.astype(str))"
        )
    if name == "arrow.bool8":
        return array.storage.cast(pa.bool_())
    return array.storage


def _converter(kind: pa.DataType) -> Callable[[pa.Array], Column]:
    for is_kind, convert in _CONVERTERS:
        if is_kind(kind):
            return convert
    raise SourceError(
        f"a column of Arrow's type {kind} cannot be a property: cast it to a boolean, number, "
        "text, list, date or time"
    )


# ------------------------------------------------------------------ numbers and booleans
def _valid(array: pa.Array) -> NDArray[np.bool_] | None:
    if array.null_count == 0:
        return None
    return valid_entries(array)


def _number_column(array: pa.Array, kind: ColumnKind, stored: pa.DataType) -> Column:
    try:
        # A cast, even to the same type, imports pyarrow.compute: a tenth of a first answer's time.
        cast = array if array.type == stored else array.cast(stored)
    except pa.ArrowInvalid as error:
        raise SourceError(
            f"an integer does not fit 64 bits with a sign, store it as text or as a float: {error}"
        ) from error
    return Column(kind, numpy_numbers(cast), _valid(array))


# ------------------------------------------------------------------ texts
def _string_column(array: pa.Array) -> Column:
    if not pa.types.is_string(array.type):
        array = array.cast(pa.large_string())
    try:
        codes, dictionary = encode_strings(array)
        dictionary.array.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise SourceError(f"text that is not UTF-8, convert it first: {error}") from error
    return Column(ColumnKind.STRING, codes, _valid(array), dictionary)


def _dictionary_column(array: pa.DictionaryArray) -> Column:
    # The dictionary may hold nulls and duplicates; converting it to a column removes both.
    entries = convert_array(array.dictionary)
    if len(entries) == 0:
        return constant_null(len(array))
    column = entries.take(numpy_numbers(array.indices))
    valid = _valid(array)
    if valid is not None and column.valid is not None:
        valid = valid & column.valid
    return Column(
        column.kind, column.values, column.valid if valid is None else valid, column.dictionary
    )


# ------------------------------------------------------------------ lists
def _list_column(array: pa.Array) -> Column:
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    items = to_values(convert_array(array.flatten()))
    ends = np.cumsum(numpy_numbers(array.value_lengths()))
    lists: list[list[Any] | None] = []
    start = 0
    for end, valid in zip(ends.tolist(), array.is_valid().to_pylist(), strict=True):
        lists.append(items[start:end] if valid else None)
        start = end
    codes, dictionary = encode_objects(lists)
    return Column(ColumnKind.OBJECT, codes, _valid(array), dictionary)


def _is_list(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    views = (pa.types.is_list_view, pa.types.is_large_list_view)
    return any(is_kind(kind) for is_kind in lists + views)


# ------------------------------------------------------------------ temporal values
def _temporal_column(array: pa.Array, convert: Callable[[int], Any]) -> Column:
    """Converts each distinct value once; ``convert`` gets the integer that Arrow stores."""
    number = pa.int32() if array.type.bit_width == 32 else pa.int64()
    encoded = array.cast(number).dictionary_encode()
    try:
        entries = [convert(value) for value in encoded.dictionary.to_pylist()]
    except (ValueError, OverflowError) as error:
        raise SourceError(f"a value of type {array.type} cannot be a property: {error}") from error
    codes = numpy_numbers(encoded.indices)
    return Column(ColumnKind.OBJECT, codes, _valid(array), ObjectDictionary(entries))


def _date_column(array: pa.Array) -> Column:
    if pa.types.is_date64(array.type):  # milliseconds; the format allows only whole days
        return _temporal_column(array, lambda value: date_from_days(value // 86_400_000))
    return _temporal_column(array, date_from_days)


def _ticks_column(array: pa.Array, make: Callable[[int], Any]) -> Column:
    factor = _NANOSECONDS[array.type.unit]
    return _temporal_column(array, lambda value: make(value * factor))


def _timestamp_column(array: pa.Array) -> Column:
    zone = array.type.tz
    try:
        known = None if zone is None else zone_from_name(zone)
    except ValueError as error:
        raise SourceError(f"timestamps with an {error}: convert them to a known zone") from error
    return _ticks_column(array, partial(datetime_from_ticks, zone=known))


# ------------------------------------------------------------------ structs that gpugda writes
_DURATION = ("months", "days", "seconds", "nanoseconds")
_POINT = ("srid", "x", "y", "z")


def _struct_column(array: pa.Array) -> Column:
    """Durations and points as ``Result.to_arrow`` encodes them."""
    names = tuple(field.name for field in array.type)
    makers: dict[tuple[str, ...], Callable[..., Any]] = {_DURATION: _duration, _POINT: point_of}
    make = makers.get(names)
    if make is None:
        raise SourceError(
            "a column of structs or maps cannot be a property: make each of their fields a column"
        )
    values = [None if value is None else make(**value) for value in array.to_pylist()]
    codes, dictionary = encode_objects(values)
    return Column(ColumnKind.OBJECT, codes, _valid(array), dictionary)


def _duration(**parts: int) -> Any:
    return neo4j_time().Duration(**parts)


def _is_text(kind: pa.DataType) -> bool:
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(kind) for is_kind in texts)


_CONVERTERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Column]], ...] = (
    (
        pa.types.is_boolean,
        lambda array: _number_column(array, ColumnKind.BOOLEAN, pa.bool_()),
    ),
    (pa.types.is_integer, lambda array: _number_column(array, ColumnKind.INTEGER, pa.int64())),
    (
        pa.types.is_floating,
        lambda array: _number_column(array, ColumnKind.FLOAT, pa.float64()),
    ),
    (_is_text, _string_column),
    (pa.types.is_dictionary, _dictionary_column),
    (_is_list, _list_column),
    (pa.types.is_date, _date_column),
    (pa.types.is_timestamp, _timestamp_column),
    (pa.types.is_time, lambda array: _ticks_column(array, time_from_ticks)),
    (pa.types.is_struct, _struct_column),
    (pa.types.is_duration, lambda array: _ticks_column(array, duration_from_ticks)),
)
