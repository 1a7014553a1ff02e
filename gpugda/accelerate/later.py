"""A value that is made in a thread while its users work without it."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Later", "NeverError"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_SECONDS = 30.0
_CLOSE_SECONDS = 5.0


class NeverError(Exception):
    """Raised if the value can never be made; the text says why."""


class Later(Generic[T]):
    """Makes a value once, in a thread; retries some time after a failure.

    Args:
        make: Makes the value.
        discard: Takes a value that is no longer needed.
        name: Name of the thread.
        waiting: The reason to give while the value is being made.
    """

    def __init__(
        self, make: Callable[[], T], discard: Callable[[T], object], name: str, waiting: str
    ) -> None:
        self._make = make
        self._discard = discard
        self._name = name
        self.reason = self._waiting = waiting
        self._lock = threading.Lock()
        self._value: T | None = None
        self._thread: threading.Thread | None = None
        self._retry_at = 0.0
        self._closed = False

    def get(self) -> T | None:
        """Returns the value, or None and a ``reason``; starts to make it if that is due."""
        value = self._value
        if value is not None:
            return value
        with self._lock:
            if not self._closed and self._thread is None and time.monotonic() >= self._retry_at:
                self.reason = self._waiting
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return self._value

    def wait(self, seconds: float | None = None) -> T | None:
        """Waits for the value and returns it; None if it could not be made in that time."""
        self.get()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self._value

    def close(self) -> None:
        """Discards the value, or, if it is still being made, discards it when it is ready."""
        with self._lock:
            self._closed = True
            value, self._value = self._value, None
            thread = self._thread
            self.reason = "the driver is closed"
        if value is not None:
            self._discard(value)
        elif thread is not None:
            # The thread ends by itself: do not wait for a connection that cannot be made.
            thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            value = self._make()
        except NeverError as error:
            self._failed(str(error), float("inf"))
        except Exception as error:
            logger.warning("nothing is accelerated for now: %s", error)
            lines = str(error).splitlines() or [type(error).__name__]
            self._failed(lines[0], time.monotonic() + _RETRY_SECONDS)
        else:
            self._made(value)

    def _failed(self, reason: str, retry_at: float) -> None:
        with self._lock:
            self.reason, self._retry_at, self._thread = reason, retry_at, None

    def _made(self, value: T) -> None:
        with self._lock:
            self._thread = None
            wanted = not self._closed
            if wanted:
                self._value = value
        if not wanted:
            self._discard(value)
