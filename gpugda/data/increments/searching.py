"""Vectorised binary searches in CSR rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.patched import Patched
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.patches.patched import Array

__all__ = ["lower_bound", "rows_of", "run_bounds"]

_FEW = 1 << 11
"""Up to this many entries a scan of all is faster than a binary search."""


def lower_bound(
    values: Array,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    wanted: NDArray[Any],
) -> NDArray[np.int64]:
    """Lower bound in each sorted range ``low … high-1``: first entry that is >= the wanted value.

    Returns ``high`` where all entries are smaller.
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
    """The row of each entry, from the offsets of all rows; entries are below the last offset."""
    if isinstance(offsets, Patched):
        return offsets.lower_bound(entries + 1) - 1
    # In the dtype of the offsets: otherwise searchsorted would copy all of them.
    return np.searchsorted(offsets, (entries + 1).astype(offsets.dtype)) - 1


def run_bounds(
    csr: CsrParts, nodes: NDArray[np.int64], types: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The run of each node and type, its first entry and its end (exclusive).

    If the run is absent: the run before which it would be inserted, and that run's first entry
    as both bounds.
    """
    first = csr.run_offsets[nodes].astype(np.int64)
    last = csr.run_offsets[nodes + 1].astype(np.int64)
    runs = lower_bound(csr.run_types, first, last, types)
    there = runs < last
    there[there] = csr.run_types[runs[there]] == types[there]
    low = csr.run_starts[runs].astype(np.int64)
    return runs, low, np.where(there, csr.run_starts[np.minimum(runs + 1, last)], low)
