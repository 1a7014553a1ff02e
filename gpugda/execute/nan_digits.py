"""What stands in the digits of a NaN, which no expression reads: whose property, or which row's.

0 says that it is not known. Else the number of a node plus one; that of a relationship, marked as
such; or the number of the row that made it. With the former may stand which input of a UNION has
read the property.
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
    "INPUT",
    "INPUTS",
    "OF_RELATIONSHIPS",
    "OF_ROWS",
    "digits_of",
    "is_nan",
    "nan_rows",
    "numbers_of_rows",
    "used_values",
    "with_digits",
]

OF_RELATIONSHIPS: Final = 1 << 50
OF_ROWS: Final = 1 << 49
INPUT: Final = 34
"""From this binary digit on stands which input of a UNION has read a property."""
INPUTS: Final = 1 << (49 - INPUT)
_NAN: Final = 0x7FF8 << 48
_DIGITS: Final = (1 << 51) - 1


class _Rows:
    """Numbers of rows; none is given twice before 2^49 of them were given in a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def take(self, count: int) -> NDArray[np.int64]:
        with self._lock:
            first = self._next
            self._next += count
        numbers = np.arange(first, first + count, dtype=np.int64)
        return numbers & (OF_ROWS - 1) | OF_ROWS


_rows = _Rows()


def numbers_of_rows(count: int) -> NDArray[np.int64]:
    """What the NaNs say that as many rows make: ``int64``."""
    return _rows.take(count)


def is_nan(value: Any) -> bool:
    """Is a value NaN?"""
    return isinstance(value, float) and math.isnan(value)


def nan_rows(operand: Operand) -> NDArray[np.bool_] | None:
    """Where a column of numbers, or of mixed values, holds NaN; None where it nowhere does."""
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
    """The values of a dictionary that rows have, and each row's position among them."""
    assert column.dictionary is not None
    used, places = used_codes(column.values, len(column.dictionary))
    return column.dictionary.values(used.astype(np.int32)), places


def digits_of(column: Column) -> NDArray[np.int64]:
    """What the digits of each NaN say; anything in other rows."""
    if column.kind is ColumnKind.FLOAT:
        return np.ascontiguousarray(column.values).view(np.int64) & _DIGITS
    values, places = used_values(column)
    digits = [_digits_of(each) if isinstance(each, float) else 0 for each in values]
    return np.array(digits, dtype=np.int64)[places]


def _digits_of(number: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits & _DIGITS


def with_digits(column: Column, rows: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Column:
    """The column with such digits in its NaNs.

    Args:
        column: With NaN in some rows.
        rows: Where.
        numbers: What the digits are to say, per row.
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
