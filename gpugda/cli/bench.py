"""``gpugda bench``: the comparison with Neo4j."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gpugda.bench.experiment import Options, ablations, own_cases, random_cases, run
from gpugda.bench.graphs import put_into_database, read_graph
from gpugda.bench.query_file import statements
from gpugda.bench.report import machine, write_report
from gpugda.cli.failures import say
from gpugda.cli.run import open_accelerator
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda.accelerator import Accelerator
    from gpugda.bench.experiment import Experiment
    from gpugda.bench.measure import Case, Measured
    from gpugda.cli.options import SourceOptions

__all__ = ["BenchOptions", "run_bench"]

_QUICK = Options(sizes=(2, 3, 4), count=3, repetitions=2, timeout=20.0, forms=("count", "rows"))
_WITHOUT_LABELS = ("drwho",)  # as in the thesis


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What the options say.

    Args:
        load: A graph to put into the database, if that is empty; by its name or address.
        graphs: Folder of the graphs that have names.
        queries: File of a user's own queries.
        parameters: JSON file of their parameters.
        output: Folder of the report.
        quick: Measure little.
        with_ablations: Also measure the device with one thing changed.
        options: How much is measured.
    """

    load: str | None
    graphs: str | None
    queries: str | None
    parameters: str | None
    output: str
    quick: bool
    with_ablations: bool
    options: Options

    @property
    def folder_of_graphs(self) -> Path | None:
        """Named by the option or ``GPUGDA_GRAPHS``."""
        text = self.graphs or os.environ.get("GPUGDA_GRAPHS")
        return Path(text).expanduser() if text else None


def run_bench(source: SourceOptions, asked: BenchOptions, device: str | None) -> None:
    """Runs the comparison and writes its report; exits with 1 where the engines disagree."""
    options = asked.options
    if asked.quick:
        options = replace(_QUICK, seed=options.seed)
    with open_accelerator(source, device) as accelerator:
        if "server" not in accelerator.status():
            raise ConfigurationError(
                "bench compares with a database: give its address with --source bolt://…"
            )
        name, cases, embedded = _cases(accelerator, asked, options)
        with _bar(len(cases)) as told:
            experiment = run(accelerator, name, cases, options, told)
        if asked.with_ablations and embedded is not None:
            experiment.ablations = ablations(embedded, cases, options.timeout)
        status = accelerator.status()
    facts = machine(status["device"], status["server"])
    for path in write_report(Path(asked.output), [experiment], options, facts):
        say(f"wrote {path}")
    _conclude(experiment)


def _cases(
    accelerator: Accelerator, asked: BenchOptions, options: Options
) -> tuple[str, Sequence[Case], object | None]:
    if asked.queries is not None:
        parameters = _json_file(asked.parameters) if asked.parameters else {}
        texts = statements(_text_file(asked.queries))
        return "own", list(own_cases(texts, parameters)), None
    if asked.load is None:
        graph = accelerator.snapshot_graph()
        return "database", list(random_cases("database", graph, options)), None
    name = Path(asked.load).stem.partition(".")[0] or asked.load
    graph = read_graph(asked.load, asked.folder_of_graphs)
    if put_into_database(accelerator, graph):
        say(f"put {asked.load} into the database")
    accelerator.refresh()
    labelled = replace(options, with_labels=options.with_labels and name not in _WITHOUT_LABELS)
    return name, list(random_cases(name, graph, labelled)), _Embedded(graph)


class _Embedded:
    """A data graph that is there, as a source."""

    name = "the same graph, embedded"

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @contextmanager
    def read(self, progress: object) -> Iterator[Any]:
        """The graph, through a snapshot in a folder of its own."""
        from tempfile import TemporaryDirectory

        from gpugda.ports import SnapshotFolder
        from gpugda.snapshot.store import save_snapshot

        with TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot"
            save_snapshot(self._graph, path)
            yield SnapshotFolder(path)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Measured], None]]:
    """Draws a bar on a terminal, else writes nothing."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:
        task = bars.add_task("queries", total=total)

        def told(measured: Measured) -> None:
            bars.advance(task)
            if measured.agrees is False:
                say(f"WRONG: {measured.case.texts[0]}")

        yield told


def _conclude(experiment: Experiment) -> None:
    wrong, count = len(experiment.wrong), len(experiment.measured)
    sys.stdout.write(f"{count} queries, {wrong} with different answers\n")
    if wrong or not count:
        raise typer.Exit(1)


def _text_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path!r} cannot be read: {error}") from error


def _json_file(path: str) -> dict[str, Any]:
    try:
        found = json.loads(_text_file(path))
    except ValueError as error:
        raise ConfigurationError(f"{path!r} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path!r} must hold a JSON object of parameters.")
    return found
