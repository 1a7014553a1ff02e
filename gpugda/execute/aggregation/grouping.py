"""Groups equal rows by their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.deadline import check_time
from gpugda.execute.aggregation.row_codes import (
    RowKey,
    codes_of_rows,
    combined,
    fits_table,
    is_tabled,
    keys_of,
    runs,
)
from gpugda.execute.sorting import stable_order
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.operands import Operand

__all__ = ["Groups", "group_rows", "single_rows"]

_MAX_INT32 = 2**31
_WINDOW = 1 << 15  # rows whose codes fit in the processor's cache


@value(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of equal rows.

    Args:
        first: ``int64`` per group: its first row, ascending.
        group_of: ``int64`` per row: its group number.
    """

    first: NDArray[np.int64]
    group_of: NDArray[np.int64]


def group_rows(operands: Sequence[Operand], row_count: int) -> Groups:
    """Groups rows with equal values, in the sense of DISTINCT."""
    if row_count == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return Groups(nothing, nothing)
    keys = keys_of(operands)
    if len(keys) == 1 and not is_tabled(keys[0], row_count):
        return _groups_by_order(keys[0].values)
    keys, count = combined(keys, row_count)
    if count == 1:  # all rows are the same
        return Groups(np.zeros(1, dtype=np.int64), np.zeros(row_count, dtype=np.int64))
    if fits_table(count, row_count):
        return _groups_by_table(keys, count, row_count)
    return _groups_by_order(codes_of_rows(keys, slice(0, row_count)))


def single_rows(row_count: int) -> Groups:
    """One group per row."""
    rows = np.arange(row_count)
    return Groups(rows, rows)


# ------------------------------------------------------------------ groups
def _groups_by_order(codes: NDArray[np.int64]) -> Groups:
    order, first, lengths = runs(codes)
    if len(first) == len(codes):
        return single_rows(len(codes))
    by_first = stable_order(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[by_first] = np.arange(len(first))
    group_of = np.empty(len(codes), dtype=np.int64)
    group_of[order] = np.repeat(numbers, lengths)
    return Groups(first[by_first], group_of)


def _groups_at_once(codes: NDArray[np.int64], count: int) -> Groups:
    """As `_groups_by_table` in one window, with fewer steps."""
    table = np.full(count, -1, dtype=np.int64)
    # Write from the last row to the first, so that the first one remains.
    table[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    first = np.sort(table[table >= 0])
    table[codes[first]] = np.arange(len(first))
    return Groups(first, table[codes])


def _groups_by_table(keys: Sequence[RowKey], count: int, row_count: int) -> Groups:
    """Looks up each code's group in a table, in windows that fit in the cache."""
    if row_count <= _WINDOW:
        return _groups_at_once(codes_of_rows(keys, slice(0, row_count)), count)
    table = np.full(count, -1, dtype=np.int32 if row_count < _MAX_INT32 else np.int64)
    found = np.empty(_WINDOW, dtype=table.dtype)
    group_of = np.empty(row_count, dtype=np.int64)
    firsts: list[NDArray[np.int64]] = []
    known = 0
    for start in range(0, row_count, _WINDOW):
        check_time()
        codes = codes_of_rows(keys, slice(start, start + _WINDOW))
        numbers = found[: len(codes)]
        np.take(table, codes, out=numbers, mode="clip")  # all codes are in range
        part = group_of[start : start + _WINDOW]
        part[:] = numbers
        if known == count or numbers.min() >= 0:
            continue
        rows = np.flatnonzero(numbers < 0)
        unseen = codes[rows]
        # Write from the last row to the first, so that the first one remains.
        table[unseen[::-1]] = rows[::-1]
        first = rows[table[unseen] == rows]
        table[codes[first]] = np.arange(known, known + len(first))
        part[rows] = table[unseen]
        firsts.append(first + start)
        known += len(first)
    return Groups(np.concatenate(firsts), group_of)
