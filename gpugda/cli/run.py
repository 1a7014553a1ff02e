"""``gpugda run`` and ``gpugda explain``: run or explain one query."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpugda.answer.profiling import profile_of
from gpugda.cli.failures import say
from gpugda.cli.formats import BINARY, Format, format_of_file, write_result
from gpugda.cli.options import SourceOptions, device_arguments, make_source
from gpugda.cli.parameters import parse_parameters
from gpugda.cli.progress import shown_progress
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.accelerator import Accelerator
    from gpugda.ports import Progress
    from gpugda.result.result import Result
    from gpugda.result.summary import Summary
    from gpugda.types import Engine

__all__ = [
    "OutputOptions",
    "QueryOptions",
    "explain_query",
    "open_accelerator",
    "run_query",
    "show_result",
]


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Values of the options for the query."""

    text: str | None
    file: str | None = None
    parameters: tuple[str, ...] = ()
    engine: Engine = "auto"
    strategy: str | None = None
    timeout: float | None = None

    def query(self) -> str:
        """The query's text.

        Raises:
            ConfigurationError: There is no query, there are two, or the file cannot be read.
        """
        if self.text is not None and self.file is not None:
            raise ConfigurationError("Give the query as an argument or with --file, not both.")
        text = self.text if self.text is not None else _read_query(self.file)
        if not text.strip():
            raise ConfigurationError(
                "The query is empty: give one as an argument, with --file, or through standard "
                "input."
            )
        return text


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Values of the options for the output."""

    form: Format = Format.AUTO
    path: str | None = None
    limit: int = 0
    summary: bool = False
    profile: bool = False


def _read_query(file: str | None) -> str:
    if file is None and sys.stdin.isatty():
        raise ConfigurationError(
            "There is no query: give it as an argument, with --file, or through standard input."
        )
    try:
        data = sys.stdin.buffer.read() if file in (None, "-") else Path(file or "").read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"--file {file!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"The query is not UTF-8 text: {error.reason} at byte {error.start}."
        ) from error


def open_accelerator(
    source: SourceOptions,
    device: str | None = None,
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Accelerator:
    """Opens the source; if no progress is given, shows a bar on a terminal."""
    from gpugda.api import connect

    made = make_source(source)
    with shown_progress() if progress is None else nullcontext(progress) as watched:
        return connect(
            made,
            progress=watched,
            **device_arguments(device, memory_limit),
            **source.server.connect_arguments(),
        )


def run_query(
    source: SourceOptions,
    query: QueryOptions,
    output: OutputOptions,
    device: str | None,
    memory_limit: str | None,
) -> None:
    """Runs a query and writes its rows; writes nothing if the query fails."""
    text, parameters = query.query(), parse_parameters(query.parameters)
    if output.path is not None and output.form is Format.AUTO:
        output = replace(output, form=format_of_file(output.path))
    if output.path is None and sys.stdout.isatty() and output.form in BINARY:
        raise ConfigurationError(
            f"{output.form.capitalize()} is binary: send it to a file with --output FILE, or "
            "through a pipe."
        )
    with ExitStack() as opened:
        with shown_progress() as progress:
            accelerator = opened.enter_context(
                open_accelerator(source, device, memory_limit, progress)
            )
            result = accelerator.run(
                text,
                parameters,
                engine=query.engine,
                strategy=query.strategy,
                timeout=query.timeout,
            )
        show_result(result, output)


def show_result(result: Result, output: OutputOptions) -> None:
    """Writes a result's rows; warnings, profile and summary go to standard error."""
    terminal = output.path is None and sys.stdout.isatty()
    for warning in result.summary.warnings:
        say(f"warning: {warning}")
    explained = _explanation(result.summary)
    if explained:  # it has no rows
        sys.stdout.write(f"{explained}\n")
    else:
        _write_rows(result, output, terminal=terminal)
    asked = result.summary.asked_plan
    if asked is not None and not explained:  # after rows for people; those for programs stay pure
        shown = output.form is Format.AUTO and output.path is None
        (sys.stdout if shown else sys.stderr).write(f"{asked}\n")
    if output.profile:
        say(str(profile_of(result)))
    changes = result.summary.changes()
    if changes:
        say(changes)
    if output.summary:
        say(str(result.summary))
    elif terminal:
        say(result.summary.headline())


def _write_rows(result: Result, output: OutputOptions, *, terminal: bool) -> None:
    if not result.keys() and output.form is Format.AUTO:
        return  # a query that only writes
    with _sink(output.path) as sink:
        write_result(
            result,
            output.form,
            sink,
            terminal=terminal,
            limit=output.limit,
            is_file=output.path is not None,
        )


def _explanation(summary: Summary) -> str:
    """The plan for which a query asked by EXPLAIN, which has no rows; empty for other queries."""
    if summary.asked_plan is None or summary.profile is not None:
        return ""
    return "\n".join(summary.steps) or str(summary.asked_plan)


def explain_query(
    source: SourceOptions,
    query: QueryOptions,
    device: str | None,
    memory_limit: str | None,
    *,
    rules: bool = False,
) -> None:
    """Prints how a query would be answered."""
    text = query.query()
    with open_accelerator(source, device, memory_limit) as accelerator:
        sys.stdout.write(f"{accelerator.explain(text, rules=rules, **_strategy(query))}\n")


def _strategy(query: QueryOptions) -> dict[str, Any]:
    return {} if query.strategy is None else {"strategy": query.strategy}


@contextmanager
def _sink(path: str | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is written atomically."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file():  # a named pipe or a device cannot be replaced
        with _naming(path), target.open("wb") as sink:
            yield sink
        return
    with _naming(path):
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as sink:
            temporary = Path(sink.name)
            try:
                yield sink
            except BaseException:
                temporary.unlink()
                raise
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Converts errors of the output to errors with its name."""
    try:
        yield
    except BrokenPipeError:  # the reader of a named pipe has exited
        raise
    except OSError as error:
        raise ConfigurationError(
            f"--output {path!r} cannot be written: {error.strerror}."
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
