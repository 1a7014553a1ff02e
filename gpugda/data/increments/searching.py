"""Finding entries of rows, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.patched import Patched
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.patches.patched import Array

__all__ = ["first_not_below", "rows_of", "run_bounds"]

_FEW = 1 << 11
"""So many entries are all looked at: that takes less than to look at some again and again."""


def first_not_below(
    values: Array,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    wanted: NDArray[Any],
) -> NDArray[np.int64]:
    """The first entry of each rising stretch ``low … high-1`` whose value is not below the wanted.

    ``high`` where all are below.
    """
    low, high = low.astype(np.int64), high.astype(np.int64)
    lengths = high - low
    if int(lengths.sum()) <= _FEW:
        owner = np.repeat(np.arange(len(low)), lengths)
        entries = low[owner] + places_in_runs(lengths)
        below = owner[values[entries] < wanted[owner]]
        return low + np.bincount(below, minlength=len(low))
    while (unsure := np.flatnonzero(low < high)).size:
        middle = (low[unsure] + high[unsure]) // 2
        below = values[middle] < wanted[unsure]
        low[unsure[below]] = middle[below] + 1
        high[unsure[~below]] = middle[~below]
    return low


def rows_of(offsets: Array, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows in which entries lie, by the offsets of all rows, where they are below the last."""
    if isinstance(offsets, Patched):
        return offsets.first_not_below(entries + 1) - 1
    # Of the same type, or all of the offsets would be copied.
    return np.searchsorted(offsets, (entries + 1).astype(offsets.dtype)) - 1


def run_bounds(
    csr: CsrParts, nodes: NDArray[np.int64], types: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The run of each node and type, and its first entry and the one after the last.

    Where there is none: the run before which it would come, and its first entry, twice.
    """
    first = csr.run_offsets[nodes].astype(np.int64)
    last = csr.run_offsets[nodes + 1].astype(np.int64)
    runs = first_not_below(csr.run_types, first, last, types)
    there = runs < last
    there[there] = csr.run_types[runs[there]] == types[there]
    low = csr.run_starts[runs].astype(np.int64)
    return runs, low, np.where(there, csr.run_starts[np.minimum(runs + 1, last)], low)
