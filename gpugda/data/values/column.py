"""Columns of values with nulls: property columns and the columns that a query computes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.data.threads import take_in_threads
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Column",
    "ColumnKind",
    "Dictionary",
    "constant_null",
    "shown_values",
    "to_values",
]


class ColumnKind(StrEnum):
    """Kind of a column's values; determines the dtype of its array."""

    BOOLEAN = "boolean"
    """``bool``."""
    INTEGER = "integer"
    """``int64``."""
    FLOAT = "float"
    """``float64``; NaN is a value, not null."""
    STRING = "string"
    """``int32`` codes into a sorted dictionary of distinct texts."""
    OBJECT = "object"
    """``int32`` codes into a dictionary of distinct other values: lists, temporal and spatial
    values, maps, or values of mixed types."""
    NODE = "node"
    """``uint32`` node indexes."""
    RELATIONSHIP = "relationship"
    """``uint32`` relationship indexes."""


class Dictionary(Protocol):
    """The distinct values behind the codes of a STRING or OBJECT column."""

    def __len__(self) -> int: ...

    def value(self, code: int) -> Any:
        """The value of a code."""

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The values of many codes; each distinct code is decoded once."""

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """Like `values`, converted to what users receive."""


@value(frozen=True, slots=True, eq=False)
class Column:
    """One value or null per row.

    Args:
        kind: Kind of the values.
        values: Array of the kind's dtype; the entry of a null has no meaning
            (but is always an existing code, or 0 where the dictionary is empty).
        valid: ``bool`` per row, False for null; None when no row is null.
        dictionary: The values behind the codes, for STRING and OBJECT.
    """

    kind: ColumnKind
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    dictionary: Dictionary | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_only_nulls(self) -> bool:
        """True if no row has a value."""
        return self.valid is not None and not bool(self.valid.any())

    def take(self, rows: NDArray[Any]) -> Column:
        """The rows at these positions (or where a boolean mask of full length is True)."""
        valid = None if self.valid is None else self.valid[rows]
        return Column(self.kind, self.values[rows], valid, self.dictionary)

    def take_in_threads(self, rows: NDArray[Any]) -> Column:
        """Like `take`, in several threads; all positions must exist."""
        valid = None if self.valid is None else take_in_threads(self.valid, rows)
        return Column(self.kind, take_in_threads(self.values, rows), valid, self.dictionary)

    @property
    def distinct_count(self) -> int | None:
        """Number of values in the dictionary, None without one."""
        return None if self.dictionary is None else len(self.dictionary)

    @property
    def nbytes(self) -> int:
        """Size of values and null mask in bytes, without the dictionary."""
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))


def constant_null(count: int) -> Column:
    """A column of nulls. Its kind is BOOLEAN because that takes the least memory."""
    return Column(
        ColumnKind.BOOLEAN, np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    )


def to_values(column: Column, rows: NDArray[Any] | None = None) -> list[Any]:
    """The values of all rows or of some as Python objects, with None for null.

    Nodes and relationships are given as their indexes.
    """
    if rows is not None:
        column = column.take(rows)
    if column.dictionary is None:
        return _with_nulls(column, column.values.tolist())
    found = column.dictionary.values(column.values) if len(column.dictionary) else []
    return _with_nulls(column, found)


def shown_values(column: Column) -> list[Any]:
    """Like `to_values`, converted to what users receive: temporal values as the driver's types."""
    if column.dictionary is None or not len(column.dictionary):
        return to_values(column)
    return _with_nulls(column, column.dictionary.shown(column.values))


def _with_nulls(column: Column, found: list[Any]) -> list[Any]:
    found = found or [None] * len(column)
    if column.valid is not None:
        for row in np.flatnonzero(~column.valid).tolist():
            found[row] = None
    return found
