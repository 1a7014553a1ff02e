"""Columns of values with nulls, and functions that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.arrow import convert_array
from gpugda.data.values.chunked_column import concatenate_columns
from gpugda.data.values.column import (
    Column,
    ColumnKind,
    Dictionary,
    constant_null,
    shown_values,
    to_values,
)
from gpugda.data.values.native import convert_values

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Column",
    "ColumnKind",
    "Dictionary",
    "column_from_arrow",
    "column_from_values",
    "concatenate",
    "constant_null",
    "shown_values",
    "to_values",
]


def column_from_arrow(array: Any) -> Column:
    """A property column from a ``pyarrow.Array`` or ``ChunkedArray``.

    Booleans, integers, floats and texts keep their kind; lists become Python lists; dates, times,
    timestamps and durations become neo4j's temporal values (nanoseconds and zones are kept).

    Raises:
        SourceError: The type is none of these, or a value is out of range (an integer beyond 64
            bits, a year beyond 9999, text that is not UTF-8).
    """
    return convert_array(array)


def column_from_values(values: Sequence[Any]) -> Column:
    """A property column from Python values; None is null.

    Values of one type give BOOLEAN, INTEGER, FLOAT or STRING; mixed ones, lists and temporal or
    Values of one type give BOOLEAN, INTEGER, FLOAT or STRING; mixed types, lists and temporal or
    spatial values give OBJECT, so that 1 stays an integer beside 1.5. numpy scalars are treated as
    Python values.

    Raises:
        SourceError: A value cannot be a property: a map, a set, bytes, an integer beyond 64 bits.
    """
    return convert_values(values)


def concatenate(columns: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """Concatenates columns.

    Args:
        columns: The pieces of one property; None where a batch does not have it.
        counts: The number of rows of each piece.
    """
    return concatenate_columns(columns, counts)
