"""`sum` of all groups at once, in Neo4j's order of additions where it affects the result."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.aggregation.grouped_rows import Rows
    from gpugda.execute.aggregation.grouping import Groups

__all__ = ["sum_of_floats", "sum_of_integers", "sum_of_known_floats"]

_LOGGER = logging.getLogger("gpugda.device")
_LARGEST = 2**63 - 1
_EXACT = 2**53
"""Integers below this are exact as floats, which are summed faster."""
_DEVICE_ROWS = 1 << 18
"""Fewest rows for which a launch pays, and compiling the kernel once per machine."""
_WINDOW = 1 << 16
"""Rows processed together, so that intermediate results fit in the processor's cache."""
_CACHED = 1 << 14
"""Rows of which several arrays fit in the first-level cache."""
_PARTS = 1024.0
"""Multiples of 1/1024 are summed exactly, like integers."""


def sum_of_integers(rows: Rows) -> Column | None:
    """Sum of each group; None if one may exceed 64 bits."""
    values = rows.values.values
    if rows.groups == 1 and rows.weights is None:
        return _sum_of_all(values)
    largest = max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
    if largest * max(rows.row_count, 1) > _LARGEST // 2:
        return None  # a sum may exceed 64 bits
    if rows.weights is not None:
        # The weight of a row with value 0 may exceed 63 bits.
        values = values * np.where(values == 0, 0, rows.weights).astype(np.int64)
        largest *= int(rows.weights.max(initial=0))
    sums = np.zeros(rows.groups, dtype=np.int64)
    if largest * len(values) < _EXACT:
        # Exact as floats, which are summed faster.
        exact = np.bincount(rows.group_of, weights=values, minlength=rows.groups)
        sums = exact.astype(np.int64)
    else:
        np.add.at(sums, rows.group_of, values)
    return Column(ColumnKind.INTEGER, sums)


def _sum_of_all(values: NDArray[np.int64]) -> Column | None:
    """Sum of a single group; reads each window once."""
    total = largest = 0
    for start in range(0, len(values), _WINDOW):
        part = values[start : start + _WINDOW]
        largest = max(largest, -int(part.min()), int(part.max()))
        if largest * len(values) > _LARGEST // 2:
            return None
        total += int(part.sum())
    return Column(ColumnKind.INTEGER, np.array([total]))


def sum_of_floats(rows: Rows) -> Column | None:
    """Sum of each group, added in row order; None if a group has no rows."""
    if rows.groups_with_rows() is not None:
        return None  # the sum of no values is an integer
    sums = _without_rounding(rows)
    if sums is None:
        sums = np.zeros(rows.groups)
        for values, group_of in rows.windows(4 * rows.groups):
            sums = _further(sums, values, group_of)
    return Column(ColumnKind.FLOAT, sums)


def sum_of_known_floats(column: Column, groups: Groups) -> Column | None:
    """As `sum_of_floats`, for a column with nulls; None also if another method is as fast.

    Finding the non-null rows takes longer than adding 0.0 for the null ones: a sum that starts
    with 0.0 is never -0.0, and adding 0.0 changes no other value.
    """
    valid, count = column.valid, len(groups.first)
    if valid is None or count == 1 or count > _CACHED // 4:
        return None
    if not _all_known(groups, valid):
        return None  # the sum of no values is an integer
    bits, known = column.values.view(np.int64), valid.view(np.int8)
    values, group_of = np.zeros(count + _CACHED), np.arange(count + _CACHED)
    for start in range(0, len(bits), _CACHED):
        rows = slice(start, start + _CACHED)
        end = count + len(bits[rows])
        part = values[count:end].view(np.int64)
        np.copyto(part, known[rows])
        np.negative(part, out=part)  # all bits set for 1, none for 0
        part &= bits[rows]
        group_of[count:end] = groups.group_of[rows]
        values[:count] = np.bincount(group_of[:end], weights=values[:end], minlength=count)
    return Column(ColumnKind.FLOAT, values[:count].copy())


def _all_known(groups: Groups, valid: NDArray[np.bool_]) -> bool:
    """True if each group has a non-null row."""
    known = valid[groups.first]
    for start in range(0, len(valid), _CACHED):
        if known.all():
            return True
        rows = slice(start, start + _CACHED)
        known[groups.group_of[rows][valid[rows]]] = True
    return bool(known.all())


def _without_rounding(rows: Rows) -> NDArray[np.float64] | None:
    """Sums of weighted values; None if the order of additions may affect the result."""
    if rows.weights is None:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        parts = rows.values.values * _PARTS
        if not (parts == np.rint(parts)).all():
            return None
        parts *= rows.weights
        if not np.abs(parts).sum() < _EXACT:
            return None
    return np.bincount(rows.group_of, weights=parts, minlength=rows.groups) / _PARTS


def _further(
    sums: NDArray[np.float64], values: NDArray[np.float64], group_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Adds values to the group sums in row order, like Neo4j."""
    if len(sums) == 1:
        begun = float(sums[0])
        total = _on_processor(values, begun)
        return np.array([_in_order(values, begun) if total is None else total])
    if sums.any():
        values = np.concatenate([sums, values])
        group_of = np.concatenate([np.arange(len(sums)), group_of])
    found = np.bincount(group_of, weights=values, minlength=len(sums))
    return found.astype(np.float64, copy=False)


def _on_processor(values: NDArray[np.float64], begun: float) -> float | None:
    """As `_in_order`, but faster; None for few rows or without a device."""
    if len(values) < _DEVICE_ROWS:
        return None
    from gpugda.device.host_device import host_device  # opens a device of its own
    from gpugda.device.launch.ordered_sums import OrderedSum

    device = host_device()
    try:
        return None if device is None else OrderedSum(device).total(values, begun)
    except DeviceError as error:
        _LOGGER.info("a sum is computed without a device: %s", error)
        return None


def _in_order(values: NDArray[np.float64], begun: float) -> float:
    """The sum by sequential additions."""
    total = np.array([begun])
    sums = np.empty(_WINDOW + 1)
    for start in range(0, len(values), _WINDOW):
        part = values[start : start + _WINDOW]
        sums[0] = total[0]
        sums[1 : len(part) + 1] = part
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are no error in Neo4j
            np.add.accumulate(sums[: len(part) + 1], out=sums[: len(part) + 1])
        total[0] = sums[len(part)]
    return float(total[0])
