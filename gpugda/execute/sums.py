"""`sum` of all groups together, with Neo4j's order of additions where that tells in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.columns import Column, ColumnKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.grouped_rows import Rows

__all__ = ["sum_of_floats", "sum_of_integers"]

_LARGEST = 2**63 - 1
_EXACT = 2**53
"""Below it, integers are exact as floats, which are summed sooner."""
_WINDOW = 1 << 16
"""Rows that are taken together, so that what is made of them stays in the processor's cache."""


def sum_of_integers(rows: Rows) -> Column | None:
    """Of each group; None where one may leave the 64 bits."""
    values = rows.values.values
    largest = max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
    if largest * max(len(values), 1) > _LARGEST // 2:
        return None  # one may leave the 64 bits
    sums = np.zeros(rows.groups, dtype=np.int64)
    if rows.groups == 1:
        sums[0] = values.sum()
    elif largest * len(values) < _EXACT:
        sums = _exact_sums(rows.group_of, values, rows.groups)
    else:
        np.add.at(sums, rows.group_of, values)
    return Column(ColumnKind.INTEGER, sums)


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
    # In the order of rows, as Neo4j adds them.
    values = rows.values.values
    if rows.groups == 1:
        return Column(ColumnKind.FLOAT, np.array([_in_order(values)]))
    return Column(
        ColumnKind.FLOAT, np.bincount(rows.group_of, weights=values, minlength=rows.groups)
    )


def _in_order(values: NDArray[np.float64]) -> float:
    """The sum as one addition after the other gives it."""
    total = np.zeros(1)
    sums = np.empty(_WINDOW + 1)
    for start in range(0, len(values), _WINDOW):
        part = values[start : start + _WINDOW]
        sums[0] = total[0]
        sums[1 : len(part) + 1] = part
        with np.errstate(invalid="ignore", over="ignore"):  # of infinities: Neo4j says nothing
            np.add.accumulate(sums[: len(part) + 1], out=sums[: len(part) + 1])
        total[0] = sums[len(part)]
    return float(total[0])
