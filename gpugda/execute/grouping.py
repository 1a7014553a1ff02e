"""Which rows are the same: integer codes per column, combined, and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.stable_order import stable_order
from gpugda.expressions.operands import Operand, used_codes
from gpugda.expressions.temporal.read_rows import moments_of
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Groups", "first_rows", "group_rows", "single_rows"]

_LARGEST_CODE = 2**62
_TABLE_ROWS = 8  # a table by code may be this much longer than the rows are many
_SMALL_TABLE = 1 << 16
_MOST_INT32 = 2**31
_WINDOW = 1 << 15  # rows whose codes stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows that are the same.

    Args:
        first: ``int64`` per group: its first row. Groups are numbered by their first rows.
        group_of: ``int64`` per row: the number of its group.
    """

    first: NDArray[np.int64]
    group_of: NDArray[np.int64]


def group_rows(operands: Sequence[Operand], row_count: int) -> Groups:
    """Groups of the rows that have the same values, in the sense of DISTINCT."""
    if row_count == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return Groups(nothing, nothing)
    keys = _keys_of(operands)
    if len(keys) == 1 and not _is_tabled(keys[0], row_count):
        return _groups_by_order(keys[0].values)
    keys, count = _combined(keys, row_count)
    if count == 1:  # all rows are the same
        return Groups(np.zeros(1, dtype=np.int64), np.zeros(row_count, dtype=np.int64))
    if _fits_table(count, row_count):
        return _groups_by_table(keys, count, row_count)
    return _groups_by_order(_codes(keys, slice(0, row_count)))


def first_rows(operands: Sequence[Operand], row_count: int) -> NDArray[np.int64]:
    """The first row of each group, rising: all that DISTINCT needs to know."""
    keys = _keys_of(operands) if row_count else []
    if len(keys) == 1 and not _is_tabled(keys[0], row_count):
        return np.sort(_runs(keys[0].values)[1])
    keys, count = _combined(keys, row_count)
    if count == 1:
        return np.zeros(min(row_count, 1), dtype=np.int64)
    if _fits_table(count, row_count):
        return _groups_by_table(keys, count, row_count).first
    return np.sort(_runs(_codes(keys, slice(0, row_count)))[1])


def single_rows(row_count: int) -> Groups:
    """A group per row."""
    rows = np.arange(row_count)
    return Groups(rows, rows)


# ------------------------------------------------------------------ codes
@dataclass(frozen=True, slots=True, eq=False)
class _Key:
    """A column whose values are numbered.

    Args:
        values: Integers, the same where the column's values are.
        low: The least of them that is not null's.
        count: How many numbers there may be.
        valid: Rows that are not null; null has the last number.
    """

    values: NDArray[Any]
    low: int
    count: int
    valid: NDArray[np.bool_] | None = None


def _keys_of(operands: Sequence[Operand]) -> list[_Key]:
    """Of those that are not the same in all rows, of which there must be some."""
    return [_key_of(operand) for operand in operands if isinstance(operand, Column)]


def _is_tabled(key: _Key, row_count: int) -> bool:
    """Could its numbers be places in a table? Else it is sorted by, as it is."""
    return key.valid is not None or _fits_table(key.count, row_count)


def _combined(keys: Sequence[_Key], row_count: int) -> tuple[list[_Key], int]:
    """Keys that make one code of 64 bits, and how many codes there may be."""
    made: list[_Key] = []
    count = 1
    for key in keys:
        if key.count > _LARGEST_CODE:
            key = _renumbered(key)
        if count * key.count > _LARGEST_CODE:
            made = [_dense(made, row_count)]
            count = made[0].count
        if count * key.count > _LARGEST_CODE:
            key = _dense([key], row_count)
        made.append(key)
        count *= key.count
    return made, count


def _renumbered(key: _Key) -> _Key:
    places, count = _distinct(key.values)
    return _Key(places, 0, count + (key.valid is not None), key.valid)


def _key_of(column: Column) -> _Key:
    values, low, count = _codes_of_values(column)
    if column.valid is None:
        return _Key(values, low, count)
    return _Key(values, low, count + 1, column.valid)


def _codes_of_values(column: Column) -> tuple[NDArray[Any], int, int]:
    """Codes equal for equal values, the least of them, and how many there may be from there."""
    values = column.values
    if column.kind is ColumnKind.FLOAT:
        values = _zeros_alike(values)
    if column.kind is ColumnKind.OBJECT:
        return _codes_of_objects(column)
    # Nodes of one label often stand side by side: codes from the least on are few.
    low, high = int(values.min()), int(values.max())
    return values, low, high - low + 1


