"""How much of a join is done, for who watches a long query."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.ports import Progress

__all__ = ["JoinProgress"]

_PARTS = 1000
_QUIET_SECONDS = 1.0


class JoinProgress:
    """Windows within windows: a step's is a part of what comes of a window of the step before.

    Args:
        progress: Told in thousandths, and only of a join that takes longer than a second.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._windows: list[tuple[float, float]] = []
        self._told: int | None = None

    def enter(self, step: int, first: int, last: int, total: int) -> None:
        """The step goes on to the part first … last-1 of ``total``."""
        del self._windows[step:]
        self._windows.append((first / max(total, 1), last / max(total, 1)))

    def leave(self, step: int) -> None:
        """All that comes of the part is done."""
        del self._windows[step + 1 :]
        if self._told is None and time.monotonic() - self._started < _QUIET_SECONDS:
            return
        if self._told is None:
            self._progress.phase("joining", _PARTS)
            self._told = 0
        done = int(self._share() * _PARTS)
        if done > self._told:
            self._progress.advance(done - self._told)
            self._told = done

    def _share(self) -> float:
        begin, width = 0.0, 1.0
        for low, high in self._windows[:-1]:
            begin, width = begin + width * low, width * (high - low)
        return begin + width * (self._windows[-1][1] if self._windows else 0.0)
