"""Runs the practice workload: writes the graph of each domain, measures, compares and reports."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gpugda.api import connect
from gpugda.bench.load_graph import create_indexes, drop_indexes, load_into
from gpugda.bench.machine import describe_machine
from gpugda.bench.measuring import Measured, Pace, measure
from gpugda.bench.practice.domains import DOMAINS, domain_cases, domain_graph
from gpugda.bench.practice.figures import QueryTimes, practice_table, query_times, summarised
from gpugda.bench.report import made_folder
from gpugda.bench.tables import write_runs
from gpugda.errors import ConfigurationError
from gpugda.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gpugda.accelerator import Accelerator
    from gpugda.ports import Progress

__all__ = ["PracticeOptions", "PracticeOutcome", "run_practice"]

_BATCH: Final = 5_000
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
        replace: True to delete what the database holds.
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

    Raises:
        ConfigurationError: There is no such domain, or the database contains other data.
    """
    unknown = [name for name in options.domains if name not in DOMAINS]
    if unknown:
        raise ConfigurationError(
            f"There is no domain {unknown[0]!r}; there are: {', '.join(DOMAINS)}."
        )
    folder = made_folder(options.folder)
    baseline = "reference" if address is None else "native"
    outcome = PracticeOutcome(folder, [], [])
    domains = dict[str, list[QueryTimes]]()
    machine: Any = {}
    for name in options.domains:
        with _opened(address, name, options, progress) as accelerator:
            cases = [case for case in domain_cases(name) if options.only in case.name]
            measured = measure(accelerator, cases, _pace(options, baseline), progress)
            machine = describe_machine(accelerator.status())
        write_runs(folder / f"{name}-runs.csv", measured.runs)
        domains[name] = query_times(measured, baseline, options.settle)
        outcome.wrong += _wrong(name, measured)
        outcome.finished = measured.finished
        if not measured.finished:
            break
    device, server = machine["device"].get("name"), machine["server"] or "no server"
    told = [f"{device}; {server}; {machine['cpu']}, {machine['cores']} cores", ""]
    told += [line for each in outcome.wrong for line in (f"**WRONG** {each}", "")]
    their = "Neo4j" if address else "reference"
    outcome.lines = [f"# The practice workload at scale {options.scale:g}", "", *told]
    outcome.lines += practice_table(domains, their)
    (folder / "report.md").write_text("\n".join(outcome.lines) + "\n", encoding="utf-8")
    _write_json(folder, options, machine, domains)
    return outcome


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


@contextmanager
def _opened(
    address: str | None, name: str, options: PracticeOptions, progress: Progress
) -> Iterator[Accelerator]:
    """The connected graph of a domain; in a database, the next domain may take its place."""
    graph = domain_graph(name, options.scale, options.seed)
    if address is None:
        with connect(graph, **options.connect) as accelerator:
            yield accelerator
        return
    arguments = {"cache": False, **options.connect}
    with connect(address, **arguments) as database:
        loaded = load(graph, progress).graph
        if options.replace:
            _remove(database)
        ours = load_into(database, loaded, name, progress)
        create_indexes(database, loaded)
    with connect(address, progress=progress, **arguments) as accelerator:
        accelerator.run("MATCH (n) RETURN count(n)", engine="gpu").values()
        with _writer(address, options):
            yield accelerator
    with connect(address, **arguments) as database:
        drop_indexes(database)
        if ours and name != options.domains[-1]:
            _remove(database)


def _remove(database: Accelerator) -> None:
    """Deletes everything in the database."""
    text = f"MATCH (n) WITH n LIMIT {_BATCH} DETACH DELETE n RETURN count(*)"
    while database.run(text, engine="native").values() != [[0]]:
        pass


@contextmanager
def _writer(address: str, options: PracticeOptions) -> Iterator[None]:
    """Another client that writes to a node of its own, which no query asks for."""
    if not options.writes_per_second:
        yield
        return
    stop = threading.Event()

    def write() -> None:
        with connect(address, **{"cache": False, **options.connect}) as database:
            number = 0
            while not stop.wait(1 / options.writes_per_second):
                number += 1
                text = f"MERGE (n:{_WRITER}) SET n.number = $number"
                database.run(text, {"number": number}, engine="native").values()
            database.run(f"MATCH (n:{_WRITER}) DELETE n", engine="native").values()

    thread = threading.Thread(target=write, name="gpugda-bench-writer")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _wrong(domain: str, measured: Measured) -> list[str]:
    return [
        f"{domain}: {found.case.name}, engine {found.engine}: {found.what}\n{found.text}"
        for found in measured.mismatches
    ]


def _write_json(
    folder: Path, options: PracticeOptions, machine: Any, domains: dict[str, list[QueryTimes]]
) -> None:
    facts = {
        "machine": machine,
        "options": {
            key: it for key, it in asdict(options).items() if key not in ("connect", "folder")
        },
        "summaries": {name: asdict(summarised(times)) for name, times in domains.items()},
        "queries": {name: [asdict(each) for each in times] for name, times in domains.items()},
    }
    content = json.dumps(facts, indent=2, ensure_ascii=False, default=str)
    (folder / "practice.json").write_text(f"{content}\n", encoding="utf-8")
