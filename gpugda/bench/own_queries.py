"""A user's own queries: one row each, of both engines' times and whether the answers are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.bench.measuring import NEW, REPEATED

if TYPE_CHECKING:
    from gpugda.bench.findings import Findings
    from gpugda.bench.measuring import Measured

__all__ = ["own_queries"]

_SHOWN = 60


def own_queries(
    findings: Findings, measured: Measured
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Names of columns, and a row for each query of the user; no rows if all were generated.

    Times are medians in milliseconds, from `run` to the last value in Python; null where there is
    none. The ratio is that of repeated texts: above 1 gpugda is faster.
    """
    baseline = findings.baseline
    ours = "auto" if baseline == "native" else "gpu"
    wrong = {found.case.name for found in measured.mismatches}
    compared = {name for name, engine in measured.compared_by if engine == ours}
    took = {run.case: run.answered_by for run in measured.runs if run.engine == ours}
    times = {(each.case.name, each.phase): each for each in findings.cases}
    rows: list[tuple[Any, ...]] = []
    cases = {each.case.name: each.case for each in findings.cases if each.case.form == "own"}
    for case in cases.values():
        first, again = times.get((case.name, NEW)), times.get((case.name, REPEATED))
        ratio = None if again is None else again.ratio(baseline, ours)
        equal = "NO" if case.name in wrong else "yes" if case.name in compared else "not compared"
        rows.append(
            (
                _shortened(case.text("")),
                measured.answers.get(case.name),
                _milliseconds(again, baseline),
                _milliseconds(first, ours),
                _milliseconds(again, ours),
                None if ratio is None else round(ratio, 1),
                took.get(case.name, ""),
                equal,
            )
        )
    their = "Neo4j" if baseline == "native" else baseline
    names = ("query", "rows", f"{their} ms", "first ms", "repeated ms", "ratio", "took", "equal")
    return names, rows


def _milliseconds(times: Any, engine: str) -> float | None:
    seconds = None if times is None else times.seconds.get(engine)
    return None if seconds is None else float(f"{1000 * seconds:.3g}")


def _shortened(text: str) -> str:
    words = " ".join(text.split()).removesuffix(" //")  # the comment that would hold a tag
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"
