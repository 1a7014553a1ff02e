"""Runs the entries of a file or of standard input one after another."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from gpugda.cli.failures import say
from gpugda.errors import ConfigurationError
from gpugda.query.statements import EntryReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.query.statements import Entry

__all__ = ["Left", "open_script", "run_script"]


class Left(Exception):  # noqa: N818 - not an error: the user entered :exit
    """Signals that no further entries are to be run."""


def run_script(run: Callable[[Entry], None], lines: IO[str], name: str) -> None:
    """Runs entries while reading; stops at the first error after printing its line number.

    Raises:
        Left: An entry is ``:exit``.
    """
    reader = EntryReader()
    for line in lines:
        for entry in reader.feed(line):
            _run(run, entry, name)
    for entry in reader.finish():
        _run(run, entry, name)


def _run(run: Callable[[Entry], None], entry: Entry, name: str) -> None:
    try:
        run(entry)
        sys.stdout.flush()
    except (Left, OSError):
        raise
    except (Exception, KeyboardInterrupt):
        say(f"in line {entry.line} of {name}:")
        raise


@contextmanager
def open_script(file: str | None) -> Iterator[tuple[IO[str], str]]:
    """The lines of a file, or of standard input for None and ``-``, and its name for messages.

    Raises:
        ConfigurationError: The file cannot be opened, or is not UTF-8 text.
    """
    if file is None or file == "-":
        name = "standard input"
        sys.stdin.reconfigure(encoding="utf-8-sig")  # type: ignore[union-attr]
        with _decoded(name):
            yield sys.stdin, name
        return
    try:
        lines = open(file, encoding="utf-8-sig")  # noqa: SIM115 - only errors of open() are caught
    except OSError as error:
        raise ConfigurationError(f"{file!r} cannot be read: {error.strerror}.") from error
    with lines, _decoded(file):
        yield lines, file


@contextmanager
def _decoded(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name} is not UTF-8 text.") from error
