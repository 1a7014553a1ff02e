"""A table of queries on one, two and more devices of a machine, with the answers compared."""

from __future__ import annotations

import json
import re
import statistics
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.api import connect
from gpugda.errors import ConfigurationError
from gpugda.match import exchange
from gpugda.match.exchange import ExchangeLimits
from gpugda.ports import GraphBatches
from lab.recipes import RECIPES, Recipe, make_recipe, recipe_batches, recipe_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from gpugda.accelerator import Accelerator
    from gpugda.ports import Progress

__all__ = ["QUERIES", "Line", "ScaleOptions", "ScaleOutcome", "run_scale", "scale_table"]

_RMAT: Final = (0.57, 0.19, 0.19)
_LABELS: Final = 4
_SEEDED, _WALKED = "stwig", "gowalla"
"""Recipes whose name seeds all graphs, and on which random walks make a pattern."""
_FIRST_RUNS: Final = {True: 2, False: 10}
"""Runs that compile, copy, plan and look for the number of tasks, and do not count: on one device,
and on several."""
_START_SECONDS: Final = 20.0
"""Time for all devices to take part in a query."""
_TASKS: Final = re.compile(r"exchange: .* in (\d+) tasks;")
_PLACE: Final = re.compile(r"[;,] ([^,;]+?): (\d+) in ([\d.e+-]+) s")
_BYTES: Final = re.compile(r"; ([\d,]+) bytes")


@dataclass(frozen=True, slots=True)
class ScaleOptions:
    """What is measured.

    Args:
        devices: The devices; the first ones are used if fewer are asked for.
        counts: Numbers of devices, ascending; all answers must be those of the first.
        scale: Power of two of the nodes of the R-MAT graph.
        cycle_scale: The same of the graph on which pentagons are counted.
        degree: Relationships per node of both.
        walks: Scale of the graph with 100 labels, on which patterns of 12 nodes are counted.
        only: Names of queries; empty for all.
        repetitions: Runs that count.
        always: True to divide each pattern, whether that pays or not.
        seed: Of the graphs.
        memory_limit: Of each device, as for `connect`.
    """

    devices: Sequence[str | int]
    counts: Sequence[int]
    scale: int = 18
    cycle_scale: int = 14
    degree: int = 16
    walks: float = 0.1
    only: Sequence[str] = ()
    repetitions: int = 5
    always: bool = True
    seed: int = 1
    memory_limit: str | None = None


@dataclass(frozen=True, slots=True)
class ScaleQuery:
    """A query of the table.

    Args:
        graph: Key of its graph.
        text: The query; ``{walk}`` is a pattern by a random walk.
        is_table: True to read an Arrow table, whose bag of rows must be equal; else the values.
    """

    graph: str
    text: str
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A query on a number of devices.

    Args:
        query: Its name.
        devices: The number of devices.
        seconds: Median, from ``run`` to the last value.
        tasks: Number of tasks of the run whose time is the median; 0 if nothing was divided.
        places: Seconds that each device was busy in it.
        moved: Bytes of the tasks' answers.
        answer: What was found.
    """

    query: str
    devices: int
    seconds: float
    tasks: int
    places: tuple[float, ...]
    moved: int
    answer: object


@dataclass(slots=True)
class ScaleOutcome:
    """All lines, seconds of opening by number of devices and graph, and wrong queries."""

    lines: list[Line] = field(default_factory=list)
    opened: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Writes all as JSON, for `lab.scale_model`."""
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def _digest(rows: Any) -> object:
    table = np.column_stack([rows[name].to_numpy() for name in rows.column_names])
    return len(table), int(_mixed(table).sum(dtype=np.uint64))


