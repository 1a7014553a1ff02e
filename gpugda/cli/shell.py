"""``gpugda shell``: runs statements and the shell's commands from a prompt, a file or a pipe."""

from __future__ import annotations

import logging
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.cli.failures import report, say
from gpugda.cli.formats import BINARY
from gpugda.cli.parameters import parse_parameters
from gpugda.cli.progress import RepeatedProgress
from gpugda.cli.run import open_accelerator, show_result
from gpugda.cli.script import Left, open_script, run_script
from gpugda.cli.snapshot import write_status
from gpugda.errors import ConfigurationError
from gpugda.query.statements import EntryReader
from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from prompt_toolkit.completion import Completer

    from gpugda.accelerator import Accelerator
    from gpugda.cli.options import SourceOptions
    from gpugda.cli.run import OutputOptions, QueryOptions
    from gpugda.query.statements import Entry
    from gpugda.types import Engine

    class Prompt(Protocol):
        """Reads entries from the user."""

        def read(self, prompt: str) -> str: ...


__all__ = ["ShellSession", "converse", "run_shell"]

_Word = TypeVar("_Word", bound=str)

_ENGINES: tuple[Engine, ...] = ("auto", "gpu", "native", "reference")


class ShellSession:
    """An open source and the settings for further statements.

    Args:
        source: The source to open.
        query: Initial settings for answering statements.
        output: Initial settings for writing rows.
        device: The device as named by ``--device``; None for the default.
        memory_limit: Memory limit on the device.
    """

    def __init__(
        self,
        source: SourceOptions,
        query: QueryOptions,
        output: OutputOptions,
        device: str | None = None,
        memory_limit: str | None = None,
    ) -> None:
        self._source, self._query, self._output = source, query, output
        self._parameters = parse_parameters(query.parameters)
        self._device, self._memory_limit = device, memory_limit
        self._progress = RepeatedProgress()
        self._accelerator: Accelerator | None = None
        self._files: list[Path] = []

    # ------------------------------------------------------------------ the source
    def open(self) -> None:
        """Opens the source.

        Raises:
            GpugdaError: As `gpugda.connect` does.
        """
        server = self._source.server
        if server.username is not None:  # ask once, not again for :use
            self._source = replace(self._source, server=replace(server, password=server.secret()))
        self._accelerator = self._opened(self._source)

    def close(self) -> None:
        """Closes the source."""
        if self._accelerator is not None:
            self._accelerator.close()

    def greeting(self) -> str:
        """One line with the opened source and its size."""
        status = self._open.status()
        size = ", ".join(f"{status[name]:,} {name}" for name in _SIZES if name in status)
        return f"{status['source']}{': ' if size else ''}{size}"

    def completer(self) -> Completer:
        """Completes what is typed at the prompt."""
        from gpugda.cli.completion import ShellCompleter

        return ShellCompleter(_COMMANDS, lambda: self._open.loaded_graph)

    @property
    def _open(self) -> Accelerator:
        assert self._accelerator is not None
        return self._accelerator

    def _opened(self, source: SourceOptions) -> Accelerator:
        with self._progress.shown():
            return open_accelerator(source, self._device, self._memory_limit, self._progress)

    # ------------------------------------------------------------------ entries
    def run(self, entry: Entry) -> None:
        """Runs a statement or a command.

        Raises:
            Left: The command was ``:exit``.
            GpugdaError: The statement or command failed.
        """
        if not entry.is_command:
            self._answer(entry.text)
            return
        name, _, argument = entry.text.partition(" ")
        first, *more = name.split(maxsplit=1)  # a tab or a line break may follow as well
        command = _COMMANDS.get(first.lower())
        if command is None:
            from difflib import get_close_matches  # slow to import

            near = get_close_matches(first.lower(), _COMMANDS, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise ConfigurationError(
                f"{first} is no command of this shell; :help lists them.{meant}"
            )
        command(self, " ".join([*more, argument]).strip())

    def _answer(self, text: str) -> None:
        with self._progress.shown():
            result = self._open.run(
                text,
                self._parameters,
                engine=self._query.engine,
                strategy=self._query.strategy,
                timeout=self._query.timeout,
            )
        show_result(result, self._output)

    # ------------------------------------------------------------------ commands
    def help(self, argument: str) -> None:
        """This list."""
        width = max(len(usage) for usage in _USAGES.values())
        for name, command in _COMMANDS.items():
            if name in _USAGES:
                sys.stdout.write(f"{_USAGES[name]:<{width}}  {_first_line(command)}\n")

    def exit(self, argument: str) -> None:
        """Leave, as Ctrl-D does."""
        raise Left

    def param(self, argument: str) -> None:
        """Set a parameter for the statements to come, or several by a map; clear takes all away."""
        if not argument or argument.lower() == "list":
            self.params("")
        elif argument.lower() == "clear":
            self._parameters = {}
        else:
            self._parameters |= parse_parameters((argument,), ":param")

    def params(self, argument: str) -> None:
        """List the parameters."""
        for name, value in sorted(self._parameters.items()):
            sys.stdout.write(f"{name} => {format_value(value)}\n")

    def engine(self, argument: str) -> None:
        """Who answers: auto, gpu, native or reference."""
        if argument:
            self._query = replace(self._query, engine=_one_of(_ENGINES, argument, ":engine"))
        else:
            sys.stdout.write(f"{self._query.engine}\n")

    def explain(self, argument: str) -> None:
        """How a statement would be answered; ends with ; as the statement does."""
        strategy = self._query.strategy
        sys.stdout.write(f"{self._open.explain(argument, strategy=strategy)}\n")

    def use(self, argument: str) -> None:
        """Go on with another database of the server."""
        name = argument.strip("`")
        if not name:
            raise ConfigurationError(":use needs the name of a database.")
        if (
            self._source.nodes
            or self._source.relationships
            or "://" not in (self._source.address or "://")
        ):
            raise ConfigurationError(":use is for a server: this source is one graph.")
        other = replace(self._source, server=replace(self._source.server, database=name))
        accelerator = self._opened(other)
        self.close()
        self._source, self._accelerator = other, accelerator

    def status(self, argument: str) -> None:
        """What is loaded, since when, how large, on which device."""
        write_status(self._open)

    def schema(self, argument: str) -> None:
        """Labels, relationship types, what they connect, and their properties."""
        with self._progress.shown():
            schema = self._open.schema
        sys.stdout.write(f"{schema}\n")

    def refresh(self, argument: str) -> None:
        """Read the source again, if it has changed."""
        with self._progress.shown():
            self._open.refresh()

    def timing(self, argument: str) -> None:
        """After each statement: engine, reason, and the time of each stage."""
        on = _one_of(("on", "off"), argument or "on", ":timing") == "on"
        self._output = replace(self._output, summary=on)

    def source(self, argument: str) -> None:
        """Run the statements of a file, up to the first error."""
        if not argument:
            raise ConfigurationError(":source needs the name of a file.")
        path = Path(argument).expanduser().resolve()
        if path in self._files:
            raise ConfigurationError(f":source {argument}: this file is being run already.")
        self._files.append(path)
        try:
            with open_script(str(path)) as (lines, _):
                run_script(self.run, lines, argument)
        finally:
            self._files.pop()


_SIZES = ("nodes", "relationships")
_USAGES = {
    ":help": ":help",
    ":exit": ":exit, :quit",
    ":param": ":param NAME => VALUE",
    ":params": ":params",
    ":engine": ":engine NAME",
    ":explain": ":explain STATEMENT;",
    ":use": ":use DATABASE",
    ":status": ":status",
    ":schema": ":schema",
    ":refresh": ":refresh",
    ":timing": ":timing on|off",
    ":source": ":source FILE",
}
_COMMANDS: dict[str, Callable[[ShellSession, str], Any]] = {
    ":help": ShellSession.help,
    ":exit": ShellSession.exit,
    ":quit": ShellSession.exit,
    ":param": ShellSession.param,
    ":params": ShellSession.params,
    ":engine": ShellSession.engine,
    ":explain": ShellSession.explain,
    ":use": ShellSession.use,
    ":status": ShellSession.status,
    ":schema": ShellSession.schema,
    ":refresh": ShellSession.refresh,
    ":timing": ShellSession.timing,
    ":source": ShellSession.source,
}


def _first_line(command: Callable[..., Any]) -> str:
    return (command.__doc__ or "").splitlines()[0].rstrip(".")


def _one_of(known: tuple[_Word, ...], text: str, command: str) -> _Word:
    for word in known:
        if word == text.lower():
            return word
    raise ConfigurationError(f"{command} can be {', '.join(known)}; it is {text!r}.")


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
