"""Runs the practice workload: writes the graph of each domain, measures, compares and reports."""

from __future__ import annotations

import logging
import math
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gpugda.api import connect
from gpugda.bench.benchmark import is_server
from gpugda.bench.load_graph import Written, create_indexes, drop_indexes, load_into, remove_written
from gpugda.bench.machine import describe_machine
from gpugda.bench.measuring import Measured, Pace, measure
from gpugda.bench.practice.domains import DOMAINS, domain_cases, domain_graph
from gpugda.bench.practice.figures import QueryTimes, practice_table, query_times, summarised
from gpugda.bench.report import made_folder
from gpugda.bench.tables import write_json, write_runs
from gpugda.errors import ConfigurationError, SourceError
from gpugda.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gpugda.accelerator import Accelerator
    from gpugda.bench.cases import Case
    from gpugda.ports import Progress

__all__ = ["PracticeOptions", "PracticeOutcome", "run_practice"]

logger = logging.getLogger(__name__)

_BATCH: Final = 5_000
_ADVICE: Final = (
    "Name an empty database (--database), or delete everything in this one with --replace."
)
_WRITER: Final = "GpugdaBenchWriter"


@dataclass(frozen=True, slots=True)
class PracticeOptions:
    """Options of the practice workload.

    Args:
        domains: Names of domains.
        scale: Size of the graphs: 1 has about 20 thousand relationships.
        seed: Seed of the graphs and of the order of the queries.
        settle: First runs of each text, reported apart.
        repetitions: Later runs.
        timeout: Seconds per query.
        row_cap: Maximum of rows compared one by one.
        writes_per_second: How often another client writes meanwhile.
        only: Part of the names of queries that are measured; all of them if it is empty.
        replace: True to delete what the database holds before the first domain.
        folder: Folder of the results.
        connect: Further arguments of `gpugda.connect`.
    """

    domains: tuple[str, ...] = DOMAINS
    scale: float = 1.0
    seed: int = 1
    settle: int = 2
    repetitions: int = 5
    timeout: float = 30.0
    row_cap: int = 1000
    writes_per_second: float = 0.0
    only: str = ""
    replace: bool = False
    folder: str = "bench-results"
    connect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class PracticeOutcome:
    """Result of the practice workload.

    Args:
        folder: Folder of the results.
        lines: The report.
        wrong: A text for each wrong answer.
        finished: False if it was cancelled.
    """

    folder: Path
    lines: list[str]
    wrong: list[str]
    finished: bool = True


def run_practice(
    address: str | None, options: PracticeOptions, progress: Progress
) -> PracticeOutcome:
    """Measures all domains; without an address beside the reference engine, on embedded graphs.

    The report is written after each domain, and says so if an error ends the run.

    Raises:
        ConfigurationError: There is no such domain or query, the address is not that of a
            database, the database contains other data, or another client wrote to it.
        SourceError: The client that writes meanwhile failed.
    """
    asked = _asked(options)
    if address is not None and not is_server(address):
        raise ConfigurationError(
            f"{address!r} is no database server: the practice workload writes its graphs into one "
            "(bolt://… or neo4j://…), or compares with the reference engine if none is named."
        )
    if address is None and (options.replace or options.writes_per_second):
        raise ConfigurationError(
            "--replace and --writes-per-second are for a database: name it with --uri."
        )
    outcome = PracticeOutcome(made_folder(options.folder), [], [])
    baseline = "reference" if address is None else "native"
    place, report = _Place(address, options, progress), _Report(options, outcome)
    if options.replace:
        _empty(place)
    try:
        for name, cases in asked.items():
            with _opened(place, name, more=name != [*asked][-1]) as accelerator:
                measured = measure(accelerator, cases, _pace(options, baseline), progress)
                report.machine = describe_machine(accelerator.status())
                report.add(name, measured, baseline)
            if not measured.finished:
                outcome.finished = False
                place.warn()
                break
    except BaseException as error:
        report.ended = type(error).__name__  # its text may name the host
        report.write()
        place.warn()
        raise
    return outcome


def _asked(options: PracticeOptions) -> dict[str, list[Case]]:
    """The queries of each domain, of those that have any."""
    unknown = [name for name in options.domains if name not in DOMAINS]
    if unknown:
        raise ConfigurationError(
            f"There is no domain {unknown[0]!r}; there are: {', '.join(DOMAINS)}."
        )
    every = {
        name: [case for case in domain_cases(name) if options.only in case.name]
        for name in options.domains
    }
    asked = {name: cases for name, cases in every.items() if cases}
    if not asked:
        raise ConfigurationError(
            f"No query of {', '.join(every)} has {options.only!r} in its name (--only)."
        )
    return asked


def _pace(options: PracticeOptions, baseline: str) -> Pace:
    return Pace(
        baseline,
        (baseline, "gpu", "auto"),
        new_texts=0,
        repetitions=options.settle + options.repetitions,
        settle=0,
        timeout=options.timeout,
        row_cap=options.row_cap,
        warm_up=2,
        clear_caches=True,
        seed=options.seed,
    )


@dataclass(slots=True)
class _Place:
    """Where the graphs are: in a database, one after another, or embedded.

    Args:
        address: Of the database.
        options: Options of the workload.
        progress: Receives the progress.
        holds: The domain whose graph is in the database.
        written: What this run wrote of it.
    """

    address: str | None
    options: PracticeOptions
    progress: Progress
    holds: str = ""
    written: Written | None = None

    def connected(self, **more: Any) -> Accelerator:
        """A new connection."""
        return connect(self.address, **{"cache": False, **self.options.connect, **more})

    def warn(self) -> None:
        """Tells what an interrupted run leaves."""
        if self.holds:
            logger.warning(
                "the graph of %s, or a part of it, is still in the database; --replace deletes it "
                "with everything else there",
                self.holds,
            )


