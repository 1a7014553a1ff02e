"""What a command says on standard error, and how it ends: log, errors, signals."""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from gpugda.errors import (
    ConfigurationError,
    DeviceError,
    GpugdaError,
    QueryError,
    QueryTimeoutError,
    SourceError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


__all__ = [
    "EXIT_CODES",
    "exit_code_of",
    "guarded",
    "log_to_standard_error",
    "report",
    "say",
    "terminated_as_by_hand",
]

EXIT_CODES: tuple[tuple[type[GpugdaError], int], ...] = (
    (QueryError, 1),
    (ConfigurationError, 2),
    (SourceError, 3),
    (DeviceError, 4),
    (QueryTimeoutError, 5),
)
"""The first matching class determines the code; other errors have code 1."""

_CANNOT_WRITE = 2
_CANNOT_READ = 3
_NO_MEMORY = 4
_CANCELLED = 130  # exit code that shells expect after Ctrl-C


def exit_code_of(error: GpugdaError) -> int:
    """The exit code for the kind of error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def say(text: str) -> None:
    """Writes a line to standard error."""
    sys.stderr.write(f"{text}\n")


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command so that it ends with a message and an exit code, not a traceback."""

    @functools.wraps(command)
    def run(*arguments: Any, **keywords: Any) -> None:
        try:
            command(*arguments, **keywords)
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            code = report(error)
            if code is None:
                raise
            if code:
                raise typer.Exit(code) from None

    return run


def report(error: BaseException) -> int | None:
    """Prints the error and returns its exit code; prints nothing and returns None if unknown.

    Errors of Neo4j and its driver pass through gpugda unchanged. They are recognised by the name of
    their module, because the command line does not import the driver.
    """
    if isinstance(error, GpugdaError):
        _show(error, str(error))
        return exit_code_of(error)
    if isinstance(error, KeyboardInterrupt):
        say("cancelled")
        return _CANCELLED
    if isinstance(error, BrokenPipeError):
        _forget_output()
        return 0
    if isinstance(error, MemoryError):
        say("gpugda: there is not enough memory for this")
        return _NO_MEMORY
    if isinstance(error, OSError):
        return _show_system_error(error)
    if type(error).__module__.startswith("neo4j."):
        code = str(getattr(error, "code", None) or type(error).__name__)
        _show(error, f"{getattr(error, 'message', None) or error} ({code})")
        return 1 if code.startswith("Neo.ClientError.Statement.") else exit_code_of(SourceError())
    return None


def _show(error: BaseException, text: str) -> None:
    if logging.getLogger("gpugda").isEnabledFor(logging.DEBUG):
        import traceback

        traceback.print_exception(error)
        return
    say(f"gpugda: {text}")


def _show_system_error(error: OSError) -> int:
    if error.filename is not None or error.errno is None:
        say(f"gpugda: {error}")
        return _CANNOT_READ
    # Only errors of open files lack a name, and standard output is the only file that is written
    # without a handler of its own: its disk may be full.
    _forget_output()
    say(f"gpugda: standard output cannot be written: {error.strerror}")
    return _CANNOT_WRITE


def _forget_output() -> None:
    # The reader of the output has exited, as `head` does, or the output cannot be written.
    # Without this, Python reports an error when it flushes at exit.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


def log_to_standard_error(verbose: int) -> None:
    """Sends the library's log to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logger = logging.getLogger("gpugda")
    logger.setLevel(level)
    # Always shown: the reason why the very first query waits.
    logging.getLogger("gpugda.device").setLevel(min(level, logging.INFO))
    if not logger.handlers:
        logger.addHandler(_StandardError())


class _StandardError(logging.Handler):
    """Writes to the current ``sys.stderr``, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {self.format(record)}")


@contextmanager
def terminated_as_by_hand() -> Iterator[None]:
    """Raises KeyboardInterrupt in the block at SIGTERM; then restores the earlier handler.

    Does nothing outside the main thread, which alone may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
