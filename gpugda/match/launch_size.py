"""The size of launches and windows, from the rows needed and the time of earlier launches."""

from __future__ import annotations

__all__ = ["LaunchSize", "first_window"]

_MIN_ROWS = 1 << 10
_ROWS_FOR_ONE = 4
"""Rows of a first window per row that suffices, because predicates remove some."""


def first_window(enough: int, usual: int) -> int:
    """Rows of the first window if about ``enough`` rows suffice; at most ``usual``."""
    return min(max(_MIN_ROWS, _ROWS_FOR_ONE * enough), usual)


class LaunchSize:
    """A launch size that grows while launches are quick and shrinks after a slow one.

    Args:
        first: Size of the first launch.
        most: Maximum size.
        seconds: Target: the longest time that a launch should take.
    """

    def __init__(self, first: int, most: int, seconds: float) -> None:
        self._size = min(first, most)
        self._most = most
        self._seconds = seconds

    @property
    def size(self) -> int:
        """Maximum size of the next launch."""
        return self._size

    def record(self, size: int, seconds: float) -> None:
        """Records the time of a launch of this size."""
        if seconds > self._seconds:
            self._size = max(1, min(self._size, int(size * self._seconds / seconds)))
        elif size >= self._size and seconds < self._seconds / 4:
            self._size = min(2 * self._size, self._most)
