"""From errors to one clear message and an exit code."""

from __future__ import annotations

import functools
import logging
import os
import sys
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
    from collections.abc import Callable

__all__ = ["EXIT_CODES", "exit_code_of", "guarded", "say"]

EXIT_CODES: tuple[tuple[type[GpugdaError], int], ...] = (
    (QueryError, 1),
    (ConfigurationError, 2),
    (SourceError, 3),
    (DeviceError, 4),
    (QueryTimeoutError, 5),
)
"""The first class that fits gives the code; any other error is 1."""

_CANNOT_WRITE = 2
_CANNOT_READ = 3
_NO_MEMORY = 4
_CANCELLED = 130  # what shells expect after Ctrl-C


def exit_code_of(error: GpugdaError) -> int:
    """The exit code that tells scripts what kind of error it was."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def say(text: str) -> None:
    """Writes a line to standard error."""
    sys.stderr.write(f"{text}\n")


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command that ends with a message and an exit code instead of a traceback."""

    @functools.wraps(command)
    def run(*arguments: Any, **keywords: Any) -> None:
        try:
            command(*arguments, **keywords)
            sys.stdout.flush()
        except GpugdaError as error:
            _show(error)
            raise typer.Exit(exit_code_of(error)) from None
        except KeyboardInterrupt:
            say("cancelled")
            raise typer.Exit(_CANCELLED) from None
        except BrokenPipeError:
            _forget_output()
        except MemoryError:
            say("gpugda: there is not enough memory for this")
            raise typer.Exit(_NO_MEMORY) from None
        except OSError as error:
            raise typer.Exit(_show_system_error(error)) from None

    return run


def _show(error: GpugdaError) -> None:
    if logging.getLogger("gpugda").isEnabledFor(logging.DEBUG):
        import traceback

        traceback.print_exception(error)
        return
    say(f"gpugda: {error}")


def _show_system_error(error: OSError) -> int:
    if error.filename is not None or error.errno is None:
        say(f"gpugda: {error}")
        return _CANNOT_READ
    # Only open files name none, and the one that is written without further care is standard
    # output: there may be a full disk behind it.
    _forget_output()
    say(f"gpugda: standard output cannot be written: {error.strerror}")
    return _CANNOT_WRITE


def _forget_output() -> None:
    # Whoever read the output has gone, as `head` does, or it cannot be written. Without this,
    # Python complains when it flushes at exit.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
