"""Query deadlines: a time of ``time.monotonic``, or None for no limit.

Functions that wait for the device take the deadline as an argument. Reading and planning consist of
many small functions, which call `check_time`: it uses the deadline of the thread's context, see
`working_until`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from gpugda.errors import QueryTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
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

    Work without a deadline makes no checks: give it a distant one.
    """
    token = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


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
