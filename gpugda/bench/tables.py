"""Writes measurements: CSV of a line per query or run, the thesis' columns first, and JSON."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from gpugda.bench.findings import CaseTimes, Findings
    from gpugda.bench.measuring import Measured, Run

__all__ = ["THESIS_COLUMNS", "write_json", "write_queries", "write_runs"]

THESIS_COLUMNS = (
    "Node count",
    "Relationship count",
    "Result count",
    "Data conversion run time",
    "GPUGDA run time",
    "Cypher run time",
    "Cypher query",
)
"""Times in seconds."""

_OURS = (
    "name",
    "form",
    "density",
    "wanted_relationships",
    "text",
    "baseline",
    "baseline_seconds",
    "baseline_outcome",
    "gpu_seconds",
    "gpu_outcome",
    "auto_seconds",
    "auto_outcome",
    "speedup",
    "speedup_bound",
    "compared_by",
    "density_rule",
    "cost_rule",
    "parameters",
)

_RUN = (
    "number",
    "name",
    "text",
    "engine",
    "repetition",
    "seconds",
    "outcome",
    "rows",
    "answered_by",
    "note",
)


def write_queries(
    path: Path, findings: Findings, measured: Measured, export_seconds: float
) -> None:
    """Writes a line per query and phase."""
    rows = [
        [*_thesis(each, findings, measured, export_seconds), *_ours(each, findings, measured)]
        for each in findings.cases
    ]
    _write(path, [*THESIS_COLUMNS, *_OURS], rows)


def write_runs(path: Path, runs: Sequence[Run]) -> None:
    """Writes a line per run, in the order in which they ran."""
    stages = sorted({stage for run in runs for stage in run.timings})
    rows = [
        [
            number,
            run.case,
            run.phase,
            run.engine,
            run.repetition,
            _seconds(run.seconds),
            run.outcome,
            run.rows,
            run.answered_by,
            run.note,
            *(_seconds(run.timings.get(stage)) for stage in stages),
        ]
        for number, run in enumerate(runs, start=1)
    ]
    _write(path, [*_RUN, *(f"{stage}_seconds" for stage in stages)], rows)


def _thesis(
    each: CaseTimes, findings: Findings, measured: Measured, export_seconds: float
) -> list[Any]:
    native = findings.baseline == "native"
    return [
        each.case.node_count,
        each.case.relationship_count,
        measured.answers.get(each.case.name, ""),
        _seconds(export_seconds),
        _seconds(each.seconds.get("gpu")),
        _seconds(each.seconds.get("native")) if native else "",
        each.case.text(""),
    ]


def _ours(each: CaseTimes, findings: Findings, measured: Measured) -> list[Any]:
    case, baseline = each.case, findings.baseline
    ratio = each.ratio(baseline, "gpu")
    verdicts = measured.verdicts.get((each.phase, case.name), {})
    wanted = {"dense": 2 * case.node_count, "sparse": case.node_count - 1}.get(case.density, "")
    times: list[Any] = [
        cell
        for engine in (baseline, "gpu", "auto")
        for cell in (_seconds(each.seconds.get(engine)), each.outcomes.get(engine, ""))
    ]
    return [
        case.name,
        case.form,
        case.density,
        wanted,
        each.phase,
        baseline,
        *times,
        "" if ratio is None else f"{ratio:.4g}",
        each.bound(baseline, "gpu"),
        measured.compared_by.get((case.name, "gpu"), "not compared"),
        verdicts.get("density", ""),
        verdicts.get("cost", ""),
        dict(case.parameters) or "",
    ]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, facts: Mapping[str, Any]) -> None:
    """Writes facts as JSON; values that it does not know become texts."""
    content = json.dumps(facts, indent=2, ensure_ascii=False, default=str)
    path.write_text(f"{content}\n", encoding="utf-8")
