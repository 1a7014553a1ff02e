"""What a column of values with nulls is: property columns, and everything a query computes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.data.threads import taken

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
    """What the values of a column are, and so the dtype of its array."""

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
        """The value of one code."""

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The values of many codes, each decoded once."""

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`, as a user gets them."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One value per row, or null.

    Args:
        kind: What the values are.
        values: Array of the kind's dtype; what stands in a null's place has no meaning
            (but is always a code that exists, or 0 where the dictionary is empty).
        valid: ``bool`` per row, False for null; None when no row is null.
        dictionary: For STRING and OBJECT, what the codes mean.
    """

    kind: ColumnKind
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    dictionary: Dictionary | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> Column:
        """The rows at these positions (or where a boolean mask of full length is True)."""
        valid = None if self.valid is None else self.valid[rows]
        return Column(self.kind, self.values[rows], valid, self.dictionary)

    def moved(self, rows: NDArray[Any]) -> Column:
        """As `take` of positions that all exist, in threads."""
        valid = None if self.valid is None else taken(self.valid, rows)
        return Column(self.kind, taken(self.values, rows), valid, self.dictionary)

    @property
    def distinct_count(self) -> int | None:
        """How many values its dictionary has, None without one."""
        return None if self.dictionary is None else len(self.dictionary)

    @property
    def nbytes(self) -> int:
        """Bytes of the values and the null mask, without the dictionary's."""
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))


def constant_null(count: int) -> Column:
    """A column of nulls. It is BOOLEAN for no other reason than that this is the smallest."""
    return Column(
        ColumnKind.BOOLEAN, np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    )


def to_values(column: Column, rows: NDArray[Any] | None = None) -> list[Any]:
    """The values as Python objects with None for null, of all rows or of some.

    Nodes and relationships come as their indexes.
    """
    if rows is not None:
        column = column.take(rows)
    if column.dictionary is None:
        return _with_nulls(column, column.values.tolist())
    found = column.dictionary.values(column.values) if len(column.dictionary) else []
    return _with_nulls(column, found)


def shown_values(column: Column) -> list[Any]:
    """As `to_values`, as a user gets them: with times as the driver gives them."""
    if column.dictionary is None or not len(column.dictionary):
        return to_values(column)
    return _with_nulls(column, column.dictionary.shown(column.values))


def _with_nulls(column: Column, found: list[Any]) -> list[Any]:
    found = found or [None] * len(column)
    if column.valid is not None:
        for row in np.flatnonzero(~column.valid).tolist():
            found[row] = None
    return found
