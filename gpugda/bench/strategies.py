"""``gpugda bench --strategies``: runs all strategies on the same queries; cites the papers."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from gpugda.bench.folders import made_folder
from gpugda.bench.machine import describe_machine, peak_bytes
from gpugda.bench.recipes import make_recipe, recipe_queries
from gpugda.bench.strategies_report import (
    StrategiesOptions,
    StrategiesOutcome,
    Timed,
    disagreeing,
    notes_of,
    strategy_of,
    table_by_query,
    table_of,
    verdicts,
    within,
)
from gpugda.bench.variants import all_matchers
from gpugda.config import parse_bytes, requested_device
from gpugda.device.compile_processes import start_compile_processes
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.row_building import build_rows
from gpugda.device.graph.segments import whole_bytes
from gpugda.device.program import build_everything
from gpugda.errors import ConfigurationError, GpugdaError, MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.need import Count, Rows
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import RowSorter, SortedRows, Unsorted
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan
    from gpugda.ports import Progress

__all__ = ["StrategiesOptions", "StrategiesOutcome", "run_strategies"]

logger = logging.getLogger(__name__)
_COMMON = ("extend", "gpsm")
"""Strategies whose kernels are compiled for every query."""
_SLOW_SECONDS = 1.0
"""Above this time, a query is not run again; its first run counts."""


def run_strategies(options: StrategiesOptions, progress: Progress) -> StrategiesOutcome:
    """Generates the graph, runs every query with every strategy, and writes the report.

    Ctrl-C during the queries ends the run; the report contains the measurements so far.

    Raises:
        ConfigurationError: There is no such recipe, or the folder cannot be written.
        DeviceError: There is no device, or it failed.
    """
    folder = made_folder(options.folder)
    context = DeviceContext(choose_device(requested_device(options.connect.get("device"))))
    apart = start_compile_processes(context)
    try:
        progress.phase(f"generating {options.graph}")
        started = time.perf_counter()
        graph = make_recipe(options.graph, options.scale, options.seed, _sorter(context))
        drawn = time.perf_counter() - started
        patterns = recipe_queries(options.graph, graph, options.count, options.seed)
        progress.phase("compiling kernels")
        if apart is not None:
            apart.wait()
        build_everything(context, on_demand=_needs_more(options.only))
        matchers = _chosen(_all_matchers(context, graph, options), options.only)
        runs = _measure(graph, patterns, matchers, options, progress)
        device = context.info.name
    finally:
        if apart is not None:
            apart.stop()
        context.close()
    outcome = StrategiesOutcome(
        table_of(options, runs, list(matchers)) + table_by_query(options, runs, list(matchers)),
        disagreeing(runs),
        [
            *notes_of(options, graph, patterns),
            _account(drawn, len({run.query for run in runs}), len(patterns)),
            *verdicts(options, runs, list(matchers)),
        ],
    )
    _write(folder, options, outcome, runs, (device, patterns))
    return outcome


def _all_matchers(
    context: DeviceContext, graph: DataGraph, options: StrategiesOptions
) -> dict[str, Matcher]:
    """Matchers by name: under the requested limit, and under each share of the graph's bytes.

    Each limit has its own graph on the device, so that the limits share no cached data.
    """
    limit = parse_bytes(options.connect.get("memory_limit"))
    found = all_matchers(options.graph, DeviceGraph(context, graph), limit)
    for share in options.shares:
        beyond = all_matchers(
            options.graph, DeviceGraph(context, graph), round(share * whole_bytes(graph))
        )
        found |= {within(name, share): matcher for name, matcher in beyond.items()}
    return found


def _account(drawn: float, asked: int, queries: int) -> str:
    """Further costs of a run, and whether it completed."""
    peak = peak_bytes()
    memory = f"; the process took at most {peak / 2**30:.1f} GiB" if peak else ""
    ended = "" if asked == queries else f" Ended by hand: {asked} of {queries} queries were asked."
    return f"Drawn and sorted in {drawn:.1f} s{memory}.{ended}"


def _needs_more(only: Sequence[str]) -> bool:
    """True if a strategy runs whose kernels no other strategy shares."""
    return not only or any(each not in _COMMON for each in only)


def _sorter(context: DeviceContext) -> RowSorter:
    """Sorts on the device where that is faster than on the host."""
    wanted_from = context.profile.sorted_from

    def sort(given: Unsorted, *, with_order: bool) -> SortedRows | None:
        if wanted_from is None or len(given.starts) < wanted_from:
            return None
        return build_rows(context, given, with_order=with_order)

    return sort


def _chosen(matchers: Mapping[str, Matcher], only: Sequence[str]) -> Mapping[str, Matcher]:
    unknown = [each for each in only if each not in matchers]
    if unknown:
        raise ConfigurationError(f"--strategy is {unknown[0]!r}; there are: {', '.join(matchers)}.")
    return {
        name: matcher
        for name, matcher in matchers.items()
        if not only or name in only or strategy_of(name) in only
    }


# ------------------------------------------------------------------ measuring
def _measure(
    graph: DataGraph,
    patterns: Sequence[str],
    matchers: Mapping[str, Matcher],
    options: StrategiesOptions,
    progress: Progress,
) -> list[Timed]:
    """Runs strategies in random order for each query, so that other load affects all alike."""
    progress.phase("measuring", len(patterns) * len(options.forms))
    runs = list[Timed]()
    try:
        for run in _asked(graph, patterns, matchers, options, progress):
            runs.append(run)
            told = run.query, run.form, run.strategy, run.outcome, run.seconds, run.first
            stages = ", ".join(f"{name} {taken:.3f}" for name, taken in run.stages.items())
            logger.info("query %d, %s, %s: %s, %.4f s; first %.4f s (%s)", *told, stages)
    except KeyboardInterrupt:
        logger.info("ended by hand after %d runs", len(runs))
    return runs


def _asked(
    graph: DataGraph,
    patterns: Sequence[str],
    matchers: Mapping[str, Matcher],
    options: StrategiesOptions,
    progress: Progress,
) -> Iterator[Timed]:
    order = Random(options.seed)
    given_up = set[tuple[int, str]]()  # a strategy that times out on the count does not make rows
    for number, pattern in enumerate(patterns):
        for form in options.forms:
            names = list(matchers)
            order.shuffle(names)
            for name in names:
                if (number, name) in given_up:
                    yield Timed(number, form, name, "too long", options.timeout, None)
                    continue
                started = time.perf_counter()
                ask = _question(graph, pattern, form, name, matchers[name])
                planning = time.perf_counter() - started
                found = _fastest(ask, options, Timed(number, form, name, "", 0, None, planning))
                yield found
                if found.outcome == "too long":
                    given_up.add((number, name))
            progress.advance(1)


def _question(
    graph: DataGraph, pattern: str, form: str, name: str, matcher: Matcher
) -> Callable[[StrategyReport, float], int]:
    """A function that runs one query with one strategy until a deadline; it returns the count."""
    query = prepare(f"MATCH {pattern} RETURN count(*)")
    assert isinstance(query, Query)  # one pattern
    bound = bind(query, graph)
    everything = Rows(frozenset(range(len(bound.nodes))), frozenset())
    need = Count() if form == "count" else everything
    plan = plan_pattern(bound, graph.statistics, name.partition(" ")[0], need)
    if form == "count":
        return partial(_count, matcher, plan)
    return partial(_rows, matcher, plan, everything)


def _count(matcher: Matcher, plan: Plan, report: StrategyReport, deadline: float) -> int:
    return matcher.count(plan, Masks({}, {}), report, deadline)


def _rows(matcher: Matcher, plan: Plan, need: Rows, report: StrategyReport, deadline: float) -> int:
    chunks = matcher.embeddings(plan, Masks({}, {}), need, report, deadline)
    return sum(chunk.row_count for chunk in chunks)


def _fastest(
    ask: Callable[[StrategyReport, float], int], options: StrategiesOptions, planned: Timed
) -> Timed:
    """The first run, to which planning belongs, and the fastest counted run."""
    first, best = planned.first, 0.0
    found: int | None = None
    stages = dict[str, float]()
    for number in range(options.repetitions + 1):
        started, report = time.perf_counter(), StrategyReport()
        outcome = "ok"
        try:
            found = ask(report, time.monotonic() + options.timeout)
        except GpugdaError as error:
            outcome, found = _outcome(error), None
        seconds = time.perf_counter() - started
        if not number:
            first += seconds
            stages = {"plan": planned.first, **report.timings}
        best = seconds if number < 2 or outcome != "ok" else min(best, seconds)
        if outcome != "ok" or (number and seconds > _SLOW_SECONDS):
            break
    return replace(
        planned, outcome=outcome, seconds=best, embeddings=found, first=first, stages=stages
    )


def _outcome(error: GpugdaError) -> str:
    if isinstance(error, QueryTimeoutError):
        return "too long"
    return "too much memory" if isinstance(error, MemoryLimitError) else str(error)


def _write(
    folder: Path,
    options: StrategiesOptions,
    outcome: StrategiesOutcome,
    runs: Sequence[Timed],
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
