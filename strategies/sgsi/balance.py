"""Chooses the lengths that count as long rows, by a histogram and a cost model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gpugda_strategies.gsi.options import GsiOptions
    from numpy.typing import NDArray

__all__ = ["INTERVALS", "Limits", "choose_limits", "given_limits"]

INTERVALS = 1024
"""Intervals of 32 entries each; the last one holds all longer rows."""
_WIDTH = 32
_WARPS_PER_UNIT = 64
_GROUPS_PER_UNIT = 8
_GROUP = 256
_PARTS = 16
_BARRIER = 0.5
"""Cost of waiting for a work group, in batches of 32 entries by a warp."""
_LAUNCH = 100.0
"""Cost of a launch, in the same unit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths from which rows are processed differently.

    Args:
        launch_from: Longer rows are in a separate launch (the paper's W1).
        group_from: Longer rows get a whole work group (W2).
        share_from: Entries of a row that a warp processes alone (W3).
    """

    launch_from: int
    group_from: int
    share_from: int


def given_limits(options: GsiOptions) -> Limits:
    """The limits given by the options."""
    return Limits(options.launch_from, options.group_from, options.share_from)


def choose_limits(rows: NDArray[np.int64], units: int) -> Limits:
    """The limits with the least cost.

    Args:
        rows: Number of rows per interval of length; the first interval is included.
        units: Number of compute units of the device.
    """
    interval = np.arange(len(rows), dtype=np.float64)
    warp = interval * np.ceil(rows / (_WARPS_PER_UNIT * units))
    shared = (1 + 2 * _BARRIER) * np.ceil(
        _WIDTH * interval * np.ceil(rows / (_GROUPS_PER_UNIT * units)) / _GROUP
    )
    group = (1 + _BARRIER) * np.ceil(rows / (_GROUPS_PER_UNIT * units))
    group = group * np.ceil(_WIDTH * interval / _GROUP)
    parts = (1 + _BARRIER) * np.ceil(rows * _PARTS / (_GROUPS_PER_UNIT * units))
    parts = parts * np.ceil(_WIDTH * interval / (_GROUP * _PARTS))
    middle = _GROUP // _WIDTH
    short = _cheapest(warp[:middle], shared[:middle])
    long = middle + _cheapest(group[middle:], parts[middle:] + 0.0, once=_LAUNCH)
    return Limits(_WIDTH * long, _GROUP, _WIDTH * short)


def _cheapest(below: NDArray[np.float64], above: NDArray[np.float64], once: float = 0.0) -> int:
    """The first interval for the second method, which minimises the total cost."""
    first = np.concatenate([[0.0], np.cumsum(below)])
    rest = np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
    rest = np.where(rest > 0, rest + once, 0.0)
    return int(np.argmin(first + rest))
