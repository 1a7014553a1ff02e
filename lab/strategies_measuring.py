"""Runs each query with each strategy, for the comparison of strategies."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from gpugda.errors import GpugdaError, MemoryLimitError, QueryTimeoutError
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.execute.patterns.oriented_form import may_be_oriented, timing_unoriented
from gpugda.execute.pipeline import one_pattern
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.engine import Engine
from gpugda.match.need import Count, Rows
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.query.prepare import prepare
from lab.strategies_options import Timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan
    from gpugda.ports import Progress
    from lab.strategies_options import StrategiesOptions

__all__ = ["measured_runs"]

logger = logging.getLogger(__name__)
_SLOW_SECONDS = 1.0
"""Above this time, a query is not run again; its first run counts."""


def measured_runs(
    graph: DataGraph,
    patterns: Sequence[str],
    matchers: Mapping[str, Matcher],
    options: StrategiesOptions,
    progress: Progress,
) -> Iterator[Timed]:
    """Yields runs; strategies in random order for each query, so that load affects all alike."""
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
                found = _timed(graph, pattern, matchers[name], options, (number, form, name))
                _log(found)
                yield found
                if found.outcome == "too long":
                    given_up.add((number, name))
            progress.advance(1)


def _log(run: Timed) -> None:
    told = run.query, run.form, run.strategy, run.outcome, run.seconds, run.first
    stages = ", ".join(f"{name} {taken:.3f}" for name, taken in run.stages.items())
    logger.info("query %d, %s, %s: %s, %.4f s; first %.4f s (%s)", *told, stages)


def _timed(
    graph: DataGraph,
    pattern: str,
    matcher: Matcher,
    options: StrategiesOptions,
    named: tuple[int, str, str],
) -> Timed:
    number, form, name = named
    started = time.perf_counter()
    plan, ask = _question(graph, pattern, form, name, matcher)
    planning = time.perf_counter() - started
    if plan.declined:
        return Timed(number, form, name, plan.declined, 0, None, planning)
    return _fastest(ask, options, Timed(number, form, name, "", 0, None, planning))


def _question(
    graph: DataGraph, pattern: str, form: str, name: str, matcher: Matcher
) -> tuple[Plan, Callable[[StrategyReport, float], int]]:
    """The plan of one query, and a function that runs it until a deadline and returns the count."""
    query = one_pattern(prepare(f"MATCH {pattern} RETURN count(*)"))
    assert query is not None
    bound = bind(query, graph)
    everything = Rows(frozenset(range(len(bound.nodes))), frozenset())
    need = Count() if form == "count" else everything
    plan = plan_pattern(bound, graph.statistics, name.partition(" ")[0], need)
    if form == "count":
        return plan, partial(_count, matcher, plan)
    return plan, partial(_rows, matcher, plan, everything)


def _count(matcher: Matcher, plan: Plan, report: StrategyReport, deadline: float) -> int:
    """As a query counts: `extend` has other ways than its join, which count without rows."""
    count = partial(matcher.count, plan, Masks({}, {}), report, deadline)
    if not isinstance(matcher, Engine) or not may_be_oriented(plan.bound):
        return count()
    graph = matcher.graph.graph
    found = count_oriented(plan, graph, matcher, {}, report, deadline)
    if found is None:
        with timing_unoriented(plan, graph):
            found = count()
    return found


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