def _empty(place: _Place) -> None:
    """Deletes everything in the database, if there is one."""
    if place.address is None:
        return
    text = f"MATCH (n) WITH n LIMIT {_BATCH} DETACH DELETE n RETURN count(*)"
    with place.connected() as database:
        while database.run(text, engine="native").values() != [[0]]:
            pass


@contextmanager
def _opened(place: _Place, name: str, *, more: bool) -> Iterator[Accelerator]:
    """The connected graph of a domain; in a database, it takes the place of the domain before."""
    source = domain_graph(name, place.options.scale, place.options.seed)
    if place.address is None:
        with connect(source, **place.options.connect) as accelerator:
            yield accelerator
        return
    graph = load(source, place.progress).graph
    with place.connected() as database:
        if place.written is not None:
            remove_written(database, place.written, place.holds)
            place.holds, place.written = "", None
        place.written = load_into(database, graph, name, place.progress, _ADVICE)
        place.holds = name
    if place.written is None and more:
        raise ConfigurationError(
            f"The graph of {name} was in the database before, so it is not removed for the next "
            f"domain. Nothing was written. Name --domain {name} alone, or {_ADVICE[0].lower()}"
            f"{_ADVICE[1:]}"
        )
    try:
        with place.connected() as database:
            create_indexes(database, graph)
        with place.connected(progress=place.progress) as accelerator:
            accelerator.run("MATCH (n) RETURN count(n)", engine="gpu").values()
            with _writer(place):
                yield accelerator
    finally:
        with place.connected() as database:
            drop_indexes(database)


@contextmanager
def _writer(place: _Place) -> Iterator[None]:
    """Another client that writes to a node of its own, which no query asks for."""
    if not place.options.writes_per_second:
        yield
        return
    stop, failed = threading.Event(), list[Exception]()

    def write() -> None:
        try:
            with place.connected() as database:
                _write_until(stop, database, 1 / place.options.writes_per_second)
        except Exception as error:  # raised below, in the thread that measures
            failed.append(error)

    thread = threading.Thread(target=write, name="gpugda-bench-writer")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failed:
        raise SourceError(
            f"The client that writes meanwhile (--writes-per-second) failed: {failed[0]}"
        ) from failed[0]


def _write_until(stop: threading.Event, database: Accelerator, pause: float) -> None:
    made = database.run(f"CREATE (n:{_WRITER}) RETURN elementId(n)", engine="native").values()
    own, number = {"id": made[0][0]}, 0
    found = "MATCH (n) WHERE elementId(n) = $id"
    try:
        while not stop.wait(pause):
            number += 1
            text = f"{found} SET n.number = $number"
            database.run(text, {**own, "number": number}, engine="native").values()
    finally:
        database.run(f"{found} DELETE n", own, engine="native").values()


@dataclass(slots=True)
class _Report:
    """The report of the domains measured so far."""

    options: PracticeOptions
    outcome: PracticeOutcome
    machine: Mapping[str, Any] = field(default_factory=dict)
    domains: dict[str, list[QueryTimes]] = field(default_factory=dict)
    cleared: dict[str, int | None] = field(default_factory=dict)
    their: str = ""
    ended: str = ""

    def add(self, name: str, measured: Measured, baseline: str) -> None:
        """Adds a domain, and writes the report."""
        write_runs(self.outcome.folder / f"{name}-runs.csv", measured.runs)
        self.domains[name] = query_times(measured, baseline, self.options.settle)
        self.cleared[name] = measured.cleared
        self.outcome.wrong += [f"{name}: {each}" for each in measured.mismatches]
        self.their = "Neo4j" if baseline == "native" else baseline
        self.write()

    def write(self) -> None:
        """Writes what is known, if anything is."""
        if not self.domains:
            return
        machine = self.machine
        device, server = machine["device"].get("name"), machine["server"] or "no server"
        told = [f"{device}; {server}; {machine['cpu']}, {machine['cores']} cores", ""]
        told += [line for each in self._notes() for line in (f"Note: {each}", "")]
        told += [line for each in self.outcome.wrong for line in (f"**WRONG** {each}", "")]
        self.outcome.lines = [f"# The practice workload at scale {self.options.scale:g}", "", *told]
        self.outcome.lines += practice_table(self.domains, self.their)
        content = "\n".join([*self.outcome.lines, ""])
        (self.outcome.folder / "report.md").write_text(content, encoding="utf-8")
        self._write_json()

    def _notes(self) -> list[str]:
        found = []
        refused = [name for name, cleared in self.cleared.items() if cleared is None]
        if refused:
            found.append(
                f"the server refused to empty its query caches ({', '.join(refused)}): it may have "
                "planned parts of first runs before."
            )
        if self.ended:
            found.append(f"the run ended early ({self.ended}); these domains were measured before.")
        return found

    def _write_json(self) -> None:
        options = asdict(self.options)
        facts = {
            "machine": self.machine,
            "options": {key: options[key] for key in options if key not in ("connect", "folder")},
            "ended": self.ended or None,
            "caches_cleared": self.cleared,
            "summaries": {name: asdict(summarised(each)) for name, each in self.domains.items()},
            "queries": {name: [*map(asdict, each)] for name, each in self.domains.items()},
        }
        write_json(self.outcome.folder / "practice.json", _finite(facts))


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
