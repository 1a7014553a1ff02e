"""Columns of values with nulls, and the ways to make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.arrow import convert_array
from gpugda.data.column import (
    Column,
    ColumnKind,
    Dictionary,
    constant_null,
    shown_values,
    to_values,
)
from gpugda.data.joining import join_columns
from gpugda.data.native import convert_values

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
        SourceError: The type is none of these, or a value does not fit (an integer beyond 64 bits,
            a year beyond 9999, text that is not UTF-8).
    """
    return convert_array(array)


def column_from_values(values: Sequence[Any]) -> Column:
    """A property column from Python values, with None for null.

    Values of one type give BOOLEAN, INTEGER, FLOAT or STRING; mixed ones, lists and temporal or
    spatial values give OBJECT, so that 1 stays an integer beside 1.5. numpy's scalars count as
    Python's.

    Raises:
        SourceError: A value cannot be a property: a map, a set, bytes, an integer beyond 64 bits.
    """
    return convert_values(values)


def concatenate(columns: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """One column of several that lie one after the other.

    Args:
        columns: The pieces of one property; None where a batch does not have it.
        counts: Rows of each piece.
    """
    return join_columns(columns, counts)
