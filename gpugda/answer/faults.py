"""Turns unexpected exceptions into errors that say what to report, and logs each fault once."""

from __future__ import annotations

import logging
import threading
import traceback
from importlib.metadata import version

from gpugda.errors import GpugdaError, InternalError, MemoryLimitError
from gpugda.types import first_line

__all__ = ["as_internal_errors", "log_fault"]

logger = logging.getLogger(__name__)

_logged: set[tuple[str, str]] = set()
_lock = threading.Lock()


class as_internal_errors:  # noqa: N801  # named as in contextlib; a generator takes three times as long
    """A context manager that turns every exception in its block into one of gpugda's own.

    Raises:
        InternalError: Replaces any exception that is not gpugda's.
        MemoryLimitError: Replaces Python's ``MemoryError``.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, GpugdaError):
            return
        if isinstance(error, MemoryError):
            raise MemoryLimitError(
                "this machine has no memory left for the answer: ask for less, or make room"
            ) from error
        raise InternalError(_message(error)) from error


def log_fault(error: InternalError) -> None:
    """Logs a fault with its traceback the first time, and in one line when it repeats."""
    cause = error.__cause__ or error
    key = type(cause).__name__, _place(cause)
    with _lock:
        is_new = key not in _logged
        _logged.add(key)
    if is_new:
        logger.error("%s", error, exc_info=cause)
    else:
        logger.debug("again: %s", error)


def _message(error: Exception) -> str:
    return (
        f"gpugda {version('gpugda')} failed at {_place(error)}: {type(error).__name__}: "
        f"{first_line(error)}. This is a fault of gpugda: report this line, the traceback and the "
        "query."
    )


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "an unknown place"
    path = frames[-1].filename.replace("\\", "/")
    return f"{'/'.join(path.rsplit('/', 3)[1:])}:{frames[-1].lineno}"
