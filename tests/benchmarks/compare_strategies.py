"""Runs many kinds of queries with every strategy, and lists those that `extend` does not win.

    python tests/benchmarks/compare_strategies.py [--graphs enron:0.25,got] [--device DEVICE]
        [--per-kind 2] [--json FILE]

A graph is a recipe with its scale (`lab.recipes`), or the name of a folder or a file of the
real graphs beside the checkout. Query graphs are drawn: random walks, paths, stars, trees, cycles
and dense parts of the graph, with and without labels and types; each is asked as a count, and, if it
is small, as rows. Answers must be equal. A query's time is the best of some runs after the first
ones, in which caches fill; on a CPU, it is the processor time of all cores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
from drawn_patterns import Pattern, drawn_patterns  # noqa: E402
from guide_graphs import GRAPHS  # noqa: E402
from test_strategies import SNAP, clock_of, snap  # noqa: E402

import gpugda  # noqa: E402
from gpugda.bench.graphs import graph_source  # noqa: E402
from gpugda.errors import GpugdaError, QueryTimeoutError  # noqa: E402
from gpugda.loading import load  # noqa: E402
from gpugda.match.registry import STRATEGIES  # noqa: E402
from gpugda.ports import GraphBatches, GraphSource, SilentProgress  # noqa: E402
from lab.recipes import RECIPES, recipe_batches  # noqa: E402

DATA = SNAP.parent
DEFAULT = (
    "enron:0.25,gowalla:0.1,patent:0.02,watdiv:0.02,dbpedia:0.01,wd:0.002,db:0.002,road:0.02,"
    "stwig:1,youtube:0.1,livejournal:0.01"
)
SETTLE, RUNS = 2, 3
LONG = 1.0
"""Seconds: a slower query runs less often."""
FAR = 4
"""A strategy that takes this many times as long as `extend` runs less often."""
MIN_LIMIT = 0.25
"""Seconds that a strategy has at least; more only if it can still be faster than `extend`."""
MAX_ROWS = 200_000
COMPARED_ROWS = 5_000
"""Larger results are compared by the number of rows only."""
RATIOS = (1.0, 1.5)


@dataclass
class Compared:
    """One query: seconds by strategy, and what `extend` and the fastest strategy reported.

    ``first`` are the first runs' seconds; ``failed`` are the strategies without an answer.
    """

    graph: str
    kind: str
    text: str
    rows: int
    seconds: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    reports: dict[str, Any] = field(default_factory=dict)

    def ratio(self, other: str) -> float:
        """How many times as long as another strategy `extend` takes; 0 if that one fails."""
        return self.seconds["extend"] / self.seconds[other] if other in self.seconds else 0.0


class Drawn:
    """The source of a recipe's graph."""

    def __init__(self, name: str, scale: float) -> None:
        self.name, self._scale = name, scale

    @contextmanager
    def read(self, progress: Any) -> Iterator[GraphBatches]:
        yield recipe_batches(self.name, self._scale, seed=1)


def source_of(name: str) -> GraphSource | None:
    """A recipe's graph or a real one; None if its file is absent."""
    recipe, _, scale = name.partition(":")
    if recipe in RECIPES:
        return Drawn(recipe, float(scale or 1))
    if "." in name:
        return snap(name)
    if not (DATA / name.partition("-ppi")[0]).exists() and name != "yeast":
        return None
    if name == "yeast":
        return graph_source(name, DATA)
    made: Any = GRAPHS[name](DATA)
    nodes = {"id": range(len(made.nodes)), "labels": [list(each[0]) for each in made.nodes]}
    ends = [(a, b, kind) for a, kind, b, _ in made.relationships]
    names = ("source", "target", "type")
    return gpugda.graph(nodes, dict(zip(names, map(list, zip(*ends, strict=True)), strict=True)))


# ------------------------------------------------------------------ measuring
def compare(name: str, asked: argparse.Namespace, clock: Callable[[], float]) -> list[Compared]:
    """All queries on one graph."""
    source = source_of(name)
    if source is None:
        print(f"{name}: absent")
        return []
    patterns = patterns_on(source, asked)
    found: list[Compared] = []
    with gpugda.connect(source, device=asked.device) as accelerator:
        compile_for(accelerator, patterns)
        ended = time.perf_counter() + asked.within
        for kind, pattern, nodes in patterns:
            if time.perf_counter() > ended:
                break
            counted = measured(accelerator, f"MATCH {pattern} RETURN count(*)", asked, clock)
            if counted is None:
                continue
            found.append(tell(Compared(name, kind, *counted), asked))
            if found[-1].rows <= MAX_ROWS and "rows" in asked.forms:
                text = f"MATCH {pattern} RETURN {', '.join(nodes)}"
                rows = measured(accelerator, text, asked, clock)
                if rows is not None:
                    found.append(tell(Compared(name, f"{kind}, rows", *rows), asked))
    print(f"{name}: {summary(found)}", flush=True)
    return found


def patterns_on(source: GraphSource, asked: argparse.Namespace) -> list[Pattern]:
    """The given patterns, or drawn ones, in random order: the time may not suffice for all."""
    if asked.patterns:
        lines = [each for each in asked.patterns.read_text().splitlines() if each]
        return [("given", each, ["count(*)"]) for each in lines]
    graph = load(source, SilentProgress()).graph
    drawn = drawn_patterns(graph, asked.per_kind, np.random.default_rng(asked.seed))
    patterns = [each for each in drawn if each[0].startswith(asked.kinds)]
    Random(asked.seed).shuffle(patterns)
    return patterns


