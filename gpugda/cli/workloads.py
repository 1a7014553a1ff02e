"""``gpugda bench --workload`` and ``--strategies``: benchmarks with their own queries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from gpugda.cli.failures import say
from gpugda.cli.progress import shown_progress
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.bench.options import BenchOptions

__all__ = ["compare_strategies", "run_workload"]

_WRONG = 1


def run_workload(name: str, asked: BenchOptions, scale: float) -> None:
    """Runs a workload and prints its results.

    Raises:
        ConfigurationError: The workload is unknown, or cannot be run with these options.
        typer.Exit: A count is wrong.
    """
    if name != "lsqb":
        raise ConfigurationError(f"--workload is {name!r}; there are: lsqb, applications.")
    _lsqb(asked, scale)


def _lsqb(asked: BenchOptions, scale: float) -> None:
    from gpugda.bench.lsqb import LsqbOptions, run_lsqb

    options = LsqbOptions(
        scale, asked.seed, asked.repetitions, asked.timeout, asked.folder, asked.connect
    )
    with shown_progress() as progress:
        outcome = run_lsqb(options, progress)
    sys.stdout.write(outcome.table)
    for note in outcome.notes:
        say(note)
    if outcome.wrong:
        say(f"WRONG or without an answer: {', '.join(outcome.wrong)}")
        raise typer.Exit(_WRONG)


def compare_strategies(
    asked: BenchOptions,
    graph: str | None,
    scale: float | None,
    only: Sequence[str] = (),
    shares: Sequence[float] = (),
    sweep: str | None = None,
) -> None:
    """Runs all or some strategies on queries of a generated graph and prints the results.

    Raises:
        ConfigurationError: The graph, a strategy or a sweep is unknown, or the graph does not fit.
        typer.Exit: The answers of the strategies differ.
    """
    from gpugda.bench.strategies import run_strategies
    from gpugda.bench.strategies_options import StrategiesOptions

    usual = StrategiesOptions()
    options = StrategiesOptions(
        graph=graph or usual.graph,
        scale=usual.scale if scale is None else scale,
        count=asked.per_size,
        forms=tuple(form for form in usual.forms if form in asked.forms) or usual.forms,
        only=tuple(only),
        seed=asked.seed,
        repetitions=asked.repetitions,
        timeout=asked.timeout,
        shares=tuple(shares),
        folder=asked.folder,
        connect=asked.connect,
        sweep=sweep,
    )
    with shown_progress() as progress:
        outcome = run_strategies(options, progress)
    sys.stdout.write(outcome.table)
    for note in outcome.notes:
        say(note)
    if outcome.wrong:
        say(f"WRONG: strategies do not agree on {', '.join(outcome.wrong)}")
        raise typer.Exit(_WRONG)
