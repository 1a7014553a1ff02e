"""When a query is given up: a time of ``time.monotonic``, or None for never.

Who waits for the device is handed the deadline. Reading and planning are many small functions: what
they call, `check_time`, goes by the deadline that the thread works under, see `working_until`.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

from gpugda.errors import QueryTimeoutError

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


class working_until:  # noqa: N801  # as contextlib names them; a generator takes thrice the time
    """The deadline of what this thread does within."""

    __slots__ = ("_deadline", "_token")

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        self._token = _working_until.set(self._deadline)

    def __exit__(self, *error: object) -> None:
        _working_until.reset(self._token)


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
