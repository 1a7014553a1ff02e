"""When a query is given up: a time of ``time.monotonic``, or None for never.

Who waits for the device is handed the deadline. Reading and planning are many small functions: what
they call, `check_time`, goes by the deadline that the thread works under, see `working_until`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from gpugda.errors import QueryTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "check_deadline",
    "check_time",
    "deadline_after",
    "seconds_left",
    "working_deadline",
    "working_until",
]

_working_until: ContextVar[float | None] = ContextVar("gpugda.deadline", default=None)


def deadline_after(seconds: float | None) -> float | None:
    """The deadline so many seconds from now."""
    return None if seconds is None else time.monotonic() + seconds


def seconds_left(deadline: float | None) -> float | None:
    """Until the deadline, None without one.

    Raises:
        QueryTimeoutError: It has passed.
    """
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise QueryTimeoutError(
            "the query took longer than its time limit: give it more time or ask for less"
        )
    return left


def check_deadline(deadline: float | None) -> None:
    """Called where work can be left.

    Raises:
        QueryTimeoutError: The deadline has passed.
    """
    seconds_left(deadline)


@contextmanager
def working_until(deadline: float | None) -> Iterator[None]:
    """The deadline of what this thread does within."""
    token = _working_until.set(deadline)
    try:
        yield
    finally:
        _working_until.reset(token)


def working_deadline() -> float | None:
    """The deadline of this thread's work; None if it has none."""
    return _working_until.get()


def check_time() -> None:
    """Called in loops over what a query consists of; costs a tenth of a microsecond or two.

    Raises:
        QueryTimeoutError: The deadline of this thread's work has passed.
    """
    deadline = _working_until.get()
    if deadline is not None:
        seconds_left(deadline)