def _mixed(table: Any) -> Any:
    """A number per row, whose sum over a bag of rows hardly any other bag has."""
    found = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        found = (found ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


QUERIES: Final = {
    "squares": ScaleQuery("rmat", "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)"),
    "undirected squares": ScaleQuery("rmat", "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)"),
    "undirected triangles": ScaleQuery("rmat", "MATCH (a)--(b)--(c)--(a) RETURN count(*)"),
    "pentagons": ScaleQuery("cycles", "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(a) RETURN count(*)"),
    "labelled squares": ScaleQuery(
        "rmat", "MATCH (a:L0)-->(b:L1)-->(c:L2)<--(d:L0)<--(a) RETURN count(*)"
    ),
    "12 nodes with labels": ScaleQuery("walks", "MATCH {walk} RETURN count(*)"),
    "groups by node": ScaleQuery(
        "rmat", "MATCH (a:L0)-->(b)-->(c:L1)-->(a) RETURN id(a) AS a, count(*) AS n", is_table=True
    ),
    "shortest paths between sets": ScaleQuery(
        "rmat",
        "MATCH (a:L2), (b:L3) WHERE id(a) % 97 = 5 AND id(b) % 97 = 7 AND a <> b "
        "MATCH p = shortestPath((a)-[*..6]->(b)) RETURN count(*), sum(length(p))",
        is_table=True,
    ),
    "rows to Arrow": ScaleQuery(
        "rmat",
        "MATCH (a:L2)-->(b:L3)-->(c:L2) RETURN id(a) AS a, id(b) AS b, id(c) AS c",
        is_table=True,
    ),
}
"""Queries by name. The R-MAT graph has four labels, the first of which have most nodes."""


class _Drawn:
    """The graph of a recipe as a source, drawn when it is first read."""

    def __init__(self, name: str, recipe: Recipe, scale: float, seed: int) -> None:
        self.name = name
        self._given = scale, seed, recipe

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """The graph."""
        progress.phase(f"drawing {self.name}")
        yield GraphBatches(*self.batches)

    @cached_property
    def batches(self) -> tuple[list[Any], list[Any]]:
        """The batches of its nodes and of its relationships."""
        drawn = recipe_batches(_SEEDED, *self._given)
        return list(drawn.nodes), list(drawn.relationships)


def _rmat(name: str, scale: int, degree: int, seed: int) -> _Drawn:
    nodes = 1 << scale
    recipe = Recipe(nodes, degree * nodes, _LABELS, 1, None, _RMAT)
    return _Drawn(name, recipe, 1.0, seed)


def _graphs(asked: ScaleOptions) -> dict[str, _Drawn]:
    walks = _Drawn("power law with labels", RECIPES[_WALKED], asked.walks, asked.seed)
    return {
        "rmat": _rmat(f"R-MAT {asked.scale}", asked.scale, asked.degree, asked.seed),
        "cycles": _rmat(f"R-MAT {asked.cycle_scale}", asked.cycle_scale, asked.degree, asked.seed),
        "walks": walks,
    }


def run_scale(asked: ScaleOptions, say: Callable[[str], object]) -> ScaleOutcome:
    """Runs each query on each number of devices.

    Args:
        asked: What is measured.
        say: Receives each line of the table as soon as it is known.

    Raises:
        ConfigurationError: There is no such query, or there are too few devices.
    """
    unknown = [each for each in asked.only if each not in QUERIES]
    if unknown:
        raise ConfigurationError(f"{unknown[0]!r} is none of {', '.join(map(repr, QUERIES))}.")
    if not asked.counts or max(asked.counts) > len(asked.devices) or min(asked.counts) < 1:
        raise ConfigurationError(f"counts is {asked.counts}, with {len(asked.devices)} devices.")
    chosen = {name: QUERIES[name] for name in asked.only or QUERIES}
    outcome = ScaleOutcome()
    for key, source in _graphs(asked).items():
        queries = {name: each for name, each in chosen.items() if each.graph == key}
        if key == "walks" and queries:
            queries = _with_walks(queries, asked)
        if queries:
            _ = source.batches  # drawn before anything is timed
        for count in asked.counts if queries else ():
            _measure_on(source, queries, count, asked, outcome, say)
    return outcome


def _with_walks(queries: dict[str, ScaleQuery], asked: ScaleOptions) -> dict[str, ScaleQuery]:
    """The same with a pattern; no queries if no random walk reaches enough nodes."""
    recipe = RECIPES[_WALKED]
    graph = make_recipe(_SEEDED, asked.walks, asked.seed, recipe=recipe)
    walk = recipe_queries(_WALKED, graph, 1, asked.seed)[0]
    if not walk:
        return {}
    return {
        name: replace(query, text=query.text.replace("{walk}", walk))
        for name, query in queries.items()
    }


def _measure_on(
    source: _Drawn,
    queries: dict[str, ScaleQuery],
    count: int,
    asked: ScaleOptions,
    outcome: ScaleOutcome,
    say: Callable[[str], object],
) -> None:
    before = exchange.LIMITS
    if asked.always:
        exchange.LIMITS = ExchangeLimits(min_seconds=0.0)
    started = time.perf_counter()
    given: dict[str, Any] = {"memory_limit": asked.memory_limit, "warm": True}
    try:
        with connect(source, devices=list(asked.devices[:count]), **given) as accelerator:
            accelerator.run("MATCH (a)-->(b) RETURN count(*)").values()
            outcome.opened[f"{source.name}, {count}"] = time.perf_counter() - started
            for name, query in queries.items():
                line = _measured(accelerator, name, query, count, asked.repetitions)
                first = next((each for each in outcome.lines if each.query == name), line)
                if line.answer != first.answer:
                    outcome.wrong.append(f"{name} on {count}: {line.answer}, not {first.answer}")
                outcome.lines.append(line)
                say(_row(line, first))
    finally:
        exchange.LIMITS = before


def _measured(
    accelerator: Accelerator, name: str, query: ScaleQuery, count: int, repetitions: int
) -> Line:
    def run() -> tuple[float, str, object]:
        started = time.perf_counter()
        result = accelerator.run(query.text, engine="gpu")
        read = result.to_arrow() if query.is_table else result.values()
        seconds = time.perf_counter() - started
        found = _digest(read) if query.is_table else read
        said = [each for each in result.summary.steps if each.startswith("exchange: ")]
        return seconds, "".join(said), found

    _wait_for_all(run, count)
    runs = sorted((run() for _ in range(repetitions)), key=lambda each: each[0])
    _seconds, said, answer = runs[len(runs) // 2]
    tasks, moved = _TASKS.search(said), _BYTES.search(said)
    return Line(
        name,
        count,
        statistics.median(each[0] for each in runs),
        int(tasks[1]) if tasks else 0,
        tuple(float(each[2]) for each in _PLACE.findall(said)),
        int(moved[1].replace(",", "")) if moved else 0,
        answer,
    )


def _wait_for_all(run: Callable[[], tuple[float, str, object]], count: int) -> None:
    """Runs a query until all devices take part, or it is clear that it is not divided."""
    ends = time.monotonic() + _START_SECONDS
    for number in range(1_000_000):
        _, said, _ = run()
        parts = len(_PLACE.findall(said))
        is_settled = not said or parts == count or time.monotonic() > ends
        if number + 1 >= _FIRST_RUNS[count == 1] and is_settled:
            return


# ------------------------------------------------------------------ the table
_HEAD: Final = (
    "| query | devices | seconds | times as fast | tasks | longest place | mean place | bytes |",
    "|---|---|---|---|---|---|---|---|",
)


def _row(line: Line, first: Line) -> str:
    longest = f"{max(line.places):.3f} s" if line.places else "-"
    mean = f"{statistics.mean(line.places):.3f} s" if line.places else "-"
    cells = (
        line.query,
        line.devices,
        f"{line.seconds:.3f}",
        f"{first.seconds / line.seconds:.2f}",
        line.tasks or "not divided",
        longest,
        mean,
        f"{line.moved:,}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def scale_table(outcome: ScaleOutcome) -> str:
    """The table in Markdown, the geometric means, and the seconds of opening."""
    lines, found = outcome.lines, list(_HEAD)
    alone: dict[str, Line] = {}
    lines = sorted(lines, key=lambda line: (list(QUERIES).index(line.query), line.devices))
    found += [_row(each, alone.setdefault(each.query, each)) for each in lines]
    found.append("")
    found.extend(_means(lines, alone))
    found += [f"opened {name}: {seconds:.1f} s" for name, seconds in outcome.opened.items()]
    return "\n".join([*found, ""])


def _means(lines: Iterable[Line], alone: dict[str, Line]) -> Iterator[str]:
    divided = [each for each in lines if each.tasks and alone[each.query].seconds >= 0.1]
    for count in sorted({each.devices for each in divided}):
        gains = [
            alone[each.query].seconds / each.seconds for each in divided if each.devices == count
        ]
        mean = statistics.geometric_mean(gains)
        yield (
            f"{count} devices, {len(gains)} divided queries of 0.1 s or more: {mean:.2f} times as "
            f"fast in the geometric mean, {min(gains):.2f} the least"
        )
