"""Feedback from the row counts of runs: when to replan a query, and which plan to keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.join_rates import Corrections, RateKey

__all__ = ["MadeRows"]

P = TypeVar("P")

_FAR = 4.0
"""Ratio of measured to estimated rows that triggers a new plan; less is normal estimation error."""
_SLOWER = 1.5
"""A plan that takes this many times as long as another is worse, even if it makes fewer rows."""
_MOST_PLANS = 2
"""Plans tried after the first one; each uses what the earlier runs measured."""
_LEAST_TRIAL = 0.02
"""Seconds; a new plan also costs the time to plan and to compile its steps."""


@dataclass(slots=True, eq=False)
class MadeRows(Generic[P]):
    """Row count feedback of one query whose plan is cached.

    If a run makes far more rows than estimated, the query is planned again with corrected rates.
    After two more plans, or after a slower one, the plan with the fewest rows is kept, unless
    another one was much faster.

    Args:
        few: Runs with fewer rows than this are never replanned.

    Attributes:
        corrections: Correction factors for the rates that plans are made with: see `Rates`.
        said: Why the query was planned again, as shown to users; empty if it was not.
    """

    few: float
    corrections: dict[RateKey, float] = field(default_factory=dict)
    said: str = ""
    _plans: int = 0
    _best: tuple[int, float, P] | None = None
    _is_settled: bool = False

    def of_next_state(self) -> MadeRows[P] | None:
        """A copy for the next snapshot of the graph; None while a plan is on trial."""
        if self._best is not None:
            return None
        found = MadeRows[P](self.few, dict(self.corrections), self.said, self._plans)
        found._is_settled = self._is_settled
        return found

    def asks(self, made: Sequence[int]) -> bool:
        """True if a run with these rows per step should be passed to `judge`."""
        return not self._is_settled and (self._plans > 0 or sum(made) >= self.few)

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
        rows, hoped = sum(made), sum(expected)
        is_slower = self._best is not None and seconds >= _SLOWER * self._best[1]
        if self._best is None or self._is_better(work, seconds):
            self._best = work, seconds, plan
        is_far = rows >= self.few and rows > _FAR * hoped
        if is_far and not is_slower and self._plans < _MOST_PLANS:
            self._plans += 1
            self.said = f"planned anew: {rows:,} rows were met, {hoped:,.0f} expected"
            return None, True
        self._is_settled = True
        (_, _, best), self._best = self._best, None
        return (None if best is plan else best), False

    @property
    def trial_seconds(self) -> float | None:
        """Time after which a plan on trial is abandoned; None if no plan is on trial."""
        best = self._best
        return None if best is None else max(_LEAST_TRIAL, _SLOWER * best[1])

    def give_up(self) -> P | None:
        """Ends the trial of a plan that takes too long and returns the best plan before it.

        No further plan is tried. Returns None if another run has judged in the meantime.
        """
        self._is_settled = True
        best, self._best, self.said = self._best, None, ""
        return None if best is None else best[2]

    def _is_better(self, work: int, seconds: float) -> bool:
        assert self._best is not None
        least, fastest, _ = self._best
        return work < least and seconds < _SLOWER * fastest

    def correct(self, corrections: Corrections) -> None:
        """Records what a run measured, as factors on the rates that its plan was made with."""
        for key, factor in corrections.items():
            self.corrections[key] = self.corrections.get(key, 1.0) * factor
