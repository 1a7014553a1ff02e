"""Runs the comparison, from its options to its folder of results."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gpugda.api import connect
from gpugda.bench.findings import Findings, broken_promises, case_times, find
from gpugda.bench.graphs import graph_source, graphs_folder
from gpugda.bench.load_graph import create_indexes, drop_indexes, load_into
from gpugda.bench.machine import describe_machine
from gpugda.bench.measuring import Measured, Pace, measure
from gpugda.bench.report import Background, made_folder, report_text
from gpugda.bench.statistics import figures_of
from gpugda.bench.tables import write_json, write_queries, write_runs
from gpugda.bench.workload import Workload, make_workload
from gpugda.errors import ConfigurationError
from gpugda.loading import LoadedGraph, load
from gpugda.ports import DatabaseServer, SilentProgress
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.accelerator import Accelerator
    from gpugda.bench.cases import Case
    from gpugda.bench.measuring import Engines
    from gpugda.bench.options import BenchOptions
    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import GraphSource, Progress


__all__ = [
    "Outcome",
    "check_options",
    "fill_database",
    "is_server",
    "measured_again",
    "opener",
    "read_workload",
    "run_benchmark",
]


logger = logging.getLogger(__name__)

_NO_PLOTS = (
    "There are no plots, as matplotlib is not installed: pip install 'gpugda[bench]' brings it."
)
_SERVER_OPTIONS = ("auth", "database", "impersonated_user", "labels", "types")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a benchmark.

    Args:
        measured: All runs.
        findings: The findings from these runs.
        folder: Folder of the results.
        notes: Notes for the user.
    """

    measured: Measured
    findings: Findings
    folder: Path
    notes: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """True if an engine gave another answer than the baseline."""
        return bool(self.measured.mismatches)


def run_benchmark(source: object, options: BenchOptions, progress: Progress) -> Outcome:
    """Measures, compares and writes the report. Wrong answers are in the outcome, not raised.

    Args:
        source: Source, as in `gpugda.connect`. The baseline is Neo4j if it is a database, else the
            reference executor.
        options: Options of the benchmark.
        progress: Receives the progress.

    Raises:
        ConfigurationError: An option is invalid, or the database to load contains other
            data.
        SourceError: The graph cannot be read.
    """
    folder = made_folder(options.folder, "plots")
    check_options(source, options)
    if options.load is not None:
        fill_database(source, options, progress)
    opened = opener(source, options)
    graph, export, workload = read_workload(source, options, progress)
    native = is_server(source)
    with opened(progress=progress) as accelerator:
        properties_seconds = _read_properties(accelerator, workload.property_keys)
        pace = _pace(options, native=native)
        measured = measure(accelerator, workload.cases, pace, progress)
        again = measured_again(accelerator, workload.cases, measured, pace, progress)
        machine = describe_machine(accelerator.status())
    findings = find(workload.cases, measured, pace.baseline, figures_of(export).mean, again)
    background = Background(
        _graph_facts(graph, options),
        machine,
        options.described(),
        workload.reached,
        export,
        properties_seconds,
        _notes(measured, workload, options, native=native),
    )
    notes = _write(folder, background, findings, measured)
    return Outcome(measured, findings, folder, (*background.notes, *notes))


# ------------------------------------------------------------------ before
def is_server(source: object) -> bool:
    """True for the address of a database."""
    return isinstance(source, str) and source.partition("://")[0].partition("+")[0] in (
        "bolt",
        "neo4j",
    )


def check_options(source: object, options: BenchOptions) -> None:
    """Refuses options that do not go together."""
    if options.load is not None and not is_server(source):
        raise ConfigurationError(
            "--load writes a graph into a database: name it with --uri bolt://…."
        )
    if options.indexes and options.load is None:
        raise ConfigurationError("--indexes writes to a database: only together with --load GRAPH.")


def _server_options(options: BenchOptions) -> dict[str, Any]:
    given = options.connect
    return {name: given[name] for name in _SERVER_OPTIONS if name in given}


def _resolved(source: object, options: BenchOptions) -> GraphSource:
    return resolve_source(source, **_server_options(options))


def opener(source: object, options: BenchOptions) -> Callable[..., Accelerator]:
    """Connects without a snapshot on disk, because the export is part of the measurement."""

    def opened(**more: Any) -> Accelerator:
        return connect(source, **{"cache": False, **options.connect, **more})

    return opened


def fill_database(source: object, options: BenchOptions, progress: Progress) -> None:
    """Writes the graph that ``options.load`` names into the database, if that is empty."""
    assert options.load is not None  # checked by the caller
    graph = load(graph_source(options.load, graphs_folder(options.graphs)), progress).graph
    with opener(source, options)() as database:
        load_into(database, graph, options.load, progress)
        if options.indexes:
            create_indexes(database, graph)
        else:
            drop_indexes(database)


