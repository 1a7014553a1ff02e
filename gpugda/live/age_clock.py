"""A clock for the age of a snapshot: it goes on while the machine sleeps."""

from __future__ import annotations

import time
from typing import Final

__all__ = ["age_clock"]

# ``time.monotonic`` stands still in sleep on Linux and macOS, and others may write meanwhile.
# CLOCK_MONOTONIC itself goes on there on macOS, which has no CLOCK_BOOTTIME.
_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def age_clock() -> float:
    """Seconds since some moment, unaffected by changes of the date and time."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
