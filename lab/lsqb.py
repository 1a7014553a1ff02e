"""LSQB: nine queries on the social network; compares gpugda with DuckDB and Ladybug in one run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gpugda.bench.machine import describe_machine
from gpugda.bench.report import made_folder
from gpugda.bench.tables import write_json
from gpugda.errors import ConfigurationError
from lab.child import Answer, Child
from lab.lsqb_engines import ENGINES
from lab.lsqb_queries import LSQB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gpugda.ports import Progress
    from lab.lsqb_queries import LsqbQuery

__all__ = ["LsqbOptions", "LsqbOutcome", "run_lsqb"]

_OURS = "gpugda"


@dataclass(frozen=True, slots=True)
class LsqbOptions:
    """Options of one run.

    Args:
        scale: Scale of the graph; 1 has 4 million nodes and 18 million relationships.
        seed: Seed of the generator.
        repetitions: Counted runs of each query on each engine, after one uncounted run.
        timeout: Seconds per query and engine.
        folder: Folder of the results.
        connect: Further arguments of `gpugda.connect`.
    """

    scale: float = 1.0
    seed: int = 1
    repetitions: int = 5
    timeout: float = 30.0
    folder: str = "bench-results"
    connect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LsqbOutcome:
    """Measurements of one run.

    Args:
        engines: The engines that loaded the graph, gpugda first.
        answers: All runs by query and engine; the first run of each is not counted.
        notes: Notes for the user.
        table: The table in Markdown.
    """

    engines: tuple[str, ...]
    answers: dict[tuple[str, str], list[Answer]]
    notes: list[str]
    table: str = ""

    def best(self, query: str, engine: str) -> Answer | None:
        """The fastest run; a failed run if there is one; None if there were no runs."""
        runs = self.answers.get((query, engine), [])
        failed = [each for each in runs if each.outcome != "ok"]
        if failed or not runs:
            return failed[0] if failed else None
        return min(runs[1:] or runs, key=lambda each: each.seconds)

    @property
    def wrong(self) -> list[str]:
        """Queries whose counts are not all equal, or that gpugda did not answer."""
        return [query.name for query in LSQB if not self._agreed(query.name)]

    def _agreed(self, query: str) -> bool:
        runs = [run for engine in self.engines for run in self.answers.get((query, engine), ())]
        ours = self.best(query, _OURS)
        counts = {run.count for run in runs if run.outcome == "ok"}
        return ours is not None and ours.outcome == "ok" and len(counts) == 1

    def total(self, engine: str) -> float:
        """Seconds of all queries; the time limit for timed-out ones; infinite if one failed."""
        found = [self.best(query.name, engine) for query in LSQB]
        return math.fsum(
            each.seconds if each and each.outcome in ("ok", "too long") else math.inf
            for each in found
        )


def run_lsqb(options: LsqbOptions, progress: Progress) -> LsqbOutcome:
    """Loads all engines, runs all queries in turn, compares the counts, writes the report.

    Raises:
        ConfigurationError: gpugda cannot load the graph, or the folder is not writable.
    """
    folder = made_folder(options.folder)
    given = options.scale, options.seed, {"cache": False, **options.connect}
    outcome = LsqbOutcome((), {}, _missing())
    children = [Child(name, *given) for name in ENGINES if name == _OURS or find_spec(name)]
    try:
        outcome.engines = tuple(each.name for each in _loaded(children, outcome.notes, progress))
        ready = [each for each in children if each.name in outcome.engines]
        _measure(ready, options, outcome, progress)
    finally:
        for child in children:
            child.stop()
    outcome.table = _table(outcome)
    _write(folder, options, outcome, children)
    return outcome


def _missing() -> list[str]:
    absent = [name for name in ENGINES if name != _OURS and not find_spec(name)]
    if not absent:
        return []
    return [
        f"Not compared with {' and '.join(absent)}, which is not installed: "
        "pip install --group peers brings it."
    ]


def _loaded(children: Sequence[Child], notes: list[str], progress: Progress) -> list[Child]:
    progress.phase("loading the social network", len(children))
    ready = []
    for child in children:
        answer = child.start()
        progress.advance(1)
        if answer.outcome == "ok":
            ready.append(child)
        elif child.name == _OURS:
            raise ConfigurationError(f"The graph cannot be loaded: {answer.outcome}.")
        else:
            notes.append(f"{child.name} does not load the graph: {answer.outcome}.")
    return ready


def _measure(
    children: Sequence[Child], options: LsqbOptions, outcome: LsqbOutcome, progress: Progress
) -> None:
    """Runs each query on all engines in turn, so that load on the machine affects all alike."""
    progress.phase("measuring", len(LSQB) * (options.repetitions + 1))
    for query in LSQB:
        for _ in range(options.repetitions + 1):
            for child in children:
                runs = outcome.answers.setdefault((query.name, child.name), [])
                if not runs or runs[-1].outcome == "ok":
                    runs.append(child.ask(query, options.timeout))
            progress.advance(1)


# ------------------------------------------------------------------ the report
def _processors(outcome: LsqbOutcome) -> str:
    """Minimum processor time by query and engine, of the counted runs."""
    rows = [["query", *(f"{name} ms" for name in outcome.engines)]]
    rows.append(["---"] * len(rows[0]))
    for query in LSQB:
        found = [outcome.answers.get((query.name, name), []) for name in outcome.engines]
        good = [[run.processor for run in runs if run.outcome == "ok"] for runs in found]
        cells = [f"{1000 * min(each[1:] or each):.1f}" if each else "-" for each in good]
        rows.append([query.name, *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _table(outcome: LsqbOutcome) -> str:
    peers = [name for name in outcome.engines if name != _OURS]
    head = ["query", "count", "gpugda ms", *(f"{name} ms, times" for name in peers)]
    rows = [head, ["---"] * len(head), *(_row(outcome, query, peers) for query in LSQB)]
    ours = outcome.total(_OURS)
    sums = [_figure(outcome.total(name), ours) for name in peers]
    rows.append(["sum", "", f"{1000 * ours:.1f}", *sums])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(outcome: LsqbOutcome, query: LsqbQuery, peers: Sequence[str]) -> list[str]:
    ours = outcome.best(query.name, _OURS)
    assert ours is not None  # gpugda runs every query
    cells = [query.name, "" if ours.count is None else f"{ours.count:,}", _alone(ours)]
    for name in peers:
        peer = outcome.best(query.name, name)
        both = peer is not None and peer.outcome == ours.outcome == "ok"
        cells.append(
            _figure(peer.seconds, ours.seconds) if both and peer is not None else _alone(peer)
        )
    return cells


def _figure(seconds: float, ours: float) -> str:
    return f"{1000 * seconds:.1f}, {seconds / ours:.2f}" if math.isfinite(seconds) else "-"


def _alone(answer: Answer | None) -> str:
    if answer is None:
        return "-"
    return f"{1000 * answer.seconds:.1f}" if answer.outcome == "ok" else answer.outcome


def _write(
    folder: Path, options: LsqbOptions, outcome: LsqbOutcome, children: Sequence[Child]
) -> None:
    text = (
        f"# LSQB, scale {options.scale:g}\n\n"
        "Milliseconds of the fastest counted run, and how many times gpugda's that is.\n\n"
        f"{outcome.table}\n"
        "Time of all processors, which other programs disturb less, of the least one.\n\n"
        f"{_processors(outcome)}"
    )
    (folder / "lsqb.md").write_text(text, encoding="utf-8")
    facts = {
        "scale": options.scale,
        "seed": options.seed,
        "timeout": options.timeout,
        "repetitions": options.repetitions,
        "machine": describe_machine({}),
        "notes": outcome.notes,
        "wrong": outcome.wrong,
        "load_seconds": {each.name: each.load_seconds for each in children},
        "runs": [
            {"query": query, "engine": engine, **asdict(run)}
            for (query, engine), runs in outcome.answers.items()
            for run in runs
        ],
    }
    write_json(folder / "lsqb.json", facts)
