"""A background thread that runs one task at a time and is stopped when its owner closes."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from gpugda.errors import StaleSnapshotError
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.ports import Progress

__all__ = ["BackgroundWork", "StoppableProgress", "Stopped"]

logger = logging.getLogger(__name__)


class Stopped(Exception):  # noqa: N818 - not an error: the owner was closed
    """Raised inside a background task to cancel it."""


class StoppableProgress:
    """A progress that cancels the task that reports to it, once it is told to stop.

    Args:
        inner: Receives the reports.
    """

    def __init__(self, inner: Progress) -> None:
        self._inner = inner
        self._stop = threading.Event()

    def stop(self) -> None:
        """Makes the next report raise `Stopped`."""
        self._stop.set()

    def phase(self, name: str, total: int | None = None) -> None:
        """See `Progress`."""
        self._check()
        self._inner.phase(name, total)

    def advance(self, amount: int) -> None:
        """See `Progress`."""
        self._check()
        self._inner.advance(amount)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped


class BackgroundWork:
    """Runs tasks in a thread, one at a time; errors are logged and remembered.

    Args:
        name: Name of the thread.

    Attributes:
        last_error: Error of the last task, None if it succeeded.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._next: Callable[[], object] | None = None
        self.last_error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """True while a task is running."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def is_current(self) -> bool:
        """True if the calling thread is the background thread."""
        return threading.current_thread() is self._thread

    def start(self, work: Callable[[], object]) -> bool:
        """Starts the task unless another one is running; returns True if it was started."""
        with self._lock:
            if self._closed or self.busy:
                return False
            self._thread = threading.Thread(
                target=self._run, args=(work,), name=self._name, daemon=True
            )
            self._thread.start()
        return True

    def start_soon(self, work: Callable[[], object]) -> None:
        """Starts the task now, or after the running one; of several waiting, the newest wins."""
        with self._lock:
            if self.busy:
                self._next = work
                return
        self.start(work)

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the running task; returns True if it has ended."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)
        return not self.busy

    def close(self, seconds: float = 30.0) -> None:
        """Accepts no more tasks and waits for the running one, which its owner told to stop."""
        with self._lock:
            self._closed = True
        if not self.wait(seconds):
            logger.warning("%s did not end within %g s", self._name, seconds)

    def _run(self, work: Callable[[], object]) -> None:
        following: Callable[[], object] | None = work
        while following is not None:
            self._do(following)
            with self._lock:
                following, self._next = self._next, None

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
            self.last_error = None
        except Stopped:
            self.last_error = None
        except StaleSnapshotError as error:
            # Frequent under writes, and no fault: the next query reports it and runs on Neo4j.
            self.last_error = error
            logger.info("%s: %s", self._name, first_line(error))
        except Exception as error:
            # No caller waits for the task: the next query reports that there is no fresh snapshot.
            logger.warning("%s: %s", self._name, error)
            # Without the traceback, which would keep the task's data alive.
            self.last_error = error.with_traceback(None)
