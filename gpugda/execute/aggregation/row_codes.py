"""Integer codes of row values, equal exactly where the values are, in the sense of DISTINCT.

Each row with NaN has its own code; a list or map that holds NaN is refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.deadline import check_time, checked
from gpugda.execute.aggregation.group_keys import holds_nan, nan_error, refuse_nans
from gpugda.execute.sorting import stable_order
from gpugda.expressions.lists import ColumnLists, PathRows, only_used, relationships_of_paths
from gpugda.expressions.operands import Operand, used_codes
from gpugda.expressions.temporal.moment_columns import moments_of
from gpugda.types import value
from gpugda.values import group_key, is_nan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "LARGEST_CODE",
    "RowKey",
    "codes_of_rows",
    "combined",
    "dense",
    "fits_table",
    "is_tabled",
    "keys_of",
    "runs",
]

LARGEST_CODE = 2**62
_TABLE_ROWS = 8  # most entries of a table by code, per row
_SMALL_TABLE = 1 << 16
_NAN = 0x7FF8 << 48


@value(frozen=True, slots=True, eq=False)
class RowKey:
    """A column encoded as integers.

    Args:
        values: Integers, equal where the column's values are.
        low: Least integer of a non-null value.
        count: Size of the range of codes.
        valid: Mask of non-null rows; null has the last code.
    """

    values: NDArray[Any]
    low: int
    count: int
    valid: NDArray[np.bool_] | None = None

    def taken(self, rows: NDArray[np.int64]) -> RowKey:
        """The rows at these positions."""
        valid = None if self.valid is None else self.valid[rows]
        return RowKey(self.values[rows], self.low, self.count, valid)


def keys_of(operands: Sequence[Operand]) -> list[RowKey]:
    """Keys of the columns among the operands; constants are left out."""
    return [_key_of(operand) for operand in operands if isinstance(operand, Column)]


def is_tabled(key: RowKey, row_count: int) -> bool:
    """True if the codes may index a table; otherwise the values are sorted as they are."""
    return key.valid is not None or fits_table(key.count, row_count)


def combined(keys: Sequence[RowKey], row_count: int) -> tuple[list[RowKey], int]:
    """Keys that together form one 64-bit code, and the size of its range."""
    made: list[RowKey] = []
    count = 1
    for key in keys:
        if key.count > LARGEST_CODE:
            key = _renumbered(key)
        if count * key.count > LARGEST_CODE:
            made = [dense(made, row_count)]
            count = made[0].count
        if count * key.count > LARGEST_CODE:
            key = dense([key], row_count)
        made.append(key)
        count *= key.count
    return made, count


def _renumbered(key: RowKey) -> RowKey:
    places, count = _distinct(key.values)
    return RowKey(places, 0, count + (key.valid is not None), key.valid)


def _key_of(column: Column) -> RowKey:
    values, low, count = _codes_of_values(column)
    if column.valid is None:
        return RowKey(values, low, count)
    return RowKey(values, low, count + 1, column.valid)


def _codes_of_values(column: Column) -> tuple[NDArray[Any], int, int]:
    """Codes equal for equal values, the least code, and the size of the range from there."""
    values = column.values
    if column.kind is ColumnKind.FLOAT:
        values = _bits(values)
    if column.kind is ColumnKind.OBJECT:
        return _codes_of_objects(column)
    # Nodes of one label often have adjacent indexes: the range from the least one is small.
    low, high = int(values.min()), int(values.max())
    return values, low, high - low + 1


def _codes_of_objects(column: Column) -> tuple[NDArray[Any], int, int]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # all rows are null
        return np.zeros(len(column), dtype=np.int64), 0, 1
    moments = moments_of(column)
    if moments is not None:
        ranks, codes_of = np.unique(moments.ranks(), return_inverse=True)
        return codes_of.reshape(-1)[column.values], 0, len(ranks)
    lists, places = only_used(column)
    if lists is not None:
        codes, count = _codes_of_lists(lists)
        return codes[places], 0, count
    used, places = used_codes(column.values, len(dictionary))
    numbers: dict[Any, int] = {}
    values = dictionary.values(used.astype(np.int32))
    keys = map(_object_key, checked(values))
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys])[places]
    rows = np.flatnonzero(np.array(list(map(is_nan, values)))[places])
    codes[rows] = np.arange(len(numbers), len(numbers) + len(rows))
    return codes, 0, len(numbers) + len(rows)


def _codes_of_lists(lists: ColumnLists | PathRows) -> tuple[NDArray[np.int64], int]:
    """Codes of lists or paths, and the size of their range: each position is a key."""
    starts = lists.starts if isinstance(lists, PathRows) else None
    of_paths = relationships_of_paths(lists) if isinstance(lists, PathRows) else lists
    firsts, lengths, elements = of_paths.offsets[:-1], np.diff(of_paths.offsets), of_paths.elements
    refuse_nans(elements)
    key = _key_of(elements) if len(elements) else None
    codes, count = np.empty(len(lists), dtype=np.int64), 0
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        check_time()
        rows = np.flatnonzero(lengths == length)
        parts = [] if starts is None else [_key_of(Column(ColumnKind.NODE, starts[rows]))]
        parts += [key.taken(firsts[rows] + place) for place in range(length) if key is not None]
        found = dense(*combined(parts, len(rows))[:1], len(rows)) if parts else None
        codes[rows] = count if found is None else count + found.values
        count += 1 if found is None else found.count
    return codes, count


def _object_key(value: Any) -> Any:
    if isinstance(value, list | dict) and holds_nan(value):
        raise nan_error()
    return group_key(value)


def _bits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Bit patterns of the numbers, with one zero, and another NaN in each row."""
    bits: NDArray[np.int64] = (values + 0.0).view(np.int64)
    rows = np.flatnonzero(np.isnan(values))
    bits[rows] = _NAN + rows
    return bits


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The position of each row's value among the distinct values, and their number."""
    order, first, lengths = runs(values)
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.repeat(np.arange(len(first)), lengths)
    return places, len(first)


def runs(
    values: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows sorted by value; the first row and the row count of each distinct value."""
    order = stable_order(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return order, order[starts], np.diff(starts, append=len(values))


def codes_of_rows(keys: Sequence[RowKey], rows: slice) -> NDArray[np.int64]:
    """Combined codes of all keys in a slice of rows."""
    codes: NDArray[np.int64] | None = None
    for key in keys:
        more = np.subtract(key.values[rows], key.low, dtype=np.int64)
        if key.valid is not None:
            more[~key.valid[rows]] = key.count - 1
        if codes is None:
            codes = more
            continue
        codes *= key.count
        codes += more
    assert codes is not None
    return codes


def dense(keys: Sequence[RowKey], row_count: int) -> RowKey:
    """The keys as one key whose codes are dense."""
    codes = codes_of_rows(keys, slice(0, row_count))
    count = math.prod(key.count for key in keys)
    if fits_table(count, row_count):
        used, places = used_codes(codes, count)
        return RowKey(places, 0, len(used))
    places, distinct = _distinct(codes)
    return RowKey(places, 0, distinct)


def fits_table(count: int, row_count: int) -> bool:
    """True if a table of ``count`` codes is small enough compared with the rows."""
    return count <= _TABLE_ROWS * row_count + _SMALL_TABLE
