"""Figures of the practice workload: per query, and of all queries of a domain."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gpugda.bench.findings import FACTOR, SLACK_SECONDS
from gpugda.bench.report import markdown_table
from gpugda.bench.statistics import geometric_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.bench.measuring import Measured, Run

__all__ = ["QueryTimes", "Summary", "practice_table", "query_times", "summarised"]


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """Seconds of one query by run, the first run first. An engine without an answer has none.

    Args:
        name: The query.
        rows: Number of rows.
        settle: Number of first runs, which the later ones are apart from.
        baseline: Neo4j; without a server, the reference engine.
        gpu: The device.
        auto: The planner's choice.
        took: First letters of the engines that answered for ``auto``.
    """

    name: str
    rows: int
    settle: int
    baseline: tuple[float, ...]
    gpu: tuple[float, ...]
    auto: tuple[float, ...]
    took: str

    def warm(self, seconds: tuple[float, ...]) -> float:
        """The lower median of the later runs: others only ever add to a time."""
        return statistics.median_low(seconds[self.settle :] or seconds)

    @property
    def both(self) -> bool:
        """True if all engines answered."""
        return bool(self.baseline and self.gpu and self.auto)

    @property
    def late_first(self) -> int:
        """How many of the first runs took more than Neo4j's run of the same number allows."""
        pairs = zip(self.baseline, self.auto[: self.settle], strict=False)
        return sum(_is_late(native, auto) for native, auto in pairs)

    @property
    def late(self) -> bool:
        """True if the later runs take more than Neo4j's later runs allow."""
        return _is_late(self.warm(self.baseline), self.warm(self.auto))


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of several queries; those that an engine did not answer are only counted.

    A mean or share of nothing is NaN: without answers, and of first runs if there are none apart.

    Args:
        queries: Number of queries.
        without: Number of queries that an engine did not answer.
        device: Geometric mean of Neo4j ÷ device, later runs.
        device_first: The same of first runs.
        auto: Geometric mean of Neo4j ÷ ``auto``, later runs.
        slower: Number of queries for which the device takes longer than Neo4j.
        late_first: Share of late ones among the first runs of ``auto``.
        late: Share of queries whose later runs are late.
        regret: Time of ``auto`` ÷ time of the better engine of each query, later runs.
    """

    queries: int
    without: int
    device: float
    device_first: float
    auto: float
    slower: int
    late_first: float
    late: float
    regret: float


def query_times(measured: Measured, baseline: str, settle: int) -> list[QueryTimes]:
    """The times of each query, in the order in which they were measured."""
    found = []
    for name in dict.fromkeys(run.case for run in measured.runs):
        runs = [run for run in measured.runs if run.case == name]
        took = "".join(run.answered_by[:1] for run in runs if run.engine == "auto")
        native, gpu, auto = (_seconds(runs, engine) for engine in (baseline, "gpu", "auto"))
        rows = max(run.rows for run in runs)
        found.append(QueryTimes(name, rows, settle, native, gpu, auto, took))
    return found


def summarised(times: Sequence[QueryTimes]) -> Summary:
    """The figures of all of them."""
    known = [each for each in times if each.both]
    pairs = [
        (each.warm(each.baseline), each.warm(each.gpu), each.warm(each.auto)) for each in known
    ]
    firsts = sum(min(each.settle, len(each.auto)) for each in known)
    return Summary(
        len(times),
        len(times) - len(known),
        geometric_mean([native / gpu for native, gpu, _ in pairs]),
        geometric_mean([each.baseline[0] / each.gpu[0] for each in known if each.settle]),
        geometric_mean([native / auto for native, _, auto in pairs]),
        sum(native < gpu for native, gpu, _ in pairs),
        _ratio(sum(each.late_first for each in known), firsts),
        _ratio(sum(each.late for each in known), len(known)),
        _ratio(sum(auto for *_, auto in pairs), sum(min(pair[:2]) for pair in pairs)),
    )


def practice_table(domains: dict[str, list[QueryTimes]], their: str) -> list[str]:
    """Lines of the report: a line per domain, and tables of their queries."""
    everything = {**domains, "all": [each for times in domains.values() for each in times]}
    rows = [(name, *_cells(summarised(times))) for name, times in everything.items()]
    lines = markdown_table(
        ("domain", "queries", "without an answer", f"{their} ÷ device", "first runs",
         f"{their} ÷ auto", "device slower", "auto late, first runs", "late", "regret"),
        rows,
    )  # fmt: skip
    header = ("query", f"{their} ms", "device first", "device ms", "auto ms by run", "took", "rows")
    for name, times in domains.items():
        lines += ["", f"## {name}", "", *markdown_table(header, map(_row, times))]
    return lines


def _seconds(runs: Sequence[Run], engine: str) -> tuple[float, ...]:
    mine = [run for run in runs if run.engine == engine]
    return () if any(run.outcome == "error" for run in mine) else tuple(r.seconds for r in mine)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _is_late(native: float, auto: float) -> bool:
    return auto > FACTOR * native + SLACK_SECONDS


def _cells(summary: Summary) -> list[Any]:
    return [_cell(name, value) for name, value in asdict(summary).items()]


def _cell(name: str, value: float) -> Any:
    if isinstance(value, int):
        return value
    if math.isnan(value):
        return "-"
    return f"{value:.1%}" if "late" in name else f"{value:.2f}"


def _row(times: QueryTimes) -> tuple[Any, ...]:
    def shown(*seconds: float) -> str:
        return " ".join(f"{1e3 * each:.3g}" for each in seconds)

    mark = " (late)" if times.both and times.late else ""
    native, gpu = ([times.warm(each)] if each else [] for each in (times.baseline, times.gpu))
    late = f"{shown(*times.auto)}{mark}"
    return (
        times.name,
        shown(*native),
        shown(*times.gpu[:1]),
        shown(*gpu),
        late,
        times.took,
        times.rows,
    )
