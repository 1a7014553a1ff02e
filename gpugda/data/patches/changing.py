"""Changing an array: a short one is copied, a long one patched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.patched import Patched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array
    from gpugda.data.patches.splice import Splice

__all__ = ["renumbered", "spliced", "stepped"]

PATCHED_FROM = 1 << 17
"""Entries of an array that is not copied as a whole at each change."""
MANY_STEPS = 32
"""With more, the amounts of all entries are written down: that takes less than a call a step."""


def spliced(array: Array, splice: Splice, added: Any) -> Array:
    """An array without entries that went, with others; itself where nothing changes.

    Args:
        array: Of the entries before.
        splice: Which go, and where others come in.
        added: The new entries, or one value for all of them.
    """
    if not splice:
        return array
    array = _patchable(array)
    return (
        array.spliced(splice, added) if isinstance(array, Patched) else splice.applied(array, added)
    )


def renumbered(array: Array, splice: Splice) -> Array:
    """Where entries of another array are afterwards whose numbers these are; as `spliced`."""
    if not splice:
        return array
    # One that counts where numbers went has to know of all that come, wherever that is.
    counts = isinstance(array, Patched) and array.form.values is not None
    if splice.moves_none and not counts:
        return array
    array = _patchable(array)
    return array.renumbered(splice) if isinstance(array, Patched) else splice.renumbered(array)


def stepped(array: Array, places: NDArray[np.int64], amounts: NDArray[np.int64]) -> Array:
    """An array to which an amount was added at a place and all after it, for each place.

    Args:
        array: As before; it is given back where nothing is added.
        places: Never falling, at most the array's length.
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
        # Below 0 by going around.
        np.add(array[first:], np.repeat(sums.astype(np.uint32), ends - starts), out=found[first:])
        return found
    for start, end, amount in zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True):
        np.add(array[start:end], np.uint32(amount % 2**32), out=found[start:end])
    return found


def _steps(
    places: NDArray[np.int64], amounts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each place once, and all that was added up to it."""
    sums = np.cumsum(amounts)
    last = np.flatnonzero(np.append(places[1:] != places[:-1], True)[: len(places)])
    return places[last], sums[last]


def _patchable(array: Array) -> Array:
    """What the next change is made of: long arrays are patched, worn ones made whole before."""
    if isinstance(array, Patched):
        return _base(array) if array.is_worn_out else array
    if len(array) < PATCHED_FROM:
        return array
    return Patched.of(array)


def _base(array: Patched) -> Array:
    return _patchable(array.whole())