def compile_for(accelerator: gpugda.Accelerator, patterns: Sequence[Pattern]) -> None:
    """Runs some of the patterns, so that kernels are compiled."""
    for _, pattern, nodes in patterns[:: max(1, len(patterns) // 6)]:
        for returned, strategy in product(("count(*)", f"{nodes[0]} LIMIT 5"), STRATEGIES):
            text = f"MATCH {pattern} RETURN {returned}"
            with contextlib.suppress(QueryTimeoutError):
                accelerator.run(text, engine="gpu", strategy=strategy, timeout=0.4)


Figures = tuple[str, int, dict[str, float], dict[str, float], dict[str, str], dict[str, Any]]


def measured(
    accelerator: gpugda.Accelerator,
    text: str,
    asked: argparse.Namespace,
    clock: Callable[[], float],
) -> Figures | None:
    """One query with all strategies; None if `extend` takes longer than the limit.

    The runs of a strategy follow each other: what one keeps of a query is dropped when another runs.
    """
    seconds: dict[str, float] = {}
    first: dict[str, float] = {}
    failed: dict[str, str] = {}
    reports: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    limit = asked.timeout
    for strategy in asked.only.split(",") if asked.only else STRATEGIES:
        for number in range(SETTLE + RUNS):
            started, since = clock(), time.perf_counter()
            try:
                result = accelerator.run(text, engine="gpu", strategy=strategy, timeout=limit)
                rows = result.row_count
                taken = clock() - started
            except GpugdaError as error:
                slow = isinstance(error, QueryTimeoutError)
                failed[strategy] = "too long" if slow else str(error)
                break
            if not number:
                answers[strategy] = answer_of(result, rows)
                first[strategy] = taken
                if strategy == "extend":
                    limit = min(limit, max(MIN_LIMIT, 4 * (time.perf_counter() - since)))
            if number < SETTLE or taken < seconds[strategy]:
                seconds[strategy] = taken
                timings = {key: round(each, 5) for key, each in result.summary.timings.items()}
                reports[strategy] = [timings, list(result.summary.steps)]
            if number and taken > min(LONG, FAR * seconds["extend"]):
                break
        if strategy == "extend" and failed:
            return None
    right = answers["extend"]
    wrong = [each for each, answer in answers.items() if answer != right]
    assert not wrong, f"{text}: {wrong} and extend differ: {answers}"
    fastest = min(seconds, key=lambda one: seconds[one])
    kept = {each: reports[each] for each in {"extend", fastest}}
    rows = right if isinstance(right, int) else len(right)
    return text, rows, seconds, first, failed, kept


def answer_of(result: Any, rows: int) -> Any:
    """The count, the rows in order if there are few, or their number."""
    if result.keys() == ("count(*)",):
        return result.values()[0][0]
    if rows > COMPARED_ROWS:
        return rows
    return sorted(tuple(node.element_id for node in row) for row in result.values())


def tell(query: Compared, asked: argparse.Namespace) -> Compared:
    """Prints a query that another strategy answers faster, or any if that is asked for."""
    fastest = min(query.seconds, key=lambda each: query.seconds[each])
    if query.ratio(fastest) <= RATIOS[0] and not asked.every:
        return query
    times = ", ".join(f"{name} {1e3 * each:.2f}" for name, each in query.seconds.items())
    print(
        f"{query.ratio(fastest):.2f} {query.kind}: {query.rows:,}: {times} ms; {query.text}",
        flush=True,
    )
    if query.ratio(fastest) > RATIOS[1]:
        for name, (timings, steps) in query.reports.items():
            print(f"    {name}: {timings}", *steps, sep="\n        ", flush=True)
    return query


def summary(queries: Sequence[Compared]) -> str:
    """Of how many queries `extend` is at least as fast as each strategy, and half as slow again."""
    told = [f"{len(queries)} queries"]
    for other in STRATEGIES:
        ratios = [each.ratio(other) for each in queries if other not in each.failed]
        if other == "extend" or not queries:
            continue
        shares = [
            100 * sum(each.ratio(other) <= most for each in queries) / len(queries)
            for most in RATIOS
        ]
        middle = 1 / statistics.median(ratios) if ratios else 0.0
        told.append(
            f"{other}: {shares[0]:.1f} % (within 1.5: {shares[1]:.1f} %; median {middle:.1f} times)"
        )
    return "; ".join(told)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", default=DEFAULT)
    parser.add_argument("--device")
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", default="count,rows")
    parser.add_argument("--only", default="", help="strategies, instead of all")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds per query")
    parser.add_argument("--kinds", default="", help="how the kinds that are asked begin")
    parser.add_argument("--patterns", type=Path, help="a file of patterns, instead of drawn ones")
    parser.add_argument("--every", action="store_true", help="print all queries")
    parser.add_argument("--within", type=float, default=3600, help="seconds per graph")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    clock, found = clock_of(asked.device), list[Compared]()
    for name in asked.graphs.split(","):
        found += compare(name, asked, clock)
    print(f"all: {summary(found)}")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == "__main__":
    main()
