"""Vectorised binary searches in CSR rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.patches.patched import Array

__all__ = ["bounds_of_rows", "equal_range", "lower_bound", "run_bounds"]

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
        owner, found = _entries_of_ranges(values, low, lengths)
        return low + np.bincount(owner[found < wanted[owner]], minlength=len(low))
    while (unsure := np.flatnonzero(low < high)).size:
        middle = (low[unsure] + high[unsure]) // 2
        below = values[middle] < wanted[unsure]
        low[unsure[below]] = middle[below] + 1
        high[unsure[~below]] = middle[~below]
    return low


def equal_range(
    values: Array, low: NDArray[np.int64], high: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The entries equal to the wanted value in each sorted range: the first, and how many."""
    lengths = high - low
    if int(lengths.sum()) > _FEW:
        first = lower_bound(values, low, high, wanted)
        return first, lower_bound(values, low, high, wanted + 1) - first
    owner, found = _entries_of_ranges(values, low, lengths)
    sought = wanted[owner]
    first = low + np.bincount(owner[found < sought], minlength=len(low))
    return first, np.bincount(owner[found == sought], minlength=len(low))


def _entries_of_ranges(
    values: Array, low: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The range of each entry, and its value."""
    owner = np.arange(len(low)).repeat(lengths)
    return owner, values[low[owner] + places_in_runs(lengths)]


def run_bounds(
    csr: CsrParts, nodes: NDArray[np.int64], types: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The run of each node and type, its first entry and its end (exclusive).

    If the run is absent: the run before which it would be inserted, and that run's first entry
    as both bounds.
    """
    first, last = bounds_of_rows(csr.run_offsets, nodes)
    runs, matches = equal_range(csr.run_types, first, last, types)
    # A read takes long, however few entries it reads: both ends are read at once.
    found = _read(csr.run_starts, runs, np.minimum(runs + 1, last))
    low, high = found[: len(runs)], found[len(runs) :]
    return runs, low, np.where(matches > 0, high, low)


def bounds_of_rows(
    offsets: Array, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first entry of each row, and its end (exclusive)."""
    found = _read(offsets, rows, rows + 1)
    return found[: len(rows)], found[len(rows) :]


def _read(values: Array, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = values[np.concatenate([first, second])].astype(np.int64)
    return found
