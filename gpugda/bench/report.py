"""What was measured, as CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from gpugda.bench.figures import break_even, geometric_mean, grouped, regret, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gpugda.bench.experiment import Experiment, Options
    from gpugda.bench.figures import Spread

__all__ = ["machine", "write_report"]

COLUMNS = (
    "node count",
    "relationship count",
    "result count",
    "data conversion run time",
    "GPUGDA run time",
    "Cypher run time",
    "Cypher query",
    "graph",
    "density",
    "form",
    "device new s",
    "device again s",
    "Neo4j new s",
    "Neo4j again s",
    "auto again s",
    "auto engine",
    "speed-up new",
    "speed-up again",
    "agrees",
    "note",
)
"""The first seven are the thesis', in its order; times in seconds."""


def machine(device: str, server: str) -> dict[str, Any]:
    """The machine and the versions, without names of hosts or paths."""
    return {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "device": device,
        "server": server,
        "packages": {
            name: _version(name) for name in ("gpugda", "neo4j", "neo4j-rust-ext", "pyopencl")
        },
    }


def write_report(
    folder: Path, experiments: Sequence[Experiment], options: Options, facts: dict[str, Any]
) -> list[Path]:
    """Writes ``results.csv``, ``results.json``, ``report.md``, and plots if they can be made."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "results.csv", folder / "results.json", folder / "report.md"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(_rows(experiments))
    content = {
        "machine": facts,
        "options": asdict(options),
        "graphs": list(map(_json, experiments)),
    }
    paths[1].write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    plots = _plots(folder, experiments)
    paths[2].write_text(_markdown(experiments, options, facts, plots), encoding="utf-8")
    return paths + plots


def _plots(folder: Path, experiments: Sequence[Experiment]) -> list[Path]:
    try:
        from gpugda.bench.plots import draw
    except ImportError:
        return []  # the report says so
    return draw(folder, experiments)


# ------------------------------------------------------------------ rows
def _rows(experiments: Iterable[Experiment]) -> Iterable[tuple[Any, ...]]:
    for experiment in experiments:
        for each in experiment.measured:
            case = each.case
            yield (
                case.nodes,
                case.relationships,
                each.rows,
                _cell(experiment.load_seconds),
                _cell(each.device_new),
                _cell(each.native_new),
                case.texts[0],
                case.graph,
                case.density,
                case.form,
                _cell(each.device_new),
                _cell(each.device_again),
                _cell(each.native_new),
                _cell(each.native_again),
                _cell(each.auto_again),
                each.auto_engine,
                _cell(each.speedup_new),
                _cell(each.speedup_again),
                "" if each.agrees is None else each.agrees,
                each.note,
            )


def _cell(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def _json(experiment: Experiment) -> dict[str, Any]:
    measured = experiment.measured
    paid = break_even(measured, experiment.load_seconds)
    return {
        "graph": experiment.graph,
        "nodes": experiment.nodes,
        "relationships": experiment.relationships,
        "load_seconds": experiment.load_seconds,
        "queries": len(measured),
        "wrong": len(experiment.wrong),
        "stopped": experiment.stopped,
        "break_even_queries": paid,
        "regret": regret(measured),
        "late_share": _late(experiment),
        "ablations": [asdict(each) for each in experiment.ablations],
        "groups": [
            {
                "density": group.density,
                "nodes": group.nodes,
                "queries": len(group.measured),
                "speedup_new": _spread(each.speedup_new for each in group.measured),
                "speedup_again": _spread(each.speedup_again for each in group.measured),
                "device_new": _spread(each.device_new for each in group.measured),
                "native_new": _spread(each.native_new for each in group.measured),
                "device_again": _spread(each.device_again for each in group.measured),
                "native_again": _spread(each.native_again for each in group.measured),
            }
            for group in grouped(measured)
        ],
    }


def _spread(numbers: Iterable[float | None]) -> dict[str, float] | None:
    found = spread(numbers)
    return None if found is None else asdict(found)


def _late(experiment: Experiment) -> float | None:
    timed = [each for each in experiment.measured if each.auto_again is not None]
    return sum(each.is_late for each in timed) / len(timed) if timed else None


# ------------------------------------------------------------------ Markdown
def _markdown(
    experiments: Sequence[Experiment],
    options: Options,
    facts: dict[str, Any],
    plots: Sequence[Path],
) -> str:
    lines = ["# Comparison with Neo4j", ""]
    lines += [f"- {facts['server']}, device {facts['device']}, {facts['cores']} cores"]
    lines += [
        f"- gpugda {facts['packages']['gpugda']}, {facts['measured']}, seed {options.seed}, "
        f"{options.count} query graphs each, least of {options.repetitions} runs of a known text",
        "- new: neither engine has seen the text; again: both have. Times from `run` to values.",
        "",
    ]
    for experiment in experiments:
        lines += _section(experiment)
    if not plots:
        lines += ["No plots: they need matplotlib (`pip install gpugda[bench]`).", ""]
    for plot in plots:
        if plot.suffix == ".png":
            lines += [f"![{plot.stem}]({plot.name})", ""]
    return "\n".join(lines)


def _section(experiment: Experiment) -> list[str]:
    measured = experiment.measured
    lines = [
        f"## {experiment.graph}",
        "",
        f"{experiment.nodes:,} nodes, {experiment.relationships:,} relationships; read in "
        f"{experiment.load_seconds:.2f} s.",
        "",
    ]
    if experiment.stopped:
        lines += ["**Ended early.**", ""]
    for each in experiment.wrong:
        lines += [f"**Wrong**: {each.case.name}: `{each.case.texts[0]}`", ""]
    lines += [
        "| query nodes | density | queries | Neo4j new | device new | "
        "speed-up new: mean ± deviation, median, geometric | Neo4j again | device again | speed-up again: median, geometric |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for group in grouped(measured):
        lines.append(_row(group.nodes, group.density, group.measured))
    for density in sorted({each.case.density for each in measured}):
        chosen = [each for each in measured if each.case.density == density]
        lines.append(_row("all", density, chosen))
    paid = break_even(measured, experiment.load_seconds)
    judged, late = regret(measured), _late(experiment)
    lines += [
        "",
        f"- The snapshot pays after {paid:,.0f} new queries." if paid else "- It never pays.",
        f"- `auto`: {_number(judged)} times the better engine in hindsight; "
        f"{_share(late)} of the queries took more than 1.1 times Neo4j's time plus 2 ms.",
        "",
    ]
    if experiment.ablations:
        lines += ["| device alone | queries | seconds in all |", "|---|---|---|"]
        lines += [f"| {a.name} | {a.queries} | {a.seconds:.3f} |" for a in experiment.ablations]
        lines.append("")
    return lines


def _row(nodes: object, density: str, measured: Sequence[Any]) -> str:
    new = spread(each.speedup_new for each in measured)
    again = spread(each.speedup_again for each in measured)
    cells = [
        str(nodes or "-"),
        density or "-",
        str(len(measured)),
        _milliseconds(spread(each.native_new for each in measured)),
        _milliseconds(spread(each.device_new for each in measured)),
        _speedup(new, geometric_mean(each.speedup_new for each in measured)),
        _milliseconds(spread(each.native_again for each in measured)),
        _milliseconds(spread(each.device_again for each in measured)),
        _number(None if again is None else again.median)
        + ", "
        + _number(geometric_mean(each.speedup_again for each in measured)),
    ]
    return f"| {' | '.join(cells)} |"


def _milliseconds(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median * 1e3:.3g} ms"


def _speedup(found: Spread | None, geometric: float | None) -> str:
    if found is None:
        return "-"
    return f"{found.mean:.3g} ± {found.deviation:.2g}, {found.median:.3g}, {_number(geometric)}"


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def _share(number: float | None) -> str:
    return "-" if number is None else f"{number:.0%}"


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
