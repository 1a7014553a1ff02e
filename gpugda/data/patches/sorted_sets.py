"""Set operations on few sorted numbers, several times as fast as NumPy's own for these."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_in_sorted", "sorted_counts", "sorted_distinct"]

_FEW = 1 << 5
"""Up to this many numbers plain Python is faster than NumPy's functions."""


def sorted_distinct(*values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values, sorted; fast where they come in increasing runs."""
    if sum(map(len, values)) <= _FEW:
        distinct = {number for each in values for number in each.tolist()}
        return np.array(sorted(distinct), dtype=np.int64)
    found = values[0] if len(values) == 1 else np.concatenate(values)
    found = np.sort(found, kind="stable")
    return found[_differs(found)]


def sorted_counts(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values, sorted, and the count of each."""
    if len(values) <= _FEW:
        counted = Counter(sorted(values.tolist()))
        numbers, times = list(counted), list(counted.values())
        return np.array(numbers, dtype=np.int64), np.array(times, dtype=np.int64)
    found = np.sort(values, kind="stable")
    firsts = _differs(found).nonzero()[0]
    counts = np.empty(len(firsts), dtype=np.int64)
    counts[:-1] = firsts[1:] - firsts[:-1]
    counts[-1:] = len(found) - firsts[-1:]
    return found[firsts], counts


def is_in_sorted(values: NDArray[Any], members: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``bool`` per value: True if it is in ``sorted_distinct``, which must be sorted."""
    if not len(members):
        return np.zeros(len(values), dtype=np.bool_)
    places = members.searchsorted(values)
    places[places == len(members)] = 0
    found: NDArray[np.bool_] = members[places] == values
    return found


def _differs(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    found = np.empty(len(values), dtype=np.bool_)
    found[:1] = True
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found
