"""Consecutive runs, given by their lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

__all__ = [
    "TypeFilter",
    "are_consecutive",
    "offsets_of",
    "places_in_runs",
    "positions",
    "repeated",
    "windows_of",
]

_Number = TypeVar("_Number", bound=np.generic)
_Integer = TypeVar("_Integer", bound=np.integer)

_WINDOW: Final = 1 << 14
"""Numbers per window, so that a window stays in the processor's cache."""
_FEW: Final = 1 << 12
"""Runs; `numpy.repeat` has finished before another thread waits for it."""


def are_consecutive(numbers: NDArray[Any]) -> bool:
    """True if the numbers are consecutive, so that a slice can replace them.

    Example:
        >>> are_consecutive(np.array([3, 4, 5])), are_consecutive(np.array([3, 5, 4]))
        (True, False)
    """
    if not len(numbers) or int(numbers[-1]) - int(numbers[0]) != len(numbers) - 1:
        return False
    parts = (numbers[start : start + _WINDOW + 1] for start in range(0, len(numbers) - 1, _WINDOW))
    return all(bool((part[1:] - part[:-1] == 1).all()) for part in parts)


def places_in_runs(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """``0, 1, … length - 1`` for each length: position of each entry within its run.

    Example:
        >>> places_in_runs(np.array([2, 0, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    if len(lengths) == 1:
        return np.arange(lengths[0], dtype=np.int64)
    lengths = lengths.astype(np.int64, copy=False)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: NDArray[np.int64] = np.arange(total, dtype=np.int64)
    places -= repeated(ends - lengths, lengths)
    return places


def positions(starts: NDArray[_Integer], lengths: NDArray[Any]) -> NDArray[_Integer]:
    """The positions of all entries of some runs, in the dtype of the starts.

    Example:
        >>> positions(np.array([7, 3]), np.array([2, 1])).tolist()
        [7, 8, 3]
    """
    before = np.cumsum(lengths, dtype=starts.dtype) - lengths.astype(starts.dtype)
    found = repeated(starts - before, lengths)  # modulo 2^32 if unsigned
    found += np.arange(len(found), dtype=starts.dtype)
    return found


def offsets_of(owners: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Offsets of the owners' entries once these are sorted by owner (prefix sum of counts).

    Example:
        >>> offsets_of(np.array([2, 0, 2]), 4).tolist()
        [0, 1, 1, 3, 3]
    """
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    return offsets


def repeated(values: NDArray[_Number], lengths: NDArray[Any]) -> NDArray[_Number]:
    """Each value as often as its length says; threads can do so concurrently.

    As `numpy.repeat`, which holds the interpreter's lock.

    Example:
        >>> repeated(np.array([7, 8, 9]), np.array([2, 0, 1])).tolist()
        [7, 7, 9]
    """
    if len(lengths) < _FEW:
        return np.repeat(values, lengths)
    if not lengths.all():
        some = np.flatnonzero(lengths)
        values, lengths = values[some], lengths[some]
    ends = np.cumsum(lengths, dtype=np.int64)
    marks = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint32)
    marks[ends[:-1]] = 1
    np.cumsum(marks, out=marks)
    return values.take(marks, mode="clip")


def windows_of(lengths: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Bounds of windows of runs with at most ``most`` entries together; at least one run each.

    Example:
        >>> list(windows_of(np.array([2, 1, 5, 1]), 3))
        [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(lengths)
    start = done = 0
    while start < len(lengths):
        stop = max(int(np.searchsorted(ends, done + most, side="right")), start + 1)
        yield start, stop
        start, done = stop, int(ends[stop - 1])


_COMPARED: Final = 6
"""Up to this many types, comparisons with each are faster than looking types up in a table."""


class TypeFilter:
    """Some of a graph's types.

    Args:
        types: The type ids.
    """

    def __init__(self, types: Collection[int]) -> None:
        self._few = sorted(types) if len(types) <= _COMPARED else None
        # One more than the largest type, which stands for all types beyond.
        self._allowed = np.zeros(max(types, default=0) + 2, dtype=np.bool_)
        self._allowed[list(types)] = True

    def has(self, kinds: NDArray[Any]) -> NDArray[np.bool_]:
        """Per element, whether it is one of the types."""
        if self._few is None:
            return np.take(self._allowed, kinds, mode="clip")
        found = np.zeros(len(kinds), dtype=np.bool_)
        for each in self._few:
            found |= kinds == each
        return found

    def places(self, kinds: NDArray[Any]) -> NDArray[np.intp]:
        """Positions of the elements that are one of the types."""
        if self._few is not None and len(self._few) == 1:
            return np.flatnonzero(kinds == self._few[0])
        return np.flatnonzero(self.has(kinds))
