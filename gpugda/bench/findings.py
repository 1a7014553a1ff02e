"""Computes findings from runs: times, speed-ups per case and group, regret, break-even."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.bench.statistics import Figures, break_even, figures_of, geometric_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda.bench.cases import Case
    from gpugda.bench.measuring import Measured, Run

__all__ = [
    "CaseTimes",
    "Findings",
    "GroupFindings",
    "Promise",
    "broken_promises",
    "case_times",
    "find",
    "regret",
]

FACTOR, SLACK_SECONDS = 1.1, 0.002
"""Limit for engine ``auto``: this factor times the baseline, plus these seconds."""
LONG_SECONDS = 0.02
"""Queries that take the baseline at least this long form a separate group."""


@dataclass(frozen=True, slots=True)
class CaseTimes:
    """Times of one case in one phase.

    Args:
        case: The case.
        phase: New or repeated text.
        seconds: Median per engine; a lower bound where it timed out.
        outcomes: ``ok``, ``timeout`` or ``error`` per engine.
    """

    case: Case
    phase: str
    seconds: Mapping[str, float]
    outcomes: Mapping[str, str]

    def ratio(self, slow: str, fast: str) -> float | None:
        """Ratio of the two engines' times; None unless both have times."""
        ends = {self.outcomes.get(slow), self.outcomes.get(fast)}
        if not ends <= {"ok", "timeout"} or ends == {"timeout"}:
            return None
        return self.seconds[slow] / self.seconds[fast]

    def bound(self, slow: str, fast: str) -> str:
        """``>=`` or ``<=`` if one side timed out and the ratio is only a bound, else empty."""
        if self.outcomes.get(slow) == "timeout":
            return ">="
        return "<=" if self.outcomes.get(fast) == "timeout" else ""


@dataclass(frozen=True, slots=True)
class GroupFindings:
    """Cases of one size, density and phase.

    Args:
        density: Density of the cases.
        nodes: Number of query nodes.
        relationships: Mean number of query relationships.
        phase: New or repeated text.
        cases: Number of cases.
        times: Statistics of the cases' seconds per engine.
        speedup: Statistics of baseline ÷ device.
        geometric: Geometric mean of the same ratios.
        bounds: Number of these ratios that are bounds, because one side timed out.
        without: Number of cases without a ratio: an error, or time-outs on both sides.
    """

    density: str
    nodes: int
    relationships: float
    phase: str
    cases: int
    times: Mapping[str, Figures]
    speedup: Figures
    geometric: float
    bounds: int
    without: int

    @property
    def label(self) -> str:
        """Nodes/relationships, as the thesis names its groups."""
        return f"{self.nodes}/{self.relationships:.3g}"


