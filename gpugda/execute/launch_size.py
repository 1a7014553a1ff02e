"""How much a launch gets to do, from what the ones before took."""

from __future__ import annotations

__all__ = ["LaunchSize"]


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
