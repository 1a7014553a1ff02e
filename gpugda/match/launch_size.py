"""How much a launch, or a window, gets to do: from what is wanted, and what others took."""

from __future__ import annotations

__all__ = ["LaunchSize", "first_window"]

_FEWEST_ROWS = 1 << 10
_ROWS_FOR_ONE = 4
"""Rows of a first window for each row that suffices: conditions leave some out."""


def first_window(enough: int, usual: int) -> int:
    """Rows of the first window where about ``enough`` suffice; no more than usual."""
    return min(max(_FEWEST_ROWS, _ROWS_FOR_ONE * enough), usual)


class LaunchSize:
    """Grows while launches are quick, shrinks when one was slow.

    Args:
        first: Of the first launch.
        most: Of any.
        seconds: What a launch shall take at most.
    """

    def __init__(self, first: int, most: int, seconds: float) -> None:
        self._size = min(first, most)
        self._most = most
        self._seconds = seconds

    @property
    def size(self) -> int:
        """Of the next launch, at most."""
        return self._size

    def took(self, size: int, seconds: float) -> None:
        """A launch of this size has ended."""
        if seconds > self._seconds:
            self._size = max(1, min(self._size, int(size * self._seconds / seconds)))
        elif size >= self._size and seconds < self._seconds / 4:
            self._size = min(2 * self._size, self._most)
