"""When a query is given up: a time of ``time.monotonic``, or None for never."""

from __future__ import annotations

import time

from gpugda.errors import QueryTimeoutError

__all__ = ["check_deadline", "deadline_after", "seconds_left"]


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