def _codes_of_objects(column: Column) -> tuple[NDArray[Any], int, int]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # then all rows are null
        return np.zeros(len(column), dtype=np.int64), 0, 1
    moments = moments_of(column)
    if moments is not None:
        ranks, codes_of = np.unique(moments.ranks(), return_inverse=True)
        return codes_of.reshape(-1)[column.values], 0, len(ranks)
    used, places = used_codes(column.values, len(dictionary))
    numbers: dict[Any, int] = {}
    codes = [
        numbers.setdefault(_object_key(value), len(numbers))
        for value in dictionary.values(used.astype(np.int32))
    ]
    return np.array(codes, dtype=np.int64)[places], 0, len(numbers)


def _object_key(value: Any) -> Any:
    """As `group_key`, but with one NaN: what tells NaNs apart stands in a column of its own."""
    return math.nan if isinstance(value, float) and value != value else group_key(value)


def _zeros_alike(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Bits that are the same for numbers that are: one zero, one NaN."""
    made = values + 0.0
    is_nan = np.isnan(made)
    if is_nan.any():
        made[is_nan] = np.nan
    bits: NDArray[np.int64] = made.view(np.int64)
    return bits


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Per row the place of its value among the distinct ones, and how many there are."""
    order, first, lengths = _runs(values)
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.repeat(np.arange(len(first)), lengths)
    return places, len(first)


def _runs(
    values: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the order of values; per distinct value its first row, and how many it has."""
    order = stable_order(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return order, order[starts], np.diff(starts, append=len(values))


def _codes(keys: Sequence[_Key], rows: slice) -> NDArray[np.int64]:
    """One code for the values of all keys, in some rows."""
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


def _dense(keys: Sequence[_Key], row_count: int) -> _Key:
    """The keys as one whose numbers are all used."""
    codes = _codes(keys, slice(0, row_count))
    count = math.prod(key.count for key in keys)
    if _fits_table(count, row_count):
        used, places = used_codes(codes, count)
        return _Key(places, 0, len(used))
    places, distinct = _distinct(codes)
    return _Key(places, 0, distinct)


def _fits_table(count: int, row_count: int) -> bool:
    return count <= _TABLE_ROWS * row_count + _SMALL_TABLE


# ------------------------------------------------------------------ groups
def _groups_by_order(codes: NDArray[np.int64]) -> Groups:
    order, first, lengths = _runs(codes)
    if len(first) == len(codes):
        return single_rows(len(codes))
    by_first = stable_order(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[by_first] = np.arange(len(first))
    group_of = np.empty(len(codes), dtype=np.int64)
    group_of[order] = np.repeat(numbers, lengths)
    return Groups(first[by_first], group_of)


def _groups_at_once(codes: NDArray[np.int64], count: int) -> Groups:
    """As by windows, with fewer steps."""
    table = np.full(count, -1, dtype=np.int64)
    # Written from the last row to the first, so that the first one stays.
    table[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    first = np.sort(table[table >= 0])
    table[codes[first]] = np.arange(len(first))
    return Groups(first, table[codes])


def _groups_by_table(keys: Sequence[_Key], count: int, row_count: int) -> Groups:
    """With the number of each code's group in a table, in windows that stay in the cache."""
    if row_count <= _WINDOW:
        return _groups_at_once(_codes(keys, slice(0, row_count)), count)
    table = np.full(count, -1, dtype=np.int32 if row_count < _MOST_INT32 else np.int64)
    found = np.empty(_WINDOW, dtype=table.dtype)
    group_of = np.empty(row_count, dtype=np.int64)
    firsts: list[NDArray[np.int64]] = []
    known = 0
    for start in range(0, row_count, _WINDOW):
        codes = _codes(keys, slice(start, start + _WINDOW))
        numbers = found[: len(codes)]
        np.take(table, codes, out=numbers, mode="clip")  # all are in it
        part = group_of[start : start + _WINDOW]
        part[:] = numbers
        if known == count or numbers.min() >= 0:
            continue
        rows = np.flatnonzero(numbers < 0)
        unseen = codes[rows]
        # Written from the last row to the first, so that the first one stays.
        table[unseen[::-1]] = rows[::-1]
        first = rows[table[unseen] == rows]
        table[codes[first]] = np.arange(known, known + len(first))
        part[rows] = table[unseen]
        firsts.append(first + start)
        known += len(first)
    return Groups(np.concatenate(firsts), group_of)
