"""How long query texts took before, on the device and in the database."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field

__all__ = ["History", "Observed"]

_NEWEST = 5
"""Times of a text that count: old ones were measured on another graph, or a busier machine."""

_TEXTS = 10_000


@dataclass(frozen=True, slots=True)
class Observed:
    """Seconds that a text took before; None where it has not run there.

    Args:
        device: On the device, everything included.
        native: By the database, its plan being known.
        native_first: By the database when it had to plan.
        planned: Whether the database has answered it before, and so may have kept its plan.
        device_runs: How often the device has answered it.
        native_runs: How often the database has, its plan being known.
    """

    device: float | None = None
    native: float | None = None
    native_first: float | None = None
    planned: bool = False
    device_runs: int = 0
    native_runs: int = 0


class History:
    """Times per query text. Usable from several threads.

    Args:
        texts: So many are remembered, those that came last.
    """

    def __init__(self, texts: int = _TEXTS) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    def observed(self, text: str) -> Observed:
        """What is known of a text."""
        with self._lock:
            found = self._seen.get(text)
            if found is None:
                return Observed()
            self._seen.move_to_end(text)
            return Observed(
                device=_typical(found.device),
                native=_typical(found.native),
                native_first=found.native_first,
                planned=found.planned,
                device_runs=found.device_runs,
                native_runs=found.native_runs,
            )

    def add_device(self, text: str, seconds: float) -> None:
        """The device took so long."""
        with self._lock:
            seen = self._of(text)
            seen.device.append(seconds)
            seen.device_runs += 1

    def add_native(self, text: str, seconds: float | None) -> None:
        """The database took so long, None if nobody knows: the first time it had to plan it."""
        with self._lock:
            seen = self._of(text)
            if not seen.planned:
                seen.planned, seen.native_first = True, seconds
                return
            seen.native_runs += 1
            if seconds is not None:
                seen.native.append(seconds)

    def _of(self, text: str) -> _Seen:
        seen = self._seen.setdefault(text, _Seen())
        self._seen.move_to_end(text)
        while len(self._seen) > self._texts:
            self._seen.popitem(last=False)
        return seen


@dataclass(slots=True)
class _Seen:
    device: deque[float] = field(default_factory=lambda: deque(maxlen=_NEWEST))
    native: deque[float] = field(default_factory=lambda: deque(maxlen=_NEWEST))
    native_first: float | None = None
    planned: bool = False
    device_runs: int = 0
    native_runs: int = 0


def _typical(times: deque[float]) -> float | None:
    """The median, the lower one of two: the first time of all is that of a cold start."""
    return sorted(times)[(len(times) - 1) // 2] if times else None
