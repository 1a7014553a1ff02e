"""Plots of a benchmark, as in the thesis' chapter on performance. Needs matplotlib."""

from __future__ import annotations

import math
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

from gpugda.bench.statistics import geometric_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpugda.bench.findings import CaseTimes, Findings, GroupFindings

__all__ = ["write_plots"]

_COLOURS = {"native": "#4c72b0", "reference": "#4c72b0", "gpu": "#dd8452", "auto": "#55a868"}


def write_plots(folder: Path, findings: Findings, export_seconds: float, title: str) -> list[str]:
    """Writes each plot as PNG and SVG.

    Returns:
        Names of the plots, without file extension.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure  # without pyplot there is no global state, and no window

    made = []
    for name, draw in _plots(findings, export_seconds):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.set_title(f"{title}: {axes.get_title()}", fontsize=10)
        for suffix in ("png", "svg"):
            figure.savefig(folder / f"{name}.{suffix}", dpi=120)
        made.append(name)
    return made


def _plots(findings: Findings, export_seconds: float) -> list[tuple[str, Any]]:
    plots: list[tuple[str, Any]] = []
    sizes = {group.density for group in findings.groups}
    for group in (each for each in findings.overall if each.density in sizes):
        found = [
            each
            for each in findings.groups
            if (each.density, each.phase) == (group.density, group.phase)
        ]
        what = f"{group.density or 'own'}-{group.phase}"
        words = f"{group.density or 'own'} queries, {group.phase} text"
        plots += [
            (f"time-by-size-{what}", _Drawn(_times, found, words)),
            (f"speedup-by-size-{what}", _Drawn(_speedups, found, words)),
        ]
    for phase in dict.fromkeys(each.phase for each in findings.cases):
        times = [each for each in findings.cases if each.phase == phase]
        plots += [
            (f"speedup-distribution-{phase}", _Drawn(_distribution, times, findings.baseline)),
            (f"break-even-{phase}", _Drawn(_cumulative, times, findings.baseline, export_seconds)),
        ]
    return plots


class _Drawn:
    """A drawing function that lacks only its axes."""

    def __init__(self, draw: Any, *arguments: Any) -> None:
        self._draw, self._arguments = draw, arguments

    def __call__(self, axes: Any) -> None:
        self._draw(axes, *self._arguments)


def _times(axes: Any, groups: Sequence[GroupFindings], words: str) -> None:
    engines = list(dict.fromkeys(engine for group in groups for engine in group.times))
    for place, engine in enumerate(engines):
        shown = [group for group in groups if engine in group.times]
        mean = [group.times[engine].mean * 1e3 for group in shown]
        deviation = [group.times[engine].deviation * 1e3 for group in shown]
        axes.errorbar(
            [groups.index(group) + 0.06 * (place - 1) for group in shown],
            mean,
            # On a logarithmic axis a bar must not reach zero.
            yerr=[[min(d, 0.95 * m) for d, m in zip(deviation, mean, strict=True)], deviation],
            label=engine,
            color=_COLOURS.get(engine),
            marker="o",
            capsize=3,
        )
    axes.set_yscale("log")
    axes.set_ylabel("ms, mean and standard deviation")
    axes.legend()
    _name_sizes(axes, groups)
    axes.set_title(f"time, {words}")


def _speedups(axes: Any, groups: Sequence[GroupFindings], words: str) -> None:
    shown = range(len(groups))
    axes.bar(
        shown,
        [_shown(group.speedup.mean) for group in groups],
        yerr=[_shown(group.speedup.deviation) for group in groups],
        color="#dd8452",
        capsize=4,
        label="mean and standard deviation",
    )
    medians = [group.speedup.median for group in groups]
    axes.plot(shown, medians, "k_", markersize=18, label="median")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_ylabel("speed-up")
    axes.legend()
    _name_sizes(axes, groups)
    axes.set_title(f"speed-up, {words}")


def _name_sizes(axes: Any, groups: Sequence[GroupFindings]) -> None:
    axes.set_xticks(range(len(groups)), [group.label for group in groups])
    axes.set_xlabel("query nodes/relationships")


def _distribution(axes: Any, times: Sequence[CaseTimes], baseline: str) -> None:
    densities = list(dict.fromkeys(each.case.density for each in times))
    ratios = {
        density: [
            ratio
            for each in times
            if each.case.density == density and (ratio := each.ratio(baseline, "gpu")) is not None
        ]
        for density in densities
    }
    everything = [math.log10(ratio) for found in ratios.values() for ratio in found] or [0.0]
    low, high = min(0.0, *everything), max(0.0, *everything)
    width = (high - low) / 30 or 1.0
    bins = [10 ** (low + width * step) for step in range(32)]
    for density, found in ratios.items():
        if found:
            label = f"{density or 'own'}, geometric mean {geometric_mean(found):.3g}"
            axes.hist(found, bins=bins, alpha=0.6, label=label)
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel(f"speed-up: {baseline} ÷ gpu")
    axes.set_ylabel("queries")
    if any(ratios.values()):
        axes.legend()
    axes.set_title(f"distribution of the speed-up, {times[0].phase} text")


def _cumulative(
    axes: Any, times: Sequence[CaseTimes], baseline: str, export_seconds: float
) -> None:
    shown = [each for each in times if each.ratio(baseline, "gpu") is not None]
    # In random order, not by size: small queries first would not represent a workload.
    Random(len(shown)).shuffle(shown)
    numbers = range(len(shown) + 1)
    for engine, first in ((baseline, 0.0), ("gpu", export_seconds), ("auto", export_seconds)):
        if all(engine in each.seconds for each in shown):
            sums = list(accumulate((each.seconds[engine] for each in shown), initial=first))
            label = engine if engine == baseline else f"export, then {engine}"
            axes.plot(numbers, sums, label=label, color=_COLOURS.get(engine))
    axes.set_xlabel("queries answered")
    axes.set_ylabel("seconds in all")
    axes.legend()
    axes.set_title(f"when the export pays, {times[0].phase} text")


def _shown(value: float) -> float:
    return 0.0 if math.isnan(value) else value
