"""The report of ``python -m lab strategies``: tables, and comparison with published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.bench.machine import peak_bytes
from lab.published import GOALS, HARDWARE, PUBLISHED, paper_of, published_seconds
from lab.strategies_figures import (
    answered_by_all,
    bounded,
    markdown,
    mean_ms,
    mean_seconds,
    median_ms,
    total_s,
)
from lab.strategies_options import StrategiesOutcome, strategy_of
from lab.sweep_report import sweep_notes, sweep_tables
from lab.sweeps import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lab.strategies_options import Measured, StrategiesOptions, Timed

__all__ = ["report_of", "verdicts"]

_HEAD = (
    *("asked for", "strategy", "answered", "too long", "first ms", "total s", "mean ms"),
    *("median ms", "mean ms of all's", "median ms of all's", "times extend"),
    *("the paper's figure", "share of it"),
)


def report_of(
    options: StrategiesOptions, measured: Sequence[Measured], names: Sequence[str], device: str
) -> StrategiesOutcome:
    """Tables, wrong queries and notes of all graphs.

    Args:
        options: What was asked for.
        measured: The graphs; without a sweep, one.
        names: What was measured, in the order of the tables.
        device: Name of the device that ran it.
    """
    table = sweep_tables(options, measured, names) if options.sweep else ""
    notes, wrong = _general_notes(options, device), list[str]()
    if options.sweep:
        notes += sweep_notes(options, measured, names)
    for each in measured:
        prefix = "" if each.point.value is None else f"{_title(options, each)}: "
        notes += [prefix + note for note in _notes_of(options, each)]
        notes += [prefix + note for note in verdicts(options, each, names)]
        wrong += [prefix + query for query in _disagreeing(each.runs)]
        if each.runs:
            table += f"\n## {_title(options, each)}\n\n" if prefix else ""
            table += _table_of(options, each, names) + _table_by_query(options, each, names)
    return StrategiesOutcome(table, wrong, [*notes, *_peak()])


def _title(options: StrategiesOptions, measured: Measured) -> str:
    name = (options.sweep or "").partition("=")[0]
    return f"{name} {number_text(measured.point.value or 0)}"


def _general_notes(options: StrategiesOptions, device: str) -> list[str]:
    """How to read the tables, and the hardware of both sides."""
    paper = paper_of(options.graph)
    return [
        "Relationships of an embedding are different; in the papers its nodes are, so there are "
        "fewer.",
        "Total and mean are over the queries that a strategy answered or was too slow for, which "
        "count with the limit (≥); the papers give means. Columns of all's: over the queries that "
        "every strategy answered.",
        f"Measured here on {device}. The figures of {paper}'s paper: {HARDWARE[paper]}.",
    ]


def _notes_of(options: StrategiesOptions, measured: Measured) -> list[str]:
    """What was measured on one graph, and what was not."""
    point = measured.point
    left_out = [measured.left_out] if measured.left_out else []
    if options.sweep or not measured.relationships:
        return left_out
    sizes = point.recipe.query_nodes
    what = " to ".join(map(str, dict.fromkeys([min(sizes), max(sizes)])))
    notes = [
        f"{options.graph} at scale {point.scale:g}: {measured.nodes:,} nodes, "
        f"{measured.relationships:,} relationships; {len(measured.patterns)} queries of "
        f"{what} nodes. Drawn and sorted in {measured.drawn:.1f} s."
    ]
    if not point.as_published:
        notes.append("The papers' figures are of scale 1.")
    return [*notes, *left_out]


def _peak() -> list[str]:
    peak = peak_bytes()
    return [f"The process took at most {peak / 2**30:.1f} GiB."] if peak else []


def _disagreeing(runs: Sequence[Timed]) -> list[str]:
    """Queries with differing numbers of embeddings."""
    counts: dict[int, set[int]] = {}
    for run in runs:
        if run.embeddings is not None:
            counts.setdefault(run.query, set()).add(run.embeddings)
    return [f"query {number}" for number, found in counts.items() if len(found) > 1]


# ------------------------------------------------------------------ tables
def _table_of(options: StrategiesOptions, measured: Measured, names: Sequence[str]) -> str:
    """A table in Markdown with a line per form and strategy."""
    rows = list[list[str]]()
    for form in options.forms:
        mine = [run for run in measured.runs if run.form == form]
        common = answered_by_all(mine)
        base = mean_seconds([each for each in mine if _is(each, "extend", common)])
        for name in names:
            own = [run for run in mine if run.strategy == name]
            rows.append(
                [form, name, *_figures(own, common, base), *_published(options, measured, own)]
            )
    return markdown(_HEAD, rows)


def _is(run: Timed, name: str, queries: set[int]) -> bool:
    return run.strategy == name and run.query in queries


def _figures(own: Sequence[Timed], common: set[int], base: float) -> list[str]:
    answered = [run for run in own if run.outcome == "ok"]
    shared = [run for run in answered if run.query in common]
    return [
        f"{len(answered)} of {len(own)}",
        str(sum(run.outcome == "too long" for run in own)),
        median_ms(own, first=True),
        total_s(own),
        mean_ms(own),
        median_ms(own),
        mean_ms(shared),
        median_ms(shared),
        f"{mean_seconds(shared) / base:.2f}" if shared and base else "-",
    ]


def _published(options: StrategiesOptions, measured: Measured, own: Sequence[Timed]) -> list[str]:
    """The paper's figure and our share of it, which is known for a graph of the paper's size."""
    name = strategy_of(own[0].strategy) if own else ""
    figure = PUBLISHED.get((options.graph, name), "")
    seconds = published_seconds(options.graph, name)
    known = bounded(own)
    if seconds is None or not known or not measured.point.as_published:
        return [figure, ""]
    least = "" if len(known) == len(own) and all(run.outcome == "ok" for run in own) else "≥ "
    return [figure, f"{least}{mean_seconds(known) / seconds:.2g}"]


def _table_by_query(options: StrategiesOptions, measured: Measured, names: Sequence[str]) -> str:
    """For named queries: milliseconds of each with each strategy, and the embeddings."""
    titles, text = measured.point.recipe.patterns, ""
    for form in options.forms if titles else ():
        rows = list[list[str]]()
        for number, title in enumerate(titles or ()):
            mine = [run for run in measured.runs if run.query == number and run.form == form]
            own = {run.strategy: run for run in mine}
            found = {f"{run.embeddings:,}" for run in mine if run.embeddings is not None}
            if own:
                cells = [_milliseconds(own[name]) if name in own else "-" for name in names]
                rows.append([title, ", ".join(sorted(found)), *cells])
        text += "\n" + markdown([form, "embeddings", *names], rows)
    return text


def _milliseconds(run: Timed) -> str:
    return f"{1000 * run.seconds:.2f}" if run.outcome == "ok" else run.outcome


# ------------------------------------------------------------------ wins and losses
def verdicts(options: StrategiesOptions, measured: Measured, names: Sequence[str]) -> list[str]:
    """Names strategies faster and slower than the paper's own system: counts, mean times.

    Empty if the graph is not the paper's. A strategy with unanswered queries is slower. For
    `extend`, says whether it takes at most the share of the paper's time that is its goal.
    """
    if not measured.point.as_published or not measured.runs:
        return []
    sides: dict[bool, list[str]] = {True: [], False: []}
    goals = list[str]()
    for what, published, own in _beside_published(options, measured, names):
        seconds = mean_seconds(own)
        answered = all(run.outcome == "ok" for run in own)
        times = f"{published / seconds:.3g} times" if answered else "not all answered"
        sides[answered and seconds < published].append(
            f"{what} ({times}, {published:,.3g} s there)"
        )
        if answered and own[0].strategy.startswith("extend"):
            goals.append(_goal(paper_of(options.graph), what, published / seconds))
    return [
        f"{title} than the paper's own system: {', '.join(sides[side]) or 'none'}."
        for side, title in ((True, "Faster"), (False, "Slower"))
        if any(sides.values())
    ] + goals


def _goal(paper: str, what: str, times: float) -> str:
    """Whether a time is at most the wanted share of the published one."""
    wanted, share = GOALS[paper]
    reached = f"at most {share}, as is the goal" if times >= wanted else f"more than {share}"
    return f"{what} takes 1/{times:.3g} of the time of {paper}'s own system: {reached}."


def _beside_published(
    options: StrategiesOptions, measured: Measured, names: Sequence[str]
) -> Iterator[tuple[str, float, list[Timed]]]:
    """Name, published time and runs of everything with a published time."""
    titles = list(measured.point.recipe.patterns or ())
    for name in names:
        own = [run for run in measured.runs if run.strategy == name and run.form == "count"]
        published = published_seconds(options.graph, strategy_of(name))
        if published is not None and own:
            yield name, published, own
        for run in own if titles else ():
            published = published_seconds(options.graph, strategy_of(name), titles[run.query])
            if published is not None:
                yield f"{name} on {titles[run.query]}", published, [run]
