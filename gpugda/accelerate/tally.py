"""Counts accelerated queries, and the reasons why others were not accelerated."""

from __future__ import annotations

import re
import threading
from collections import Counter

__all__ = ["Tally"]

_NUMBERS = re.compile(r"\d[\d.,]*")
_MAX_REASONS = 50
_SHOWN_REASONS = 3


class Tally:
    """Counts queries; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accelerated = 0
        self._reasons: Counter[str] = Counter()

    @property
    def accelerated(self) -> int:
        """Number of queries that the device answered."""
        return self._accelerated

    @property
    def passed_through(self) -> dict[str, int]:
        """Number of the other queries per reason, the most frequent first."""
        with self._lock:
            return dict(self._reasons.most_common())

    def count_accelerated(self) -> None:
        """Counts one query that the device answered."""
        with self._lock:
            self._accelerated += 1

    def count_passed(self, reason: str) -> None:
        """Counts one query that went to the database."""
        general = _NUMBERS.sub("…", reason)
        with self._lock:
            if general not in self._reasons and len(self._reasons) >= _MAX_REASONS:
                general = "other reasons"
            self._reasons[general] += 1

    def __str__(self) -> str:
        reasons = self.passed_through
        text = f"{self.accelerated:,} accelerated, {sum(reasons.values()):,} passed through"
        shown = [f"{count:,}: {reason}" for reason, count in reasons.items()][:_SHOWN_REASONS]
        more = ["…"] if len(reasons) > _SHOWN_REASONS else []
        return f"{text} ({'; '.join(shown + more)})" if shown else text