def read_workload(
    source: object, options: BenchOptions, progress: Progress
) -> tuple[DataGraph, list[float], Workload]:
    """The graph, seconds of each export, and the cases generated from the graph."""
    read = _resolved(source, options)
    try:
        loaded = load(read, progress)
        again = range(options.exports - 1)
        seconds = [loaded.seconds, *(load(read, SilentProgress()).seconds for _ in again)]
        graph = loaded.graph
        workload = make_workload(options, graph, _node_reader(read, loaded), progress)
    finally:
        if isinstance(read, DatabaseServer):
            read.close()
    return graph, seconds, workload


def _node_reader(
    source: GraphSource, loaded: LoadedGraph
) -> Callable[[NDArray[np.int64]], list[dict[str, Any]]] | None:
    if not isinstance(source, DatabaseServer) or loaded.graph.node_properties.complete:
        return None

    def read(nodes: NDArray[np.int64]) -> list[dict[str, Any]]:
        ids = loaded.graph.ids_of(nodes.astype("uint32"), of_nodes=True)
        return source.read_entities(ids, loaded.version, of_nodes=True).rows

    return read


def _read_properties(accelerator: Accelerator, keys: tuple[str, ...]) -> float:
    """Seconds to load the properties that predicates read into the snapshot: part of the export."""
    started = time.perf_counter()
    for key in keys:
        text = f"MATCH (n) WHERE n.`{key.replace('`', '``')}` IS NULL RETURN count(*)"
        accelerator.run(text, engine="gpu").values()
    return time.perf_counter() - started


def _pace(options: BenchOptions, *, native: bool) -> Pace:
    baseline = "native" if native else "reference"
    return Pace(
        baseline,
        (baseline, "gpu", "auto"),
        options.new_texts,
        options.repetitions,
        options.settle,
        options.timeout,
        options.row_cap,
        options.warm_up,
        options.clear_caches and native,
        options.seed,
    )


def measured_again(
    engines: Engines,
    cases: Sequence[Case],
    measured: Measured,
    pace: Pace,
    progress: Progress,
) -> Measured | None:
    """Measures cases that broke a promise, with other texts; None if there are none, or no promise.

    Adds wrong answers to those of ``measured``.
    """
    if pace.baseline != "native" or not measured.finished:
        return None
    found = broken_promises(case_times(cases, measured.runs), pace.baseline).values()
    names = {name for each in found for name in each}
    late = [case for case in cases if case.name in names]
    if not late:
        return None
    again = measure(engines, late, pace.again(), progress)
    measured.mismatches += again.mismatches
    return again


# ------------------------------------------------------------------ after
def _graph_facts(graph: DataGraph, options: BenchOptions) -> dict[str, Any]:
    n, m = graph.node_count, graph.relationship_count
    return {
        "name": options.load or options.graph_name or "the given graph",
        "nodes": n,
        "relationships": m,
        "labels": len(graph.labels),
        "types": len(graph.types),
        "density": m / (n * (n - 1)) if n > 1 else 0.0,
    }


def _notes(
    measured: Measured, workload: Workload, options: BenchOptions, *, native: bool
) -> tuple[str, ...]:
    notes = []
    if not native:
        notes.append(
            "No database server: the device is compared with gpugda's own reference executor, "
            "which says whether answers are right, but nothing about Neo4j's speed."
        )
    if native and measured.cleared is None:
        notes.append(
            "The server refuses to empty its query caches (db.clearQueryCaches): where a text "
            "cannot be made new otherwise, its first run may have been planned already."
        )
    if "predicate" in options.forms and options.queries is None and not workload.property_keys:
        notes.append("The graph has no property to make conditions of.")
    return tuple(notes)


def _write(
    folder: Path,
    background: Background,
    findings: Findings,
    measured: Measured,
) -> tuple[str, ...]:
    export_seconds = figures_of(background.export).mean
    write_queries(folder / "queries.csv", findings, measured, export_seconds)
    write_runs(folder / "runs.csv", measured.runs)
    notes: tuple[str, ...] = ()
    plots: list[str] = []
    if findings.cases:
        try:
            from gpugda.bench.plots import write_plots

            plots = write_plots(
                folder / "plots", findings, export_seconds, str(background.graph["name"])
            )
        except ImportError:
            notes = (_NO_PLOTS,)
    background = replace(background, notes=(*background.notes, *notes))
    text = report_text(background, findings, measured, plots)
    (folder / "report.md").write_text(text, encoding="utf-8")
    facts = _facts(background, findings, measured)
    write_json(folder / "benchmark.json", facts)
    return notes


def _facts(
    background: Background,
    findings: Findings,
    measured: Measured,
) -> dict[str, Any]:
    return {
        **asdict(background),
        "baseline": findings.baseline,
        "finished": measured.finished,
        "caches_cleared": measured.cleared,
        "mismatches": [
            {
                "case": each.case.name,
                "engine": each.engine,
                "text": each.text,
                "parameters": dict(each.case.parameters),
                "what": each.what,
            }
            for each in measured.mismatches
        ],
        "overall": [asdict(group) for group in findings.overall],
        "groups": [asdict(group) for group in findings.groups],
        "promises": [asdict(promise) for promise in findings.promises],
    }
