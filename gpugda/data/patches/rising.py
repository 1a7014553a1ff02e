"""Few numbers, sorted: NumPy's own functions for sets take several times as long for these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["counted", "is_among", "rising"]


def rising(*values: NDArray[np.int64]) -> NDArray[np.int64]:
    """All of them, each once; quick where they come in rising runs."""
    found = values[0] if len(values) == 1 else np.concatenate(values)
    found = np.sort(found, kind="stable")
    return found[_differs(found)]


def counted(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """As `rising`, and how often each comes."""
    found = np.sort(values, kind="stable")
    firsts = _differs(found).nonzero()[0]
    counts = np.empty(len(firsts), dtype=np.int64)
    counts[:-1] = firsts[1:] - firsts[:-1]
    counts[-1:] = len(found) - firsts[-1:]
    return found[firsts], counts


def is_among(values: NDArray[Any], rising: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each is one of those, which never fall."""
    if not len(rising):
        return np.zeros(len(values), dtype=np.bool_)
    places = rising.searchsorted(values)
    places[places == len(rising)] = 0
    found: NDArray[np.bool_] = rising[places] == values
    return found


def _differs(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    found = np.empty(len(values), dtype=np.bool_)
    found[:1] = True
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found
