"""Query deadlines: a time of ``time.monotonic``, or None for no limit.

Functions that wait for the device take the deadline as an argument. Reading and planning consist of
many small functions, which call `check_time`: it uses the deadline of the thread's context, see
`working_until`.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from gpugda.errors import QueryTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "FAR_SECONDS",
    "Cancellation",
    "cancelled_by",
    "check_deadline",
    "check_time",
    "checked",
    "deadline_after",
    "seconds_left",
    "working_deadline",
    "working_until",
]

_T = TypeVar("_T")

FAR_SECONDS = 10 * 365 * 86_400.0
"""The time limit of a query without one that may be cancelled: it checks its deadline."""

_working_until: ContextVar[float | None] = ContextVar("gpugda.deadline", default=None)
_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("gpugda.cancelled", default=None)


def deadline_after(seconds: float | None) -> float | None:
    """The deadline in this many seconds from now; None for no limit."""
    return None if seconds is None else time.monotonic() + seconds


def seconds_left(deadline: float | None) -> float | None:
    """Seconds until the deadline; None without one.

    Raises:
        QueryTimeoutError: The deadline has passed, or the work was cancelled.
    """
    if deadline is None:
        return None
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise QueryTimeoutError("the query was cancelled")
    left = deadline - time.monotonic()
    if left <= 0:
        raise QueryTimeoutError(
            "the query took longer than its time limit: give it more time or ask for less"
        )
    return left


def check_deadline(deadline: float | None) -> None:
    """Raises an error if the deadline has passed; called where work can be interrupted.

    Raises:
        QueryTimeoutError: The deadline has passed.
    """
    seconds_left(deadline)


class working_until:  # noqa: N801  # named like contextlib's; a generator takes three times as long
    """Context manager that sets the deadline of this thread's work."""

    __slots__ = ("_deadline", "_token")

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        self._token = _working_until.set(self._deadline)

    def __exit__(self, *error: object) -> None:
        _working_until.reset(self._token)


@contextmanager
def cancelled_by(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Also ends this thread's work, at the next check of a deadline, once the function is true.

    Work without a deadline makes no checks: give it a distant one (`FAR_SECONDS`).
    """
    outer = _is_cancelled.get()
    either = is_cancelled if outer is None else lambda: is_cancelled() or outer()
    token = _is_cancelled.set(either)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


class Cancellation:
    """Ends the work of another thread. Thread-safe.

    Work that checks its deadline ends at the next check, see `cancelled_by`; work that waits for
    something else names a function that ends the wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._ends: list[Callable[[], object]] = []

    @property
    def cancelled(self) -> bool:
        """True once the work was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends the work; harmless if it has ended."""
        with self._lock:
            self._cancelled, ends = True, self._ends
            self._ends = []
            for end in ends:
                end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """A block that waits, and that ``end``, called in another thread, makes raise an error."""
        with self._lock:
            if self._cancelled:
                end()
            else:
                self._ends.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._ends = [each for each in self._ends if each is not end]


def working_deadline() -> float | None:
    """The deadline of this thread's work; None if there is none."""
    return _working_until.get()


def checked(values: Iterable[_T]) -> Iterator[_T]:
    """The values; the deadline is checked before every 1024th (see `check_time`)."""
    for number, value in enumerate(values):
        if not number & 1023:
            check_time()
        yield value


def check_time() -> None:
    """Checks the deadline in loops over the parts of a query; costs 0.1 to 0.2 microseconds.

    Raises:
        QueryTimeoutError: The deadline of this thread's work has passed.
    """
    deadline = _working_until.get()
    if deadline is not None:
        seconds_left(deadline)
