"""The completed share of a join, for callers that watch a long query."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.ports import Progress

__all__ = ["JoinProgress"]

_PARTS = 1000
_QUIET_SECONDS = 1.0


class JoinProgress:
    """Nested windows: each step's window divides the output of the previous step's window.

    Args:
        progress: Receives the share in thousandths, but only if the join takes longer than a
            second.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._windows: list[tuple[float, float]] = []
        self._reported: int | None = None

    def enter(self, step: int, first: int, last: int, total: int) -> None:
        """The step starts on part ``first … last-1`` of ``total`` rows."""
        del self._windows[step:]
        self._windows.append((first / max(total, 1), last / max(total, 1)))

    def leave(self, step: int) -> None:
        """The step's current part is complete, including all later steps."""
        del self._windows[step + 1 :]
        if self._reported is None and time.monotonic() - self._started < _QUIET_SECONDS:
            return
        if self._reported is None:
            self._progress.phase("joining", _PARTS)
            self._reported = 0
        done = int(self._share() * _PARTS)
        if done > self._reported:
            self._progress.advance(done - self._reported)
            self._reported = done

    def _share(self) -> float:
        begin, width = 0.0, 1.0
        for low, high in self._windows[:-1]:
            begin, width = begin + width * low, width * (high - low)
        return begin + width * (self._windows[-1][1] if self._windows else 0.0)
