"""Counts distinct values per group by sorting codes, without tracking their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.deadline import check_time
from gpugda.execute.aggregation.row_codes import (
    LARGEST_CODE,
    RowKey,
    codes_of_rows,
    combined,
    dense,
    fits_table,
    keys_of,
)
from gpugda.execute.sorting import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.operands import Operand

__all__ = ["distinct_counts"]

_WINDOW: Final = 1 << 15
"""Rows whose codes fit in the processor's cache."""
_LARGEST_TABLE: Final = 1 << 21
"""Bytes of a table that fits in the processor's cache."""
_SHORT: Final = 1 << 32
_FEW_GROUPS: Final = 1 << 10
"""Up to this many groups are sorted one by one if values are too wide to combine with a group."""


def distinct_counts(
    operands: Sequence[Operand], group_of: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Number of distinct values per group, in the sense of DISTINCT.

    Args:
        operands: The parts of a value; at least one is a column.
        group_of: Group number of each row.
        groups: Number of groups.
    """
    row_count = len(group_of)
    if not row_count:
        return np.zeros(groups, dtype=np.int64)
    keys = keys_of(operands)
    if len(keys) == 1 and keys[0].count > LARGEST_CODE // groups and groups <= _FEW_GROUPS:
        return _of_wide_values(keys[0].values, group_of, groups)
    keys, count = combined(keys, row_count)
    if count > LARGEST_CODE // groups:
        keys = [dense(keys, row_count)]
        count = keys[0].count
    codes = groups * count
    if codes <= _LARGEST_TABLE and fits_table(codes, row_count):
        return _by_table(keys, count, group_of, groups)
    return _by_order(keys, count, group_of, groups)


def _windows(
    keys: Sequence[RowKey], count: int, group_of: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Windows of rows with codes that combine group and value; the group is the high part."""
    for start in range(0, len(group_of), _WINDOW):
        check_time()
        rows = slice(start, start + _WINDOW)
        codes = group_of[rows] * count
        codes += codes_of_rows(keys, rows)
        yield rows, codes


def _by_table(
    keys: Sequence[RowKey], count: int, group_of: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    seen = np.zeros(groups * count, dtype=np.bool_)
    for _, codes in _windows(keys, count, group_of):
        seen[codes] = True
    found: NDArray[np.int64] = np.count_nonzero(seen.reshape(groups, count), axis=1)
    return found


def _by_order(
    keys: Sequence[RowKey], count: int, group_of: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    dtype = np.dtype(np.uint32 if groups * count <= _SHORT else np.uint64)
    made: NDArray[Any] = np.empty(len(group_of), dtype=dtype)
    for rows, codes in _windows(keys, count, group_of):
        made[rows] = codes
    check_time()
    made.sort()
    different = made[_starts(made)]
    if count > 1:
        different //= dtype.type(count)
    return np.bincount(different.astype(np.int64), minlength=groups)


def _of_wide_values(
    values: NDArray[Any], group_of: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Sorts the values of each group separately."""
    ordered = values.copy() if groups == 1 else values[stable_order(group_of)]
    ends = np.cumsum(np.bincount(group_of, minlength=groups)).tolist()
    found = np.zeros(groups, dtype=np.int64)
    for group, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        part = ordered[start:end]
        part.sort()
        found[group] = np.count_nonzero(_starts(part))
    return found


def _starts(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """True where an element differs from its predecessor."""
    starts = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts
