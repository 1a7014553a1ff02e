"""The report of ``gpugda bench --strategies``: tables, and comparison with published figures."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.bench.published import HARDWARE, PUBLISHED, published_seconds
from gpugda.bench.recipes import RECIPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph

__all__ = [
    "StrategiesOptions",
    "StrategiesOutcome",
    "Timed",
    "disagreeing",
    "notes_of",
    "strategy_of",
    "table_by_query",
    "table_of",
    "verdicts",
    "within",
]

_FORMS = ("count", "rows")
_WITHIN = " within "


@dataclass(frozen=True, slots=True)
class StrategiesOptions:
    """Options of the comparison.

    Args:
        graph: Name of the recipe.
        scale: Factor of its nodes and relationships.
        count: Number of query graphs.
        forms: ``count``, ``rows`` or both.
        only: Names of strategies and variants; empty for all.
        seed: Seed of graph and queries.
        repetitions: Counted runs, after an uncounted one.
        timeout: Seconds per run.
        shares: Shares of the graph's bytes; all strategies also run with each as memory limit.
        folder: Folder of the report.
        connect: ``device`` and ``memory_limit``, as in `gpugda.connect`.
    """

    graph: str = "enron"
    scale: float = 0.1
    count: int = 30
    forms: tuple[str, ...] = _FORMS
    only: tuple[str, ...] = ()
    seed: int = 1
    repetitions: int = 3
    timeout: float = 30.0
    shares: tuple[float, ...] = ()
    folder: str = "bench-results"
    connect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Timed:
    """The fastest run of one strategy on one query; ``embeddings`` is None if it failed.

    ``first`` is the time of planning and of the first, uncounted run, which includes one-time work
    of a strategy; ``stages`` are its parts.
    """

    query: int
    form: str
    strategy: str
    outcome: str
    seconds: float
    embeddings: int | None
    first: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class StrategiesOutcome:
    """Result of the comparison.

    Args:
        table: The table in Markdown.
        wrong: Queries on which the strategies disagree.
        notes: Notes to the table.
    """

    table: str
    wrong: list[str]
    notes: list[str]


def within(name: str, share: float) -> str:
    """Name of a strategy under a limit that is a share of the graph."""
    return f"{name}{_WITHIN}{share:g} of the graph"


def strategy_of(name: str) -> str:
    """Name of the strategy with its variant, without the limit."""
    return name.partition(_WITHIN)[0]


def disagreeing(runs: Sequence[Timed]) -> list[str]:
    """Queries with differing numbers of embeddings."""
    counts: dict[int, set[int]] = {}
    for run in runs:
        if run.embeddings is not None:
            counts.setdefault(run.query, set()).add(run.embeddings)
    return [f"query {number}" for number, found in counts.items() if len(found) > 1]


def table_of(options: StrategiesOptions, runs: Sequence[Timed], names: Sequence[str]) -> str:
    """A table in Markdown with a line per form and strategy."""
    head = ["asked for", "strategy", "answered", "first ms", "median ms", "median ms of all's"]
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


def table_by_query(options: StrategiesOptions, runs: Sequence[Timed], names: Sequence[str]) -> str:
    """For named queries: milliseconds of each with each strategy, and the embeddings."""
    titles, text = RECIPES[options.graph].patterns, ""
    for form in options.forms if titles else ():
        rows = [[form, "embeddings", *names], ["---"] * (len(names) + 2)]
        for number, title in enumerate(titles or ()):
            mine = [run for run in runs if run.query == number and run.form == form]
            own = {run.strategy: run for run in mine}
            found = {f"{run.embeddings:,}" for run in mine if run.embeddings is not None}
            if own:
                cells = [_milliseconds(own[name]) if name in own else "-" for name in names]
                rows.append([title, ", ".join(sorted(found)), *cells])
        text += "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return text


def _milliseconds(run: Timed) -> str:
    return f"{1000 * run.seconds:.2f}" if run.outcome == "ok" else run.outcome


def _answered_by_all(runs: Sequence[Timed]) -> set[int]:
    failed = {run.query for run in runs if run.outcome != "ok"}
    return {run.query for run in runs} - failed


def _figures(own: Sequence[Timed], common: set[int], base: float) -> list[str]:
    answered = [run for run in own if run.outcome == "ok"]
    shared = [run for run in answered if run.query in common]
    times = f"{_mean(shared) / base:.2f}" if shared and base else "-"
    return [
        f"{len(answered)} of {len(own)}",
        _median(answered, first=True),
        _median(answered),
        _median(shared),
        f"{1000 * _mean(shared):.2f}" if shared else "-",
        times,
    ]


def _mean(runs: Sequence[Timed]) -> float:
    return statistics.fmean([run.seconds for run in runs]) if runs else 0.0


def _median(runs: Sequence[Timed], *, first: bool = False) -> str:
    seconds = [run.first if first else run.seconds for run in runs]
    return f"{1000 * statistics.median(seconds):.2f}" if runs else "-"


def _published(options: StrategiesOptions, name: str) -> str:
    return PUBLISHED.get((options.graph, strategy_of(name)), "")


def notes_of(options: StrategiesOptions, graph: DataGraph, patterns: Sequence[str]) -> list[str]:
    """What was measured, and the hardware of the papers' figures."""
    sizes = RECIPES[options.graph].query_nodes
    what = " to ".join(map(str, dict.fromkeys([min(sizes), max(sizes)])))
    notes = [
        f"{options.graph} at scale {options.scale:g}: {graph.node_count:,} nodes, "
        f"{graph.relationship_count:,} relationships; {len(patterns)} queries of "
        f"{what} nodes. Relationships of an embedding are different; "
        "in the papers its nodes are, so there are fewer.",
        "Columns of all's: over the queries that every strategy answered.",
        *(f"The figures of {name}'s paper: {hardware}." for name, hardware in HARDWARE.items()),
    ]
    if options.scale != 1:
        notes.append("The papers' figures are of scale 1.")
    return notes


def verdicts(options: StrategiesOptions, runs: Sequence[Timed], names: Sequence[str]) -> list[str]:
    """Names strategies faster and slower than the paper's own system: counts, mean times.

    Empty if the graph is not of the paper's size. A strategy with unanswered queries is slower.
    """
    if options.scale != 1:
        return []
    sides: dict[bool, list[str]] = {True: [], False: []}
    for what, published, own in _beside_published(options, runs, names):
        seconds = _mean(own)
        answered = all(run.outcome == "ok" for run in own)
        times = f"{published / seconds:.3g} times" if answered else "not all answered"
        sides[answered and seconds < published].append(
            f"{what} ({times}, {published:,.3g} s there)"
        )
    return [
        f"{title} than the paper's own system: {', '.join(sides[side]) or 'none'}."
        for side, title in ((True, "Faster"), (False, "Slower"))
        if any(sides.values())
    ]


def _beside_published(
    options: StrategiesOptions, runs: Sequence[Timed], names: Sequence[str]
) -> Iterator[tuple[str, float, list[Timed]]]:
    """Name, published time and runs of everything with a published time."""
    titles = list(RECIPES[options.graph].patterns or ())
    for name in names:
        own = [run for run in runs if run.strategy == name and run.form == "count"]
        published = published_seconds(options.graph, strategy_of(name))
        if published is not None and own:
            yield name, published, own
        for run in own if titles else ():
            published = published_seconds(options.graph, strategy_of(name), titles[run.query])
            if published is not None:
                yield f"{name} on {titles[run.query]}", published, [run]
