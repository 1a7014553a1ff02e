"""`avg` of all groups together, with the rounding of a running mean.

Neo4j moves the mean by each item in turn, ``mean += (item - mean) / count``: a sum that is divided
once differs in the last digits. Here every step is taken for all groups that have an item left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["running_means"]

_FEW: Final = 32
"""Groups of which so few have items left are finished one by one."""
_LARGEST: Final = 1e150
"""Differences of larger numbers may be infinite."""


def running_means(
    values: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """The mean of each group, 0 for one without values; None where one may become infinite.

    Args:
        values: Group by group, in the order of rows.
        offsets: Where each group begins, and the end.
    """
    if len(values) and not np.abs(values).max() <= _LARGEST:  # as NaN is not, either
        return None
    sizes = np.diff(offsets)
    order = np.argsort(-sizes, kind="stable")
    starts, sizes = offsets[:-1][order], sizes[order]
    means = np.zeros(len(sizes))
    taken, left = 0, int(np.count_nonzero(sizes > 0))
    while left > _FEW:
        mean = means[:left]
        taken += 1
        mean += (values[starts[:left] + (taken - 1)] - mean) / taken
        left = int(np.searchsorted(-sizes, -taken))
    for group in range(left):
        first = int(starts[group])
        items = values[first + taken : first + int(sizes[group])]
        means[group] = _finished(float(means[group]), taken, items)
    found = np.empty(len(sizes))
    found[order] = means
    return found


def _finished(mean: float, count: int, items: NDArray[np.float64]) -> float:
    for item in items.tolist():
        count += 1
        mean += (item - mean) / count
    return mean
