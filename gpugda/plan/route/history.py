"""Measured times of query texts, on the device and in the database, beside their estimates."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

__all__ = ["Expected", "History", "Observed", "Pace"]

_TIMES_KEPT = 5
"""Number of recent times kept per text: older ones belong to another graph or machine load."""

_MAX_TEXTS = 10_000


_RATIOS_KEPT: Final = 15
"""Number of recent texts whose times correct the estimates of others."""

_RECENT_TEXTS: Final = 16
_RECURRING_SHARE: Final = 0.25
"""Texts are said to recur if this share of so many recent ones was asked again."""

_RATIOS_AT_FIRST: Final = (1.0, 1.0)
"""So that one or two texts are no rule."""

_MAX_RATIO: Final = 100.0


@dataclass(frozen=True, slots=True)
class Expected:
    """Estimated seconds of a query text, at the rates of device and server.

    Args:
        device: Seconds on the device.
        first: Seconds that its first run takes besides.
        native: Seconds of the database with a cached plan.
        planning: Seconds that it needs to plan.
    """

    device: float
    first: float
    native: float
    planning: float


@dataclass(frozen=True, slots=True)
class Pace:
    """How many times as long as estimated recent texts took: machines differ, and are busy.

    Args: as of `Expected`, but ``first`` is of whole first runs on the device.
    """

    device: float = 1.0
    first: float = 1.0
    native: float = 1.0
    planning: float = 1.0


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
        pace: What other texts took, relative to their estimates.
        recurs: False if hardly any recent text was asked again.
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
    pace: Pace = field(default_factory=Pace)
    recurs: bool = True


class History:
    """Measured times per query text. Thread-safe.

    Args:
        texts: Maximum number of texts; the least recently used one is dropped.
    """

    def __init__(self, texts: int = _MAX_TEXTS) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._ratios = {name: deque(_RATIOS_AT_FIRST, _RATIOS_KEPT) for name in Pace.__slots__}

    def expect(self, text: str, expected: Expected) -> None:
        """Keeps the estimates of a text that is about to run, to compare its times with them."""
        with self._lock:
            seen = self._entry(text)
            seen.expected = expected
            seen.asked += 1

    def observed(self, text: str) -> Observed:
        """The measured times of a text."""
        with self._lock:
            found, pace, recurs = self._seen.get(text), self._pace(), self._recurs()
            if found is None:
                return Observed(pace=pace, recurs=recurs)
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
                pace=pace,
                recurs=recurs,
            )

    def add_device(self, text: str, seconds: float) -> None:
        """Adds a run on the device, without what it did once for all queries."""
        with self._lock:
            seen = self._entry(text)
            seen.device_runs += 1
            seen.given_up = None
            expected = seen.expected
            if seen.device_first is None:
                seen.device_first = seconds
                if expected is not None:
                    self._compare("first", seconds, expected.device + expected.first)
                return
            if expected is not None and not seen.device:
                self._compare("device", seconds, expected.device)
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
                if seen.expected is not None and seconds is not None:
                    self._compare_first(seconds, seen.expected)
                return
            seen.native_runs += 1
            if seconds is not None:
                if seen.expected is not None and not seen.native:
                    self._compare("native", seconds, seen.expected.native)
                seen.native.append(seconds)

    def _compare_first(self, seconds: float, expected: Expected) -> None:
        """A first run of the database tells about the larger part of what was expected."""
        pace = self._pace()
        native, planning = pace.native * expected.native, pace.planning * expected.planning
        if planning > native:
            self._compare("planning", seconds - native, expected.planning)
        else:
            self._compare("native", seconds - planning, expected.native)

    def _compare(self, name: str, seconds: float, expected: float) -> None:
        """Adds the ratio of one text; each text adds one, however often it runs."""
        if expected > 0:
            self._ratios[name].append(min(max(seconds / expected, 1 / _MAX_RATIO), _MAX_RATIO))

    def _pace(self) -> Pace:
        return Pace(**{name: _typical(ratios) or 1.0 for name, ratios in self._ratios.items()})

    def _recurs(self) -> bool:
        recent = [seen.asked > 1 for seen in islice(reversed(self._seen.values()), _RECENT_TEXTS)]
        return len(recent) < _RECENT_TEXTS or sum(recent) >= _RECURRING_SHARE * _RECENT_TEXTS

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
    expected: Expected | None = None
    asked: int = 0


def _typical(times: deque[float]) -> float | None:
    """The lower median: other programs only ever add to a time."""
    return sorted(times)[(len(times) - 1) // 2] if times else None
