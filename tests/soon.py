"""Time limits for tests that hold on a busy machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GENEROUS_SECONDS = 60.0
"""Far above the duration of any test on a busy machine, far below an endless wait."""


@contextmanager
def ends_in(seconds: float = GENEROUS_SECONDS) -> Iterator[None]:
    """Fails if the block takes longer."""
    started = time.monotonic()
    yield
    taken = time.monotonic() - started
    assert taken < seconds, f"it took {taken:.1f} s"


def soon(is_so: Callable[[], bool], seconds: float = GENEROUS_SECONDS) -> bool:
    """True if a condition becomes true in time: another thread may delay it."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Stopwatch:
    """Seconds since creation, as if this process had the machine to itself.

    The smaller of elapsed seconds and the processor seconds per core: only elapsed seconds include
    the work of other programs. On a device that is no CPU, only elapsed seconds count, as it works
    without a core.

    after: Seconds after creation at which it starts.
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
