"""``gpugda bench --strategies``: all strategies on the same queries, with what the papers say.

More than 300 lines: the papers' figures are a table in it.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from gpugda.bench.folders import made_folder
from gpugda.bench.machine import describe_machine
from gpugda.bench.published import HARDWARE, PUBLISHED
from gpugda.bench.recipes import RECIPES, make_recipe, recipe_queries
from gpugda.bench.variants import all_matchers
from gpugda.config import device_wanted, parse_bytes
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.program import build_everything
from gpugda.errors import GpugdaError, MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.need import Count, Rows
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan
    from gpugda.ports import Progress

__all__ = ["StrategiesOptions", "StrategiesOutcome", "run_strategies"]

_SLOW_SECONDS = 1.0
"""What takes longer is not run again: its first run counts."""
_FORMS = ("count", "rows")


@dataclass(frozen=True, slots=True)
class StrategiesOptions:
    """Options of the comparison.

    Args:
        graph: Name of the recipe.
        scale: Of its nodes and relationships.
        count: Query graphs.
        forms: ``count``, ``rows`` or both.
        seed: Of graph and queries.
        repetitions: Runs that count, after one that does not.
        timeout: Seconds per run.
        folder: Where the report goes.
        connect: ``device`` and ``memory_limit``, as `gpugda.connect` takes them.
    """

    graph: str = "enron"
    scale: float = 0.1
    count: int = 30
    forms: tuple[str, ...] = _FORMS
    seed: int = 1
    repetitions: int = 3
    timeout: float = 30.0
    folder: str = "bench-results"
    connect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Run:
    """The fastest run of one strategy on one query; ``embeddings`` is None where it failed."""

    query: int
    form: str
    strategy: str
    outcome: str
    seconds: float
    embeddings: int | None


@dataclass(slots=True)
class StrategiesOutcome:
    """What was found.

    Args:
        table: For people, in Markdown.
        wrong: Queries whose strategies do not agree.
        notes: What is to be said beside the table.
    """

    table: str
    wrong: list[str]
    notes: list[str]


def run_strategies(options: StrategiesOptions, progress: Progress) -> StrategiesOutcome:
    """Generates the graph, runs every query with every strategy, and writes the report.

    Raises:
        ConfigurationError: There is no such recipe, or the folder cannot be written.
        DeviceError: There is no device, or it failed.
    """
    folder = made_folder(options.folder)
    progress.phase(f"generating {options.graph}")
    graph = make_recipe(options.graph, options.scale, options.seed)
    patterns = recipe_queries(options.graph, graph, options.count, options.seed)
    context = DeviceContext(choose_device(device_wanted(options.connect.get("device"))))
    try:
        progress.phase("compiling kernels")
        build_everything(context, on_demand=True)
        limit = parse_bytes(options.connect.get("memory_limit"))
        matchers = all_matchers(options.graph, DeviceGraph(context, graph), limit)
        runs = _measure(graph, patterns, matchers, options, progress)
        device = context.info.name
    finally:
        context.close()
    outcome = StrategiesOutcome(
        _table(options, runs, list(matchers)) + _by_query(options, runs, list(matchers)),
        _disagreeing(runs),
        _notes(options, graph, patterns),
    )
    _write(folder, options, outcome, runs, (device, patterns))
    return outcome


# ------------------------------------------------------------------ measuring
def _measure(
    graph: DataGraph,
    patterns: Sequence[str],
    matchers: Mapping[str, Matcher],
    options: StrategiesOptions,
    progress: Progress,
) -> list[_Run]:
    """Strategies in random order for each query: who else uses the machine hits all alike."""
    progress.phase("measuring", len(patterns) * len(options.forms))
    order, runs = Random(options.seed), list[_Run]()
    given_up = set[tuple[int, str]]()  # who cannot count in time need not make rows
    for number, pattern in enumerate(patterns):
        for form in options.forms:
            names = list(matchers)
            order.shuffle(names)
            for name in names:
                if (number, name) in given_up:
                    runs.append(_Run(number, form, name, "too long", options.timeout, None))
                    continue
                ask = _question(graph, pattern, form, name, matchers[name])
                outcome, seconds, found = _fastest(ask, options)
                runs.append(_Run(number, form, name, outcome, seconds, found))
                if outcome == "too long":
                    given_up.add((number, name))
            progress.advance(1)
    return runs


def _question(
    graph: DataGraph, pattern: str, form: str, name: str, matcher: Matcher
) -> Callable[[float], int]:
    """Asks one strategy for one query until a deadline; gives the number of embeddings."""
    query = prepare(f"MATCH {pattern} RETURN count(*)")
    assert isinstance(query, Query)  # one pattern
    bound = bind(query, graph)
    everything = Rows(frozenset(range(len(bound.nodes))), frozenset())
    need = Count() if form == "count" else everything
    plan = plan_pattern(bound, graph.statistics, name.partition(" ")[0], need)
    if form == "count":
        return partial(_count, matcher, plan)
    return partial(_rows, matcher, plan, everything)


def _count(matcher: Matcher, plan: Plan, deadline: float) -> int:
    return matcher.count(plan, Masks({}, {}), StrategyReport(), deadline)


def _rows(matcher: Matcher, plan: Plan, need: Rows, deadline: float) -> int:
    chunks = matcher.embeddings(plan, Masks({}, {}), need, StrategyReport(), deadline)
    return sum(chunk.row_count for chunk in chunks)


def _fastest(
    ask: Callable[[float], int], options: StrategiesOptions
) -> tuple[str, float, int | None]:
    """How it ended, the fastest counted run, and the number of embeddings."""
    best = 0.0
    found: int | None = None
    for number in range(options.repetitions + 1):
        started = time.perf_counter()
        try:
            found = ask(time.monotonic() + options.timeout)
        except GpugdaError as error:
            return _outcome(error), time.perf_counter() - started, None
        seconds = time.perf_counter() - started
        best = seconds if number < 2 else min(best, seconds)
        if number and seconds > _SLOW_SECONDS:
            break
    return "ok", best, found


def _outcome(error: GpugdaError) -> str:
    if isinstance(error, QueryTimeoutError):
        return "too long"
    return "too much memory" if isinstance(error, MemoryLimitError) else str(error)


# ------------------------------------------------------------------ the report
def _disagreeing(runs: Sequence[_Run]) -> list[str]:
    counts: dict[int, set[int]] = {}
    for run in runs:
        if run.embeddings is not None:
            counts.setdefault(run.query, set()).add(run.embeddings)
    return [f"query {number}" for number, found in counts.items() if len(found) > 1]


def _table(options: StrategiesOptions, runs: Sequence[_Run], names: Sequence[str]) -> str:
    head = ["asked for", "strategy", "answered", "median ms", "median ms of all's"]
    head += ["mean ms of all's", "times extend", "the paper's figure"]
    rows = [head, ["---"] * len(head)]
    for form in options.forms:
        mine = [run for run in runs if run.form == form]
        common = _answered_by_all(mine)
        base = _mean([run for run in mine if run.strategy == "extend" and run.query in common])
        for name in names:
            own = [run for run in mine if run.strategy == name]
            rows.append([form, name, *_figures(own, common, base), _published(options, name)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _by_query(options: StrategiesOptions, runs: Sequence[_Run], names: Sequence[str]) -> str:
    """Where queries have names: milliseconds of each by each strategy, and the embeddings."""
    titles, text = RECIPES[options.graph].patterns, ""
    for form in options.forms if titles else ():
        rows = [[form, "embeddings", *names], ["---"] * (len(names) + 2)]
        for number, title in enumerate(titles or ()):
            mine = [run for run in runs if run.query == number and run.form == form]
            own = {run.strategy: run for run in mine}
            found = {f"{run.embeddings:,}" for run in mine if run.embeddings is not None}
            if own:
                cells = [_milliseconds(own[name]) for name in names]
                rows.append([title, ", ".join(sorted(found)), *cells])
        text += "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return text


def _milliseconds(run: _Run) -> str:
    return f"{1000 * run.seconds:.2f}" if run.outcome == "ok" else run.outcome


def _answered_by_all(runs: Sequence[_Run]) -> set[int]:
    failed = {run.query for run in runs if run.outcome != "ok"}
    return {run.query for run in runs} - failed


def _figures(own: Sequence[_Run], common: set[int], base: float) -> list[str]:
    answered = [run for run in own if run.outcome == "ok"]
    shared = [run for run in answered if run.query in common]
    times = f"{_mean(shared) / base:.2f}" if shared and base else "-"
    return [
        f"{len(answered)} of {len(own)}",
        _median(answered),
        _median(shared),
        f"{1000 * _mean(shared):.2f}" if shared else "-",
        times,
    ]


def _mean(runs: Sequence[_Run]) -> float:
    return statistics.fmean([run.seconds for run in runs]) if runs else 0.0


def _median(runs: Sequence[_Run]) -> str:
    return f"{1000 * statistics.median([run.seconds for run in runs]):.2f}" if runs else "-"


def _published(options: StrategiesOptions, name: str) -> str:
    return PUBLISHED.get((options.graph, name), "")


def _notes(options: StrategiesOptions, graph: DataGraph, patterns: Sequence[str]) -> list[str]:
    size = RECIPES[options.graph].query_nodes
    what = f"{size} nodes" if RECIPES[options.graph].patterns is None else f"up to {size} nodes"
    notes = [
        f"{options.graph} at scale {options.scale:g}: {graph.node_count:,} nodes, "
        f"{graph.relationship_count:,} relationships; {len(patterns)} queries of "
        f"{what}. Relationships of an embedding are different; "
        "in the papers its nodes are, so there are fewer.",
        "Columns of all's: over the queries that every strategy answered.",
        *(f"The figures of {name}'s paper: {hardware}." for name, hardware in HARDWARE.items()),
    ]
    if options.scale != 1:
        notes.append("The papers' figures are of scale 1.")
    return notes


def _write(
    folder: Path,
    options: StrategiesOptions,
    outcome: StrategiesOutcome,
    runs: Sequence[_Run],
    facts: tuple[str, Sequence[str]],
) -> None:
    notes = "\n\n".join(outcome.notes)
    text = f"# Strategies on {options.graph}\n\n{notes}\n\n{outcome.table}"
    (folder / "strategies.md").write_text(text, encoding="utf-8")
    content = {
        "options": asdict(options) | {"connect": {}, "folder": ""},
        "machine": describe_machine({"device": facts[0]}),
        "wrong": outcome.wrong,
        "patterns": list(facts[1]),
        "runs": [asdict(run) for run in runs],
    }
    lines = json.dumps(content, indent=2, ensure_ascii=False, default=str)
    (folder / "strategies.json").write_text(f"{lines}\n", encoding="utf-8")
