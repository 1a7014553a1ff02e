"""`sum` of all groups together, with Neo4j's order of additions where that tells in the result."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.grouped_rows import Rows
    from gpugda.execute.grouping import Groups

__all__ = ["sum_of_floats", "sum_of_integers", "sum_of_known_floats"]

_LOGGER = logging.getLogger("gpugda.device")
_LARGEST = 2**63 - 1
_EXACT = 2**53
"""Below it, integers are exact as floats, which are summed sooner."""
_DEVICE_ROWS = 1 << 18
"""So many rows are worth a launch, and the kernel's compilation once for a machine."""
_WINDOW = 1 << 16
"""Rows that are taken together, so that what is made of them stays in the processor's cache."""
_CACHED = 1 << 14
"""Rows of which several arrays stay in the processor's nearest cache."""
_PARTS = 1024.0
"""Numbers that are multiples of one part of so many are as good as integers."""


def sum_of_integers(rows: Rows) -> Column | None:
    """Of each group; None where one may leave the 64 bits."""
    values = rows.values.values
    if rows.groups == 1 and rows.weights is None:
        return _sum_of_all(values)
    largest = max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
    if largest * max(rows.row_count, 1) > _LARGEST // 2:
        return None  # one may leave the 64 bits
    if rows.weights is not None:
        # The weight of a row whose value is 0 may be beyond them.
        values = values * np.where(values == 0, 0, rows.weights).astype(np.int64)
        largest *= int(rows.weights.max(initial=0))
    sums = np.zeros(rows.groups, dtype=np.int64)
    if largest * len(values) < _EXACT:
        sums = _exact_sums(rows.group_of, values, rows.groups)
    else:
        np.add.at(sums, rows.group_of, values)
    return Column(ColumnKind.INTEGER, sums)


def _sum_of_all(values: NDArray[np.int64]) -> Column | None:
    """Of one group, each window read once."""
    total = largest = 0
    for start in range(0, len(values), _WINDOW):
        part = values[start : start + _WINDOW]
        largest = max(largest, -int(part.min()), int(part.max()))
        if largest * len(values) > _LARGEST // 2:
            return None
        total += int(part.sum())
    return Column(ColumnKind.INTEGER, np.array([total]))


def _exact_sums(
    group_of: NDArray[np.int64], values: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Of integers so small that floats hold the sums."""
    window = max(_WINDOW, 4 * groups)
    total = np.zeros(groups)
    for start in range(0, len(values), window):
        rows = slice(start, start + window)
        total += np.bincount(group_of[rows], weights=values[rows], minlength=groups)
    return total.astype(np.int64)


def sum_of_floats(rows: Rows) -> Column | None:
    """Of each group, in the order of rows; None where one has no rows."""
    if rows.there() is not None:
        return None  # the sum of nothing is an integer
    sums = _without_rounding(rows)
    if sums is None:
        sums = np.zeros(rows.groups)
        for values, group_of in rows.windows(4 * rows.groups):
            sums = _further(sums, values, group_of)
    return Column(ColumnKind.FLOAT, sums)


def sum_of_known_floats(column: Column, groups: Groups) -> Column | None:
    """As `sum_of_floats`, of what may be null; None also where other ways are as good.

    To find the rows that are not null takes longer than to add 0.0 for the others: a sum that
    begins with 0.0 is never -0.0, and 0.0 changes no other.
    """
    valid, count = column.valid, len(groups.first)
    if valid is None or count == 1 or count > _CACHED // 4:
        return None
    if not _all_known(groups, valid):
        return None  # the sum of nothing is an integer
    bits, known = column.values.view(np.int64), valid.view(np.int8)
    values, group_of = np.zeros(count + _CACHED), np.arange(count + _CACHED)
    for start in range(0, len(bits), _CACHED):
        rows = slice(start, start + _CACHED)
        end = count + len(bits[rows])
        part = values[count:end].view(np.int64)
        np.copyto(part, known[rows])
        np.negative(part, out=part)  # all bits of 1, none of 0
        part &= bits[rows]
        group_of[count:end] = groups.group_of[rows]
        values[:count] = np.bincount(group_of[:end], weights=values[:end], minlength=count)
    return Column(ColumnKind.FLOAT, values[:count].copy())


def _all_known(groups: Groups, valid: NDArray[np.bool_]) -> bool:
    """Has each group a row that is not null?"""
    known = valid[groups.first]
    for start in range(0, len(valid), _CACHED):
        if known.all():
            return True
        rows = slice(start, start + _CACHED)
        known[groups.group_of[rows][valid[rows]]] = True
    return bool(known.all())


def _without_rounding(rows: Rows) -> NDArray[np.float64] | None:
    """Sums of values that stand for several rows; None where the order of additions may tell."""
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
    """Sums of groups with more values, added in the order of rows, as Neo4j adds them."""
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
    """The same as `_in_order`, sooner; None for few rows, or without a device for it."""
    if len(values) < _DEVICE_ROWS:
        return None
    from gpugda.device.host_device import host_device  # opens a device of its own
    from gpugda.device.launch.ordered_sum import OrderedSum

    device = host_device()
    try:
        return None if device is None else OrderedSum(device).total(values, begun)
    except DeviceError as error:
        _LOGGER.info("a sum is taken without a device: %s", error)
        return None


def _in_order(values: NDArray[np.float64], begun: float) -> float:
    """The sum as one addition after the other gives it."""
    total = np.array([begun])
    sums = np.empty(_WINDOW + 1)
    for start in range(0, len(values), _WINDOW):
        part = values[start : start + _WINDOW]
        sums[0] = total[0]
        sums[1 : len(part) + 1] = part
        with np.errstate(invalid="ignore", over="ignore"):  # of infinities: Neo4j says nothing
            np.add.accumulate(sums[: len(part) + 1], out=sums[: len(part) + 1])
        total[0] = sums[len(part)]
    return float(total[0])
