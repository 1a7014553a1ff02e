"""``gpugda shell``: runs statements from a prompt, a file or standard input."""

from __future__ import annotations

import logging
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from gpugda.cli.failures import report, say
from gpugda.cli.formats import BINARY
from gpugda.cli.script import Left, open_script, run_script
from gpugda.cli.shell_session import ShellSession
from gpugda.errors import ConfigurationError
from gpugda.query.statements import EntryReader

if TYPE_CHECKING:
    from typing import Protocol

    from gpugda.cli.options import SourceOptions
    from gpugda.cli.run import OutputOptions, QueryOptions
    from gpugda.query.statements import Entry

    class Prompt(Protocol):
        """Reads entries from the user."""

        def read(self, prompt: str) -> str: ...


__all__ = ["converse", "run_shell"]


def run_shell(
    source: SourceOptions,
    query: QueryOptions,
    output: OutputOptions,
    device: str | None,
    memory_limit: str | None,
) -> None:
    """Opens the source; shows a prompt on a terminal, else runs standard input or the file."""
    if output.form in BINARY:
        raise ConfigurationError(
            f"--format {output.form} is for one query: gpugda run --format {output.form}."
        )
    with closing(ShellSession(source, query, output, device, memory_limit)) as session:
        try:
            if query.file is None and sys.stdin.isatty():
                from gpugda.cli.terminal import Terminal, open_history

                session.open()
                say(f"{session.greeting()}\nStatements end with ; and :help lists the commands.")
                converse(session, Terminal(open_history(), completer=session.completer()))
            else:
                with open_script(query.file) as (lines, name):
                    session.open()
                    run_script(session.run, lines, name)
        except Left:
            return


# ------------------------------------------------------------------ interactive use
def converse(session: ShellSession, prompt: Prompt) -> None:
    """Reads and runs entries until the user leaves; prints errors and continues.

    Raises:
        Left: An entry is ``:exit``.
    """
    while True:
        try:
            text = prompt.read("gpugda> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        reader = EntryReader()
        _run_typed(session, [*reader.feed(f"{text}\n"), *reader.finish()])


def _run_typed(session: ShellSession, entries: list[Entry]) -> None:
    try:
        for entry in entries:
            session.run(entry)
            sys.stdout.flush()
    except (Left, OSError):  # a closed or full output ends the session
        raise
    except (Exception, KeyboardInterrupt) as error:
        if report(error) is None:  # a bug: print the traceback and continue the session
            logging.getLogger("gpugda").exception("this should not happen; please report it")
