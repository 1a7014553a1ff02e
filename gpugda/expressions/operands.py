"""Results of expressions: a column or a constant, and the rows that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpugda.data.values.columns import Column, ColumnKind, constant_null
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary
from gpugda.deadline import check_time
from gpugda.types import value
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.errors import QueryError

__all__ = [
    "Constant",
    "Evaluated",
    "Fault",
    "Flags",
    "Operand",
    "as_column",
    "both",
    "check_faults",
    "distinct_values",
    "either",
    "inverted",
    "restricted_to",
    "take",
    "used_codes",
    "validity",
    "value_at",
]

Flags: TypeAlias = bool | NDArray[np.bool_]
"""A boolean per row, or one for all rows."""


@value(frozen=True, slots=True, eq=False)
class Constant:
    """The same value in each row; None for null."""

    value: Any


Operand: TypeAlias = Constant | Column


@value(frozen=True, slots=True, eq=False)
class Fault:
    """Rows whose value cannot be computed, and the error that each of them would raise.

    Errors are deferred because they may not count: ``false AND error`` is false.
    """

    rows: Flags
    error: Callable[[int], QueryError]


@value(frozen=True, slots=True, eq=False)
class Evaluated:
    """An operand with faults; its values are undefined in faulty rows."""

    operand: Operand
    faults: tuple[Fault, ...] = ()


def check_faults(faults: Iterable[Fault], row_count: int) -> None:
    """Raises the error of the first faulty row, if there is any."""
    first, error = row_count, None
    for fault in faults:
        row = _first_row(fault.rows, row_count)
        if row < first:
            first, error = row, fault.error
    if error is not None:
        raise error(first)


def restricted_to(faults: Iterable[Fault], rows: Flags) -> tuple[Fault, ...]:
    """The faults restricted to some rows."""
    return tuple(Fault(both(fault.rows, rows), fault.error) for fault in faults)


def _first_row(rows: Flags, row_count: int) -> int:
    if isinstance(rows, bool):
        return 0 if rows else row_count
    row = int(np.argmax(rows)) if len(rows) else 0
    return row if len(rows) and rows[row] else row_count


def both(a: Flags, b: Flags) -> Flags:
    """AND, row by row; NumPy's ``&`` of an array and one bool would be many times slower."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return a & b


def either(a: Flags, b: Flags) -> Flags:
    """OR, row by row."""
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return a | b


def inverted(flags: Flags) -> Flags:
    """NOT, row by row."""
    return not flags if isinstance(flags, bool) else ~flags


def validity(operand: Operand) -> Flags:
    """Mask of non-null rows."""
    if isinstance(operand, Constant):
        return operand.value is not None
    return True if operand.valid is None else operand.valid


def take(operand: Operand, rows: NDArray[Any]) -> Operand:
    """The rows at these positions, or of a mask."""
    if isinstance(operand, Constant):
        return operand
    check_time()
    return operand.take(rows)


def as_column(operand: Operand, row_count: int) -> Column:
    """The operand as a column of ``row_count`` rows."""
    if isinstance(operand, Column):
        return operand
    value = operand.value
    if value is None:
        return constant_null(row_count)
    for kind, dtype, column_kind in (
        (bool, np.bool_, ColumnKind.BOOLEAN),
        (int, np.int64, ColumnKind.INTEGER),
        (float, np.float64, ColumnKind.FLOAT),
    ):
        if isinstance(value, kind):
            return Column(column_kind, np.full(row_count, value, dtype=dtype))
    codes = np.zeros(row_count, dtype=np.int32)
    if isinstance(value, str):
        texts = StringDictionary(pa.array([value], type=pa.large_string()))
        return Column(ColumnKind.STRING, codes, None, texts)
    return Column(ColumnKind.OBJECT, codes, None, ObjectDictionary([value]))


def value_at(operand: Operand, row: int) -> Any:
    """The value in one row; an ``Entity`` for nodes and relationships."""
    if isinstance(operand, Constant):
        return operand.value
    if operand.valid is not None and not operand.valid[row]:
        return None
    if operand.dictionary is not None:
        return operand.dictionary.value(int(operand.values[row]))
    value = operand.values[row].item()
    if operand.kind in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        return Entity(operand.kind is ColumnKind.NODE, value)
    return value


def used_codes(codes: NDArray[Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct codes (all below ``count``), ascending, and each row's position among them."""
    if count > 4 * len(codes) + 1024:
        used, places = np.unique(codes, return_inverse=True)
        return used.astype(np.int64), places.reshape(-1)
    present = np.zeros(count, dtype=np.bool_)
    present[codes] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]


def distinct_values(operand: Operand, row_count: int) -> tuple[NDArray[np.int64], list[Any]]:
    """The distinct values (null as None), and each row's position among them."""
    if isinstance(operand, Constant):
        return np.zeros(row_count, dtype=np.int64), [operand.value]
    places, values = _distinct_valid(operand)
    if operand.valid is not None:
        places = np.where(operand.valid, places, len(values))
        values.append(None)
    return places, values


def _distinct_valid(column: Column) -> tuple[NDArray[np.int64], list[Any]]:
    if column.dictionary is not None:
        if len(column.dictionary) == 0:  # all rows are null
            return np.zeros(len(column), dtype=np.int64), []
        used, places = used_codes(column.values, len(column.dictionary))
        return places, column.dictionary.values(used.astype(np.int32))
    raw = column.values
    if column.kind is ColumnKind.FLOAT:  # by bits, since 0.0 equals -0.0 but is another value
        raw = np.ascontiguousarray(raw).view(np.int64)
    distinct, places = _distinct_numbers(raw)
    values = distinct.view(column.values.dtype).tolist()
    if column.kind in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        values = [Entity(column.kind is ColumnKind.NODE, index) for index in values]
    return places, values


def _distinct_numbers(raw: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct numbers, ascending, and each row's position among them."""
    if raw.dtype == np.int64 and len(raw):
        low = int(raw.min())
        count = int(raw.max()) - low + 1
        if count <= 4 * len(raw):  # use a table of positions
            used, places = used_codes(raw - low, count)
            return used + low, places
    distinct, places = np.unique(raw, return_inverse=True)
    return distinct, places.reshape(-1)
