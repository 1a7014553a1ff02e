"""Runs that lie one after the other, given by their lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["places_in_runs"]


def places_in_runs(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """``0, 1, … length - 1`` for each length: the place of each entry within its run.

    Example:
        >>> places_in_runs(np.array([2, 0, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    lengths = lengths.astype(np.int64, copy=False)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: NDArray[np.int64] = np.arange(total, dtype=np.int64)
    places -= np.repeat(ends - lengths, lengths)
    return places
