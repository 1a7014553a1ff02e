"""Writes the report in Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from gpugda.bench.findings import FACTOR, SLACK_SECONDS
from gpugda.bench.own_queries import own_queries
from gpugda.errors import ConfigurationError
from gpugda.result.summary import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda.bench.findings import Findings, GroupFindings, Promise
    from gpugda.bench.measuring import Measured


__all__ = ["Background", "made_folder", "markdown_table", "report_text"]


def made_folder(path: str, inside: str = "") -> Path:
    """Makes the folder and the named folder inside it, unless they exist.

    Raises:
        ConfigurationError: The folder cannot be made, or no file can be written there: a benchmark
            finds this out before it measures for hours.
    """
    folder = Path(path)
    try:
        (folder / inside).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror
        raise ConfigurationError(f"--out {path!r} cannot be made a folder: {why}.") from error
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"--out {path!r} cannot be written to: {error.strerror}."
        ) from error
    return folder


_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Background:
    """Context of the figures.

    Args:
        graph: Name and sizes of the graph.
        machine: Result of `describe_machine`.
        options: Options of the benchmark, with the seed.
        generated: Requested and reached numbers, one line per size.
        export: Seconds of each export.
        properties_seconds: Seconds to read the properties that predicates need.
        notes: Sentences about omitted steps, with the reason.
    """

    graph: Mapping[str, Any]
    machine: Mapping[str, Any]
    options: Mapping[str, Any]
    generated: Sequence[Mapping[str, Any]]
    export: Sequence[float]
    properties_seconds: float
    notes: Sequence[str]


def report_text(
    background: Background,
    findings: Findings,
    measured: Measured,
    plots: Sequence[str],
) -> str:
    """The whole report."""
    parts = [
        f"# gpugda against {_baseline_name(findings)}: {background.graph['name']}",
        _outcome(measured),
        _background(background),
        _own(findings, measured),
        _overall(findings),
        _promises(findings),
        *_groups(findings),
        _not_compared(findings, measured),
        _generated(background),
        "\n\n".join(f"![{name}](plots/{name}.png)" for name in plots),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _own(findings: Findings, measured: Measured) -> str:
    names, rows = own_queries(findings, measured)
    if not rows:
        return ""
    cells = [names, ["---"] * len(names), *(map(_cell, row) for row in rows)]
    return "## Your queries\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")


def _baseline_name(findings: Findings) -> str:
    return "Neo4j" if findings.baseline == "native" else "its reference executor"


def _outcome(measured: Measured) -> str:
    lines = []
    if not measured.finished:
        lines.append("**Cancelled: this is what was measured until then.**")
    if measured.mismatches:
        lines.append(f"**{len(measured.mismatches)} WRONG ANSWERS:**")
    lines += [
        f"{found.case.name}, engine {found.engine}: {found.what}\n\n"
        f"    {_indented(found.text)}\n    parameters {dict(found.case.parameters)}"
        for found in measured.mismatches[:_SHOWN]
    ]
    if not measured.mismatches:
        methods = sorted(set(measured.compared_by.values()))
        counts = {method: list(measured.compared_by.values()).count(method) for method in methods}
        told = ", ".join(f"{count} by {method}" for method, count in counts.items()) or "none"
        lines.append(f"No wrong answer. Answers compared: {told}.")
    return "\n\n".join(lines)


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def _background(background: Background) -> str:
    machine, graph = background.machine, background.graph
    device = machine.get("device", {})
    rows = [
        (
            "graph",
            f"{graph['nodes']:,} nodes, {graph['relationships']:,} relationships, "
            f"{graph['labels']} labels, {graph['types']} types, density {graph['density']:.2e}",
        ),
        ("device", f"{device.get('name', '-')}, {device.get('platform', '')}"),
        ("server", machine.get("server") or "none: an embedded graph"),
        ("machine", f"{machine.get('cpu')}, {machine.get('cores')} cores"),
        ("options", ", ".join(f"{name} {value}" for name, value in background.options.items())),
        ("export", _export(background)),
    ]
    return "\n".join(
        [
            *markdown_table(("", ""), rows),
            *(f"\nNote: {note}" for note in background.notes),
        ]
    )


def _export(background: Background) -> str:
    if not background.export:
        return "not measured"
    each = ", ".join(format_seconds(seconds) for seconds in background.export)
    return f"{each}; properties of the conditions {format_seconds(background.properties_seconds)}"


def _overall(findings: Findings) -> str:
    if not findings.overall:
        return ""
    header = (
        "queries",
        "text",
        "number",
        "geometric mean",
        "mean ± sd",
        "median",
        "least",
        "bounds",
        "no ratio",
    )
    rows = [
        (
            group.density or "own",
            group.phase,
            group.cases,
            _factor(group.geometric),
            _spread(group),
            _number(group.speedup.median),
            _number(group.speedup.least),
            group.bounds,
            group.without,
        )
        for group in findings.overall
    ]
    return "\n".join(["## Speed-up of the device", "", *markdown_table(header, rows)])


def _promises(findings: Findings) -> str:
    if not findings.promises:
        return ""
    header = (
        "text",
        "queries",
        f"auto > {FACTOR:g} native + {SLACK_SECONDS * 1e3:g} ms",
        "again",
        "worst auto ÷ native",
        "regret of auto",
        "of the rules",
        "export pays after (gpu)",
        "(auto)",
    )
    rows = [
        (
            each.phase,
            each.cases,
            f"{each.share:.1%} ({len(each.broken)})",
            len(each.again),
            _number(each.worst),
            f"{each.auto_regret:.3f}",
            ", ".join(f"{rule} {value:.3f}" for rule, value in each.rule_regrets.items()),
            _queries(each.break_even),
            _queries(each.break_even_auto),
        )
        for each in findings.promises
    ]
    lines = ["## The planner", "", *markdown_table(header, rows)]
    lines += [line for each in findings.promises if (line := _broken(each))]
    return "\n".join(lines)


def _broken(promise: Promise) -> str:
    if not promise.broken:
        return ""
    names = ", ".join(promise.broken[:_SHOWN])
    more = len(promise.broken) - _SHOWN
    rest = f", and {more} more" if more > 0 else ""
    again = ", ".join(promise.again[:_SHOWN]) or "none"
    return (
        f"\nSlower than allowed, {promise.phase} text: {names}{rest}. "
        f"Again, when these were measured a second time: {again}."
    )


def _groups(findings: Findings) -> list[str]:
    if not findings.groups:
        return []
    engines = list(dict.fromkeys(engine for group in findings.groups for engine in group.times))
    header = (
        "nodes/rel.",
        "text",
        "queries",
        *(f"{engine} ms: mean ± sd (median, p95)" for engine in engines),
        "speed-up: mean ± sd",
        "median",
        "geometric",
    )
    parts = []
    for density in dict.fromkeys(group.density for group in findings.groups):
        found = [group for group in findings.groups if group.density == density]
        rows = [_group_row(group, engines) for group in found]
        parts.append(
            "\n".join(
                [
                    f"## {(density or 'own').capitalize()} queries by size",
                    "",
                    *markdown_table(header, rows),
                ]
            )
        )
    return parts


def _group_row(group: GroupFindings, engines: Sequence[str]) -> tuple[Any, ...]:
    times = []
    for engine in engines:
        found = group.times.get(engine)
        times.append(
            "-"
            if found is None or not found.count
            else f"{_ms(found.mean)} ± {_ms(found.deviation)} "
            f"({_ms(found.median)}, {_ms(found.percentile_95)})"
        )
    return (
        group.label,
        group.phase,
        group.cases,
        *times,
        _spread(group),
        _number(group.speedup.median),
        _number(group.geometric),
    )


def _not_compared(findings: Findings, measured: Measured) -> str:
    found = [
        (run.case, run.phase, run.engine, run.outcome, run.note or "-")
        for run in measured.runs
        if run.outcome != "ok"
    ]
    if not found:
        return ""
    more = [f"\nand {len(found) - _SHOWN} more: runs.csv"] if len(found) > _SHOWN else []
    table = markdown_table(("query", "text", "engine", "outcome", "note"), found[:_SHOWN])
    title = f"## Runs without an answer: {len(found)} of {len(measured.runs)}"
    return "\n".join([title, "", *table, *more])


def _generated(background: Background) -> str:
    if not background.generated:
        return ""
    header = tuple(background.generated[0])
    rows = [tuple(each.values()) for each in background.generated]
    return "\n".join(["## Query graphs", "", *markdown_table(header, rows)])


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [_line(header), _line(["---"] * len(header))]
    return [*lines, *(_line(row) for row in rows)]


def _line(cells: Sequence[Any]) -> str:
    texts = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells]
    return f"| {' | '.join(texts)} |"


def _spread(group: GroupFindings) -> str:
    if not group.speedup.count:
        return "-"
    return f"{_number(group.speedup.mean)} ± {_number(group.speedup.deviation)}"


def _ms(seconds: float) -> str:
    return _number(seconds * 1e3)


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _factor(value: float) -> str:
    return "-" if math.isnan(value) else f"{_number(value)}x"


def _queries(value: float) -> str:
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f} {'query' if value == 1 else 'queries'}"
