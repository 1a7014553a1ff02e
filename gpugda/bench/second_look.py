"""Measures cases above the limit again, to tell slow queries from load on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.bench.findings import broken_promises, case_times
from gpugda.bench.measuring import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.bench.cases import Case
    from gpugda.bench.measuring import Engines, Measured, Pace
    from gpugda.ports import Progress

__all__ = ["measured_again"]


def measured_again(
    engines: Engines,
    cases: Sequence[Case],
    measured: Measured,
    pace: Pace,
    progress: Progress,
) -> Measured | None:
    """Measures cases that broke a promise, with other texts; None if there are none, or no promise.

    Adds wrong answers to those of ``measured``.
    """
    if pace.baseline != "native" or not measured.finished:
        return None
    found = broken_promises(case_times(cases, measured.runs), pace.baseline).values()
    names = {name for each in found for name in each}
    late = [case for case in cases if case.name in names]
    if not late:
        return None
    again = measure(engines, late, pace.again(), progress)
    measured.mismatches += again.mismatches
    return again
