"""Feedback from the row counts of runs: when to replan a query, and which plan to keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.join.join_rates import Corrections, RateKey

__all__ = ["PlanFeedback"]

P = TypeVar("P")

_REPLAN_RATIO = 4.0
"""Ratio of measured to estimated rows that triggers a new plan; less is normal estimation error."""
_SLOWDOWN_LIMIT = 1.5
"""A plan that takes this many times as long as another is worse, even if it makes fewer rows."""
_MAX_REPLANS = 2
"""Plans tried after the first one; each uses what the earlier runs measured."""
_MIN_TRIAL_SECONDS = 0.02
"""Seconds; a new plan also costs the time to plan and to compile its steps."""


@dataclass(slots=True, eq=False)
class PlanFeedback(Generic[P]):
    """Row count feedback of one query whose plan is cached.

    If a run makes far more rows than estimated, the query is planned again with corrected rates.
    After two more plans, or after a slower one, the plan with the fewest rows is kept, unless
    another one was much faster.

    Args:
        min_rows: Runs with fewer rows than this are never replanned.

    Attributes:
        corrections: Correction factors for the rates that plans are made with: see `Rates`.
        replan_reason: Why the query was planned again, as shown to users; empty if it was not.
    """

    min_rows: float
    corrections: dict[RateKey, float] = field(default_factory=dict)
    replan_reason: str = ""
    _replans: int = 0
    _best: tuple[int, float, P] | None = None
    _is_settled: bool = False

    def for_next_snapshot(self) -> PlanFeedback[P] | None:
        """A copy for the next snapshot of the graph; None while a plan is on trial."""
        if self._best is not None:
            return None
        found = PlanFeedback[P](
            self.min_rows, dict(self.corrections), self.replan_reason, self._replans
        )
        found._is_settled = self._is_settled
        return found

    def should_judge(self, made: Sequence[int]) -> bool:
        """True if a run with these rows per step should be passed to `judge`."""
        return not self._is_settled and (self._replans > 0 or sum(made) >= self.min_rows)

    def judge(
        self,
        made: Sequence[int],
        expected: Sequence[float],
        plan: P,
        *,
        work: int,
        seconds: float,
    ) -> tuple[P | None, bool]:
        """Returns the plan to switch back to, if any, and True if a new plan should be made.

        Args:
            made: Measured rows after each query node that a run joined.
            expected: Estimated rows after each of these nodes.
            plan: The plan that ran.
            work: Rows of all work done, including preceding tables.
            seconds: Time of the run; a first run also includes compilation.
        """
        rows, estimated = sum(made), sum(expected)
        is_slower = self._best is not None and seconds >= _SLOWDOWN_LIMIT * self._best[1]
        if self._best is None or self._is_better(work, seconds):
            self._best = work, seconds, plan
        is_underestimated = rows >= self.min_rows and rows > _REPLAN_RATIO * estimated
        if is_underestimated and not is_slower and self._replans < _MAX_REPLANS:
            self._replans += 1
            self.replan_reason = f"planned again: {rows:,} rows, {estimated:,.0f} estimated"
            return None, True
        self._is_settled = True
        (_, _, best), self._best = self._best, None
        return (None if best is plan else best), False

    @property
    def trial_seconds(self) -> float | None:
        """Time after which a plan on trial is abandoned; None if no plan is on trial."""
        best = self._best
        return None if best is None else max(_MIN_TRIAL_SECONDS, _SLOWDOWN_LIMIT * best[1])

    def give_up(self) -> P | None:
        """Ends the trial of a plan that takes too long and returns the best plan before it.

        No further plan is tried. Returns None if another run has judged in the meantime.
        """
        self._is_settled = True
        best, self._best, self.replan_reason = self._best, None, ""
        return None if best is None else best[2]

    def _is_better(self, work: int, seconds: float) -> bool:
        assert self._best is not None
        least, fastest, _ = self._best
        return work < least and seconds < _SLOWDOWN_LIMIT * fastest

    def correct(self, corrections: Corrections) -> None:
        """Records what a run measured, as factors on the rates that its plan was made with."""
        for key, factor in corrections.items():
            self.corrections[key] = self.corrections.get(key, 1.0) * factor
