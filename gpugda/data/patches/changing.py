"""Changes to an array: short arrays are copied, long ones patched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.patched import Patched
from gpugda.data.patches.spare_capacity import appended
from gpugda.data.patches.splice import Splice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array

__all__ = ["extended", "is_patched_length", "renumbered", "replaced", "spliced", "stepped"]

PATCHED_FROM = 1 << 17
"""From this length on an array is patched instead of copied."""
MANY_STEPS = 32
"""With more steps, one vectorised addition is faster than one call per step."""


def is_patched_length(count: int) -> bool:
    """True if arrays of this length are patched instead of copied."""
    return count >= PATCHED_FROM


def spliced(array: Array, splice: Splice, added: Any) -> Array:
    """An array with some entries removed and others inserted; itself if nothing changes.

    Args:
        array: The entries before.
        splice: Removed entries and insertion points.
        added: The new entries, or one value for all of them.
    """
    if not splice:
        return array
    array = _patchable(array)
    return (
        array.spliced(splice, added) if isinstance(array, Patched) else splice.applied(array, added)
    )


def extended(array: Array, added: NDArray[Any]) -> Array:
    """An array with values added at its end: in its spare capacity, if it is not patched."""
    if not isinstance(array, Patched):
        return appended(array, added, len(added))
    none = np.empty(0, dtype=np.int64)
    return spliced(array, Splice(len(array), none, np.full(len(added), len(array))), added)


def replaced(array: Array, rows: NDArray[np.int64], values: NDArray[Any]) -> Array:
    """An array with other values at some positions, which are distinct; cf. `spliced`."""
    order = rows.argsort()
    rows = rows[order]
    array = _patchable(array)
    if isinstance(array, Patched):
        return array.spliced(Splice(len(array), rows, rows), values[order]) if len(rows) else array
    found = array.copy()
    found[rows] = values[order]
    return found


def renumbered(array: Array, splice: Splice) -> Array:
    """An array whose values number entries of another, after that was spliced; cf. `spliced`."""
    if not splice:
        return array
    # A patched array that already tracks its values' numbering must see every later splice.
    counts = isinstance(array, Patched) and array.form.values is not None
    if splice.keeps_positions and not counts:
        return array
    array = _patchable(array)
    return array.renumbered(splice) if isinstance(array, Patched) else splice.renumbered(array)


def stepped(array: Array, places: NDArray[np.int64], amounts: NDArray[np.int64]) -> Array:
    """An array after adding, for each step, an amount to all entries from a place on.

    Args:
        array: The entries before; returned itself if all sums are 0.
        places: First entry of each step, non-decreasing, at most the array's length.
        amounts: One per place.
    """
    starts, sums = _steps(places, amounts)
    if not sums.any():
        return array
    array = _patchable(array)
    if isinstance(array, Patched):
        return array.stepped(starts, sums)
    found = np.empty_like(array)
    first = int(starts[0])
    found[:first] = array[:first]
    ends = np.append(starts[1:], len(array))
    if len(starts) > MANY_STEPS:
        # Negative amounts by wrap-around.
        np.add(array[first:], np.repeat(sums.astype(np.uint32), ends - starts), out=found[first:])
        return found
    for start, end, amount in zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True):
        np.add(array[start:end], np.uint32(amount % 2**32), out=found[start:end])
    return found


def _steps(
    places: NDArray[np.int64], amounts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct places, and the inclusive prefix sum of the amounts at each."""
    sums = np.cumsum(amounts)
    last = np.flatnonzero(np.append(places[1:] != places[:-1], True)[: len(places)])
    return places[last], sums[last]


def _patchable(array: Array) -> Array:
    """The base of the next change: long arrays are patched, and compacted first if needed."""
    if isinstance(array, Patched):
        return _base(array) if array.needs_compaction else array
    if not is_patched_length(len(array)):
        return array
    return Patched.of(array)


def _base(array: Patched) -> Array:
    return _patchable(array.whole())
