"""What ends, and how soon: without judging how busy the machine is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GENEROUS_SECONDS = 60.0
"""Far above what anything here takes on a busy machine, far below for ever."""


@contextmanager
def ends_in(seconds: float = GENEROUS_SECONDS) -> Iterator[None]:
    """Fails where what is done within takes longer."""
    started = time.monotonic()
    yield
    taken = time.monotonic() - started
    assert taken < seconds, f"it took {taken:.1f} s"


def soon(is_so: Callable[[], bool], seconds: float = GENEROUS_SECONDS) -> bool:
    """Whether something comes true: what another thread is at may keep it from being so at once."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Stopwatch:
    """Seconds since it was made, as if this process had the machine for itself.

    Seconds that passed, or those that each core worked for this process where these are fewer: what
    other programs did meanwhile is in the former alone. Where a device is no CPU, only the former
    count, as it works without a core.

    after: It starts so many seconds after it was made.
    """

    def __init__(self, *, on_cpu: bool, after: float = 0.0) -> None:
        self._on_cpu = on_cpu
        self._begun: tuple[float, float] | None = None
        self._timer = threading.Timer(after, self._begin)
        if after:
            self._timer.start()
        else:
            self._begin()

    def _begin(self) -> None:
        self._begun = (time.perf_counter(), time.process_time())

    def stop(self) -> float:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._begun is None:
            return 0.0
        passed = time.perf_counter() - self._begun[0]
        worked = (time.process_time() - self._begun[1]) / (os.cpu_count() or 1)
        return min(passed, worked) if self._on_cpu else passed
