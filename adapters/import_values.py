"""Converts text columns of import files to property columns, by their header's types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.columns import Column, column_from_arrow, column_from_values
from gpugda.errors import QueryError, SourceError
from gpugda.expressions.temporal import durations
from gpugda.expressions.temporal.moments import value_of_moment
from gpugda.expressions.temporal.parsing import parse_moment
from gpugda.expressions.temporal.zones import parse_zone

from .point_text import parse_point
from .text_values import (
    BadValueError,
    parse_booleans,
    parse_floats,
    parse_integers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .import_header import HeaderField

__all__ = ["TextRules", "property_column"]

# Only for arrays: single integers have 64 bits in Neo4j whatever the header says.
_ARRAY_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_INTEGERS = frozenset(_ARRAY_BITS)
_FLOATS = frozenset(["float", "double"])
_TEXTS = frozenset(["string", "char"])


@dataclass(frozen=True, slots=True)
class TextRules:
    """Settings for all texts of an import.

    Args:
        array_delimiter: Separates the elements of an array.
        trim_strings: True to strip blanks around texts.
    """

    array_delimiter: str = ";"
    trim_strings: bool = False


def property_column(
    texts: pa.Array, column: HeaderField, rules: TextRules, origin: str, first_row: int
) -> Column:
    """The property column of a text column.

    Args:
        texts: Arrow ``string``, null where the field was empty.
        column: The column's type.
        rules: The import's settings.
        origin: File name, for messages.
        first_row: Row number of the first text.

    Raises:
        SourceError: A text is not a value of the type; names its row.
    """
    try:
        return _convert(texts, column, rules)
    except BadValueError as error:
        raise SourceError(
            f"{origin}, row {first_row + error.row}, column {column.name}: "
            f"{error.text[:80]!r} is {error.reason}"
        ) from None


def _convert(texts: pa.Array, column: HeaderField, rules: TextRules) -> Column:
    if not column.is_array:
        values = _scalars(texts, column, rules, bits=64)
        return values if isinstance(values, Column) else column_from_arrow(values)
    # An empty array is treated as no array.
    lists = pc.split_pattern(_without_empty(texts), pattern=rules.array_delimiter)
    try:
        elements = _scalars(lists.flatten(), column, rules, _ARRAY_BITS.get(column.value_type, 64))
        if isinstance(elements, Column):
            return _lists_of_objects(lists, elements)
        if elements.null_count:  # "1;;2"
            empty = pc.index(elements.is_null(), value=True).as_py()
            raise BadValueError(empty, "", f"no {column.value_type} within an array")
    except BadValueError as error:
        raise BadValueError(_row_of_element(lists, error.row), error.text, error.reason) from None
    if column.value_type == "float":  # arrays keep their declared precision of 32 bits
        elements = elements.cast(pa.float32()).cast(pa.float64())
    mask = lists.is_null() if lists.null_count else None
    return column_from_arrow(pa.ListArray.from_arrays(_offsets(lists), elements, mask=mask))


def _scalars(
    texts: pa.Array, column: HeaderField, rules: TextRules, bits: int
) -> pa.Array | Column:
    kind = column.value_type
    if kind in _TEXTS:
        return pc.utf8_trim_whitespace(texts) if rules.trim_strings else texts
    if kind in _INTEGERS:
        return parse_integers(texts, bits)
    if kind in _FLOATS:
        return parse_floats(texts)
    if kind == "boolean":
        return parse_booleans(texts)
    if kind == "point":
        return _objects(texts, kind, lambda text: parse_point(text, column.options))
    if kind == "duration":
        return _objects(texts, kind, durations.from_text)
    try:
        zone = parse_zone(column.options.get("timezone") or "Z")
    except QueryError as error:
        raise SourceError(f"column {column.name}: {error}") from error
    return _objects(texts, kind, lambda text: value_of_moment(parse_moment(kind, text, zone)))


def _objects(texts: pa.Array, kind: str, parse: Callable[[str], Any]) -> Column:
    """Parses each distinct text once."""
    encoded = _without_empty(pc.utf8_trim_whitespace(texts)).dictionary_encode()
    values: list[Any] = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(parse(text))
        except ValueError as error:
            reason = str(error)
        except QueryError as error:
            reason = f"no {kind}: {str(error).removeprefix(f'{text!r}: ')}"
        else:
            continue
        row = pc.index(encoded.indices, value=code).as_py()
        raise BadValueError(row, text, reason)
    return column_from_values(
        [None if code is None else values[code] for code in encoded.indices.to_pylist()]
    )


def _without_empty(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def _offsets(lists: pa.ListArray) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return pa.concat_arrays(
        [pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())]
    )


def _row_of_element(lists: pa.ListArray, element: int) -> int:
    row: int = pc.list_parent_indices(lists)[element].as_py()
    return row


def _lists_of_objects(lists: pa.ListArray, elements: Column) -> Column:
    from gpugda.data.values.columns import to_values

    flat = iter(to_values(elements))
    lengths = pc.list_value_length(lists).to_pylist()
    return column_from_values(
        [None if length is None else [next(flat) for _ in range(length)] for length in lengths]
    )
