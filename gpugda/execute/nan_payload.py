"""Stores the identity of a NaN in its payload bits, which no expression reads.

A payload of 0 means that the identity is unknown. Otherwise it is a node's index plus one, a
relationship's index plus one with the relationship mark, or the number of the row that created the
NaN. A node's or relationship's payload may also hold the UNION input that read the property.
"""

from __future__ import annotations

import math
import struct
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.expressions.operands import Constant, Operand, used_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "INPUT_SHIFT",
    "MAX_INPUTS",
    "RELATIONSHIP_MARK",
    "ROW_MARK",
    "is_nan",
    "nan_rows",
    "payloads_of",
    "row_payloads",
    "used_values",
    "with_payloads",
]

RELATIONSHIP_MARK: Final = 1 << 50
ROW_MARK: Final = 1 << 49
INPUT_SHIFT: Final = 34
"""First bit of the number of the UNION input that read a property."""
MAX_INPUTS: Final = 1 << (49 - INPUT_SHIFT)
_NAN: Final = 0x7FF8 << 48
_PAYLOAD_BITS: Final = (1 << 51) - 1


class _Rows:
    """Issues row numbers; none repeats within the first 2^49 of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def take(self, count: int) -> NDArray[np.int64]:
        with self._lock:
            first = self._next
            self._next += count
        numbers = np.arange(first, first + count, dtype=np.int64)
        return numbers & (ROW_MARK - 1) | ROW_MARK


_rows = _Rows()


def row_payloads(count: int) -> NDArray[np.int64]:
    """Payloads for the NaNs that this many rows create, ``int64``."""
    return _rows.take(count)


def is_nan(value: Any) -> bool:
    """True if the value is NaN."""
    return isinstance(value, float) and math.isnan(value)


def nan_rows(operand: Operand) -> NDArray[np.bool_] | None:
    """Mask of the NaNs in a column of numbers or mixed values; None if there are none."""
    if isinstance(operand, Constant):
        return None
    if operand.kind is ColumnKind.FLOAT:
        rows: NDArray[np.bool_] = np.isnan(operand.values)
    elif operand.kind is ColumnKind.OBJECT and operand.dictionary:
        values, places = used_values(operand)
        rows = np.array(list(map(is_nan, values)), dtype=np.bool_)[places]
    else:
        return None
    return rows if rows.any() else None


def used_values(column: Column) -> tuple[list[Any], NDArray[np.int64]]:
    """The dictionary values that occur in rows, and the position of each row's value."""
    assert column.dictionary is not None
    used, places = used_codes(column.values, len(column.dictionary))
    return column.dictionary.values(used.astype(np.int32)), places


def payloads_of(column: Column) -> NDArray[np.int64]:
    """Payload of the NaN in each row; undefined for other rows."""
    if column.kind is ColumnKind.FLOAT:
        return np.ascontiguousarray(column.values).view(np.int64) & _PAYLOAD_BITS
    values, places = used_values(column)
    payloads = [_payload_of(each) if isinstance(each, float) else 0 for each in values]
    return np.array(payloads, dtype=np.int64)[places]


def _payload_of(number: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits & _PAYLOAD_BITS


def with_payloads(column: Column, rows: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Column:
    """The column with new payloads in its NaNs.

    Args:
        column: A column with NaN in some rows.
        rows: Mask of these rows.
        numbers: Payload of each row.
    """
    if column.kind is ColumnKind.FLOAT:
        made = (numbers | _NAN).view(np.float64)
        return replace(column, values=np.where(rows, made, column.values))
    values, places = used_values(column)
    owners, owned = np.unique(numbers[rows], return_inverse=True)
    made = (owners | _NAN).view(np.float64).tolist()
    codes = places.astype(np.int32)
    codes[rows] = len(values) + owned.reshape(-1)
    return replace(column, values=codes, dictionary=ObjectDictionary([*values, *made]))
