"""Plots of the comparison; importing this needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from gpugda.bench.figures import break_even, grouped, spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpugda.bench.experiment import Experiment

__all__ = ["draw"]


def draw(folder: Path, experiments: Sequence[Experiment]) -> list[Path]:
    """Time by query size, speed-ups, and break-even of each graph, as PNG and SVG."""
    made: list[Path] = []
    for experiment in experiments:
        if not experiment.measured:
            continue
        for name, plot in (
            ("times", _times),
            ("speed-ups", _speedups),
            ("break-even", _break_even),
        ):
            figure = Figure(figsize=(7, 4), layout="constrained")
            plot(figure.subplots(), experiment)
            for suffix in ("png", "svg"):
                path = folder / f"{experiment.graph}-{name}.{suffix}"
                figure.savefig(path, dpi=120)
                made.append(path)
    return made


def _times(axes: Any, experiment: Experiment) -> None:
    """Mean time of new texts by number of query nodes, with the standard deviation."""
    groups = grouped(experiment.measured)
    for density in sorted({group.density for group in groups}):
        chosen = [group for group in groups if group.density == density]
        for engine, name in (("native_new", "Neo4j"), ("device_new", "device")):
            points = [
                (group.nodes, found)
                for group in chosen
                if (found := spread(getattr(each, engine) for each in group.measured))
            ]
            axes.errorbar(
                [nodes for nodes, _ in points],
                [found.mean * 1e3 for _, found in points],
                # Downwards not beyond what a logarithmic scale can show.
                yerr=[
                    [min(found.deviation, 0.9 * found.mean) * 1e3 for _, found in points],
                    [found.deviation * 1e3 for _, found in points],
                ],
                marker="o",
                capsize=3,
                label=f"{name}, {density}" if density else name,
            )
    axes.set(
        yscale="log",
        xlabel="query nodes",
        ylabel="ms, text not seen before",
        title=experiment.graph,
    )
    axes.legend()


def _speedups(axes: Any, experiment: Experiment) -> None:
    """The distribution of the speed-ups."""
    for name, label in (("speedup_new", "new text"), ("speedup_again", "known text")):
        values = sorted(v for each in experiment.measured if (v := getattr(each, name)) is not None)
        shares = [(place + 1) / len(values) for place in range(len(values))]
        axes.step(values, shares, where="post", label=label)
    axes.axvline(1.0, color="grey", linewidth=1)
    axes.set(
        xscale="log",
        xlabel="Neo4j's time / device's time",
        ylabel="share of queries",
        title=experiment.graph,
    )
    axes.legend()


def _break_even(axes: Any, experiment: Experiment) -> None:
    """Time in all after so many queries, reading the snapshot included."""
    measured = experiment.measured
    device = spread(each.device_new for each in measured)
    native = spread(each.native_new for each in measured)
    paid = break_even(measured, experiment.load_seconds)
    last = max(10, round(2 * paid)) if paid else 100
    counts = [0, last]
    if native is not None:
        axes.plot(counts, [count * native.mean for count in counts], label="Neo4j")
    if device is not None:
        seconds = [experiment.load_seconds + count * device.mean for count in counts]
        axes.plot(counts, seconds, label="reading, then device")
    axes.set(xlabel="queries", ylabel="s in all", title=f"{experiment.graph}: when it pays")
    axes.legend()