@dataclass(frozen=True, slots=True)
class Promise:
    """For one phase: cases where `auto` exceeded its limit, and the regret of the planner's rules.

    Args:
        phase: New or repeated text.
        cases: Number of cases with times of both engines.
        broken: Names of the cases where auto took more than 1.1 times the baseline + 2 ms.
        again: Those of them that exceeded the limit in the second measurement, too.
        worst: The largest auto ÷ baseline.
        auto_regret: Time of auto ÷ time of the best engine of each query.
        rule_regrets: By rule: time of the engine it would choose ÷ time of the best.
        break_even: Queries until the export is paid off: device instead of the baseline.
        break_even_auto: The same for auto instead of the baseline.
    """

    phase: str
    cases: int
    broken: tuple[str, ...]
    again: tuple[str, ...]
    worst: float
    auto_regret: float
    rule_regrets: Mapping[str, float]
    break_even: float
    break_even_auto: float

    @property
    def share(self) -> float:
        """Share of the queries where auto exceeded its limit."""
        return len(self.broken) / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of the report.

    Args:
        baseline: ``native`` or ``reference``.
        cases: Every case in every phase.
        groups: By density, size and phase.
        overall: By density and phase: all sizes together, and the cases that take the baseline
            long; ``nodes`` is 0.
        promises: By phase; empty if there is no planner to judge.
    """

    baseline: str
    cases: tuple[CaseTimes, ...]
    groups: tuple[GroupFindings, ...]
    overall: tuple[GroupFindings, ...]
    promises: tuple[Promise, ...]


def case_times(cases: Sequence[Case], runs: Iterable[Run]) -> list[CaseTimes]:
    """Medians per case, phase and engine, in the order of the cases."""
    by_key: dict[tuple[str, str], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by_key[run.case, run.phase][run.engine].append(run)
    phases = dict.fromkeys(phase for _, phase in by_key)
    return [
        CaseTimes(
            case,
            phase,
            {engine: _median(found) for engine, found in by_key[case.name, phase].items()},
            {engine: _outcome(found) for engine, found in by_key[case.name, phase].items()},
        )
        for phase in phases
        for case in cases
        if (case.name, phase) in by_key
    ]


def broken_promises(times: Iterable[CaseTimes], baseline: str) -> dict[str, tuple[str, ...]]:
    """By phase, names of the cases where auto exceeded its limit."""
    found: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for each in times:
        if each.ratio("auto", baseline) is not None and _is_broken(each, baseline):
            found[each.phase] += (each.case.name,)
    return found


def find(
    cases: Sequence[Case],
    measured: Measured,
    baseline: str,
    export_seconds: float,
    again: Measured | None = None,
) -> Findings:
    """Computes all findings.

    Args:
        cases: The cases.
        measured: The measurements.
        baseline: The engine that is compared against.
        export_seconds: Time to read the graph before the device can answer.
        again: The second measurement of the cases that exceeded the limit.
    """
    times = case_times(cases, measured.runs)
    sizes, densities = defaultdict(list), defaultdict(list)
    for each in times:
        sizes[each.case.density, each.case.node_count, each.phase].append(each)
        densities[each.case.density, 0, each.phase].append(each)
        if each.seconds.get(baseline, 0.0) >= LONG_SECONDS:
            densities[f"{baseline} >= {LONG_SECONDS * 1e3:g} ms", 0, each.phase].append(each)
    phases = dict.fromkeys(each.phase for each in times)
    late = broken_promises(times, baseline)
    late_again = broken_promises(case_times(cases, again.runs) if again else (), baseline)
    return Findings(
        baseline,
        tuple(times),
        tuple(_group(*key, found, baseline) for key, found in sorted(sizes.items())),
        tuple(_group(*key, found, baseline) for key, found in sorted(densities.items())),
        tuple(
            _promise(
                phase, times, measured, baseline, export_seconds, late[phase], late_again[phase]
            )
            for phase in phases
            if baseline == "native"
        ),
    )


def _median(runs: Sequence[Run]) -> float:
    done = [run.seconds for run in runs if run.outcome == "ok"]
    if any(run.outcome == "timeout" for run in runs):
        return max(run.seconds for run in runs)
    return statistics.median(done) if done else 0.0


def _outcome(runs: Sequence[Run]) -> str:
    outcomes = {run.outcome for run in runs}
    return next(each for each in ("error", "timeout", "ok") if each in outcomes)


def _group(
    density: str, nodes: int, phase: str, found: Sequence[CaseTimes], baseline: str
) -> GroupFindings:
    engines = sorted({engine for each in found for engine in each.seconds})
    ratios = [ratio for each in found if (ratio := each.ratio(baseline, "gpu")) is not None]
    return GroupFindings(
        density,
        nodes,
        statistics.fmean(each.case.relationship_count for each in found),
        phase,
        len(found),
        {
            engine: figures_of([each.seconds[engine] for each in found if _has_time(each, engine)])
            for engine in engines
        },
        figures_of(ratios),
        geometric_mean(ratios),
        sum(bool(each.bound(baseline, "gpu")) for each in found),
        len(found) - len(ratios),
    )


def _promise(
    phase: str,
    times: Sequence[CaseTimes],
    measured: Measured,
    baseline: str,
    export_seconds: float,
    late: tuple[str, ...],
    late_again: tuple[str, ...],
) -> Promise:
    both = [
        each for each in times if each.phase == phase and each.ratio("auto", baseline) is not None
    ]
    chosen: dict[str, dict[str, str]] = defaultdict(dict)
    for (verdict_phase, case), rules in measured.verdicts.items():
        if verdict_phase == phase:
            for rule, engine in rules.items():
                chosen[rule][case] = engine
    return Promise(
        phase,
        len(both),
        late,
        tuple(name for name in late if name in late_again),
        max((each.ratio("auto", baseline) or 0.0 for each in both), default=0.0),
        regret(both, baseline, dict.fromkeys((each.case.name for each in both), "auto")),
        {rule: regret(both, baseline, choices) for rule, choices in sorted(chosen.items())},
        break_even(export_seconds, _mean(both, baseline), _mean(both, "gpu")),
        break_even(export_seconds, _mean(both, baseline), _mean(both, "auto")),
    )


def _is_broken(each: CaseTimes, baseline: str) -> bool:
    # If the baseline timed out, its time is a lower bound: the limit is not exceeded.
    timed_out = each.outcomes.get(baseline) == "timeout"
    return not timed_out and each.seconds["auto"] > FACTOR * each.seconds[baseline] + SLACK_SECONDS


def regret(times: Iterable[CaseTimes], baseline: str, choices: Mapping[str, str]) -> float:
    """Time taken by the chosen engines ÷ time of the best engine of each query; the optimum is 1.

    Includes only queries with a choice and with times of both engines.
    """
    taken = best = 0.0
    for each in times:
        engine = choices.get(each.case.name)
        if engine is None or each.ratio(baseline, "gpu") is None:
            continue
        if each.outcomes.get(engine, "error") == "error":
            continue
        taken += each.seconds[engine]
        best += min(each.seconds[baseline], each.seconds["gpu"])
    return taken / best if best else 1.0


def _mean(times: Sequence[CaseTimes], engine: str) -> float:
    return figures_of([each.seconds[engine] for each in times if _has_time(each, engine)]).mean


def _has_time(each: CaseTimes, engine: str) -> bool:
    return each.outcomes.get(engine) in ("ok", "timeout")
