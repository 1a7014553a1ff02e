"""`avg` and `stDev` of all groups at once, rounded like Neo4j's running mean.

Neo4j updates the mean with each item, ``mean += (item - mean) / count``; dividing the sum once
gives other last digits. For many rows a kernel on the host processor computes the steps;
otherwise NumPy computes each step for all groups that have items left.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.device.host_device import host_device
from gpugda.device.launch.ordered_sums import RunningMeans
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.aggregation.grouped_rows import Rows

__all__ = ["means_of_rows", "running_means", "spreads_of_rows"]

_LOGGER = logging.getLogger("gpugda.device")
_DEVICE_ROWS: Final = 1 << 17
"""Fewest rows for which a launch pays, and compiling the kernel once per machine."""
_FEW: Final = 32
"""At most this many groups with items left are finished one by one."""
_LARGEST: Final = 1e150
"""Differences of numbers larger than this may overflow to infinity."""


# ------------------------------------------------------------------ host processor as a device
def means_of_rows(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Mean of each group, and a mask of the groups with rows; None if no device is available.

    Args:
        rows: Rows with ``int64`` or ``float64`` values.
    """
    states = _states(rows, squares=False)
    if states is not None and np.isnan(states[:, 1]).any():
        states = _states(rows, infinite=True)
    return None if states is None else (states[:, 1].copy(), states[:, 0] > 0)


def spreads_of_rows(rows: Rows, less: int) -> NDArray[np.float64] | None:
    """Standard deviation of each group; 0 for fewer than two rows; None as `means_of_rows`.

    ``less`` is subtracted from the count: 1 for a sample, 0 for a population.
    """
    states = _states(rows)
    if states is None:
        return None
    counts, squares = states[:, 0], states[:, 2]
    several = counts > 1
    return np.where(several, np.sqrt(squares / np.where(several, counts - less, 1)), 0.0)


def _states(
    rows: Rows, *, infinite: bool = False, squares: bool = True
) -> NDArray[np.float64] | None:
    device = host_device() if rows.row_count >= _DEVICE_ROWS else None
    if device is None:
        return None
    try:
        kernels = RunningMeans(device)
        return kernels.states(rows.windows(), rows.groups, infinite=infinite, squares=squares)
    except DeviceError as error:
        _LOGGER.info("means are computed without a device: %s", error)
        return None


# ------------------------------------------------------------------ NumPy
def running_means(
    values: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Mean of each group, 0 for one without values; None if one may become infinite.

    Args:
        values: Values group by group, in row order.
        offsets: Offset of each group, and the end.
    """
    if len(values) and not np.abs(values).max() <= _LARGEST:  # also true for NaN
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
