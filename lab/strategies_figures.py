"""Totals, means and medians of the runs of a strategy, in which timeouts count with their limit."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.strategies_options import Timed

__all__ = [
    "answered_by_all",
    "bounded",
    "markdown",
    "mean_ms",
    "mean_seconds",
    "median_ms",
    "total_s",
]


def answered_by_all(runs: Sequence[Timed]) -> set[int]:
    """Queries that every strategy answered."""
    failed = {run.query for run in runs if run.outcome != "ok"}
    return {run.query for run in runs} - failed


def bounded(runs: Sequence[Timed]) -> list[Timed]:
    """Runs whose time, or a lower bound of it, is known: answered, or ended by the limit."""
    return [run for run in runs if run.outcome in ("ok", "too long")]


def mean_seconds(runs: Sequence[Timed]) -> float:
    """Mean time; 0 if there are no runs."""
    return statistics.fmean([run.seconds for run in runs]) if runs else 0.0


def mean_ms(runs: Sequence[Timed]) -> str:
    """Mean in milliseconds, with ``≥`` if a timeout is among them."""
    known = bounded(runs)
    return f"{_least(known)}{1000 * mean_seconds(known):,.2f}" if known else "-"


def total_s(runs: Sequence[Timed]) -> str:
    """Sum in seconds, with ``≥`` if a timeout is among the runs."""
    known = bounded(runs)
    return f"{_least(known)}{sum(run.seconds for run in known):,.3f}" if known else "-"


def median_ms(runs: Sequence[Timed], *, first: bool = False) -> str:
    """Median of the answered runs in milliseconds: of the fastest ones, or of the first ones."""
    seconds = [run.first if first else run.seconds for run in runs if run.outcome == "ok"]
    return f"{1000 * statistics.median(seconds):,.2f}" if seconds else "-"


def _least(runs: Sequence[Timed]) -> str:
    return "≥ " if any(run.outcome != "ok" for run in runs) else ""


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)
