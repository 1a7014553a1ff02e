"""Measured times of query texts, on the device and in the database."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field

__all__ = ["History", "Observed"]

_TIMES_KEPT = 5
"""Number of recent times kept per text: older ones belong to another graph or machine load."""

_MAX_TEXTS = 10_000


@dataclass(frozen=True, slots=True)
class Observed:
    """Measured seconds of a query text; None for an engine that has not run it.

    Args:
        device: Seconds on the device, without its first run.
        device_first: Seconds of its first run, which compiles and loads what later runs keep.
        native: Seconds of the database with a cached plan.
        native_first: Seconds of the database when it had to plan.
        planned: True if the database has answered the text before and may have cached its plan.
        device_runs: Number of runs on the device.
        native_runs: Number of runs of the database with a cached plan.
        given_up: Seconds after which the last run on the device was given up; None if it was not.
        native_given_up: The same for the last run of the database.
    """

    device: float | None = None
    device_first: float | None = None
    native: float | None = None
    native_first: float | None = None
    planned: bool = False
    device_runs: int = 0
    native_runs: int = 0
    given_up: float | None = None
    native_given_up: float | None = None


class History:
    """Measured times per query text. Thread-safe.

    Args:
        texts: Maximum number of texts; the least recently used one is dropped.
    """

    def __init__(self, texts: int = _MAX_TEXTS) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    def observed(self, text: str) -> Observed:
        """The measured times of a text."""
        with self._lock:
            found = self._seen.get(text)
            if found is None:
                return Observed()
            self._seen.move_to_end(text)
            return Observed(
                device=_typical(found.device),
                device_first=found.device_first,
                native=_typical(found.native),
                native_first=found.native_first,
                planned=found.planned,
                device_runs=found.device_runs,
                native_runs=found.native_runs,
                given_up=found.given_up,
                native_given_up=found.native_given_up,
            )

    def add_device(self, text: str, seconds: float) -> None:
        """Adds a run on the device, without what it did once for all queries."""
        with self._lock:
            seen = self._entry(text)
            seen.device_runs += 1
            seen.given_up = None
            if seen.device_first is None:
                seen.device_first = seconds
                return
            seen.device.append(seconds)

    def add_given_up(self, text: str, seconds: float) -> None:
        """Adds a run that the device had not finished after these seconds."""
        with self._lock:
            self._entry(text).given_up = seconds

    def add_native_given_up(self, text: str, seconds: float) -> None:
        """Adds a run that the database had not finished after these seconds."""
        with self._lock:
            self._entry(text).native_given_up = seconds

    def add_native(self, text: str, seconds: float | None) -> None:
        """Adds a run of the database, None for an unknown time; the first run includes planning."""
        with self._lock:
            seen = self._entry(text)
            if seconds is not None:
                seen.native_given_up = None
            if not seen.planned:
                seen.planned, seen.native_first = True, seconds
                return
            seen.native_runs += 1
            if seconds is not None:
                seen.native.append(seconds)

    def _entry(self, text: str) -> _Seen:
        seen = self._seen.setdefault(text, _Seen())
        self._seen.move_to_end(text)
        while len(self._seen) > self._texts:
            self._seen.popitem(last=False)
        return seen


@dataclass(slots=True)
class _Seen:
    device: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMES_KEPT))
    device_first: float | None = None
    native: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMES_KEPT))
    native_first: float | None = None
    planned: bool = False
    device_runs: int = 0
    native_runs: int = 0
    given_up: float | None = None
    native_given_up: float | None = None


def _typical(times: deque[float]) -> float | None:
    """The lower median: other programs only ever add to a time."""
    return sorted(times)[(len(times) - 1) // 2] if times else None
