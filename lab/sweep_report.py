"""The report of a sweep: a table of the values by strategies, and who wins at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.published import FINDINGS
from lab.strategies_figures import bounded, markdown, mean_ms, mean_seconds
from lab.sweeps import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lab.strategies_options import Measured, StrategiesOptions, Timed

__all__ = ["sweep_notes", "sweep_tables"]


def sweep_tables(
    options: StrategiesOptions, measured: Sequence[Measured], names: Sequence[str]
) -> str:
    """For each form, mean milliseconds by value and strategy.

    Queries that take too long count with the limit (≥); where a strategy did not answer all, the
    number that it answered is added.
    """
    return "\n".join(_table(options, measured, names, form) for form in options.forms)


def _table(
    options: StrategiesOptions, measured: Sequence[Measured], names: Sequence[str], form: str
) -> str:
    rows = list[list[str]]()
    for each in measured:
        value = number_text(each.point.value or 0)
        by_name = _by_name(each, form)
        facts = [f"{each.nodes:,}", f"{each.relationships:,}"] if each.nodes else ["", ""]
        rows.append([value, *facts, *(_cell(by_name.get(name, ())) for name in names)])
    what = (options.sweep or "").partition("=")[0]
    head = [f"{what}, {form}", "nodes", "relationships"]
    return markdown([*head, *(f"{name}, mean ms" for name in names)], rows)


def _by_name(measured: Measured, form: str) -> Mapping[str, list[Timed]]:
    found: dict[str, list[Timed]] = {}
    for run in measured.runs:
        if run.form == form:
            found.setdefault(run.strategy, []).append(run)
    return found


def _cell(own: Sequence[Timed]) -> str:
    answered, text = sum(run.outcome == "ok" for run in own), mean_ms(own)
    return text if answered == len(own) else f"{text} ({answered} of {len(own)})"


def sweep_notes(
    options: StrategiesOptions, measured: Sequence[Measured], names: Sequence[str]
) -> list[str]:
    """What the paper says, how times change over the values, and who is the fastest at each."""
    what = (options.sweep or "").partition("=")[0]
    said = FINDINGS.get((options.graph, what))
    notes = [said] if said else []
    for form in options.forms:
        notes += _fastest(what, form, measured)
        notes += _trends(what, form, measured, names)
    return notes


def _fastest(what: str, form: str, measured: Sequence[Measured]) -> list[str]:
    """The fastest strategy by value, and against `extend`, wins and losses of the others."""
    wins, losses = list[str](), list[str]()
    for each in measured:
        means = _means(_by_name(each, form))
        if "extend" not in means or len(means) < 2:
            continue
        value = number_text(each.point.value or 0)
        best = min((name for name in means if name != "extend"), key=means.__getitem__)
        times = means[best] / means["extend"]
        if times >= 1:
            wins.append(f"{value} ({times:.3g} times as fast as {best})")
        else:
            losses.append(f"{value} ({best} is {1 / times:.3g} times as fast)")
    if not wins and not losses:
        return []
    return [
        f"{form}: extend is the fastest at {what} {', '.join(wins) or 'none'}; "
        f"slower than another at {', '.join(losses) or 'none'}."
    ]


def _means(by_name: Mapping[str, list[Timed]]) -> dict[str, float]:
    """Mean seconds by strategy, of those that answered all queries or were too slow for some."""
    found = {name: own for name, own in by_name.items() if len(bounded(own)) == len(own)}
    return {name: mean_seconds(own) for name, own in found.items()}


def _trends(what: str, form: str, measured: Sequence[Measured], names: Sequence[str]) -> list[str]:
    """How the mean times change from the first value to the last one."""
    ends = [each for each in measured if each.runs]
    if len(ends) < 2:
        return []
    first, last = (_means(_by_name(each, form)) for each in (ends[0], ends[-1]))
    changes = [
        f"{name} {last[name] / first[name]:.3g} times"
        for name in names
        if name in first and name in last
    ]
    values = " to ".join(number_text(each.point.value or 0) for each in (ends[0], ends[-1]))
    return [f"{form}, times from {what} {values}: {', '.join(changes)}."] if changes else []
