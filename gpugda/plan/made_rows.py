"""What runs of a query made of rows, and when that asks for another plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.join_rates import Corrections, RateKey

__all__ = ["MadeRows"]

P = TypeVar("P")

_FAR = 4.0
"""So many times as many rows as were expected are looked at: less is within what estimates are."""
_SLOWER = 1.5
"""A plan that takes so many times as long as another one is worse, however few its rows are."""
_MOST_PLANS = 2
"""Plans after the first one: each is looked for with what the ones before met."""
_LEAST_TRIAL = 0.02
"""Seconds: finding a plan, and compiling its steps, takes some, too."""


@dataclass(slots=True, eq=False)
class MadeRows(Generic[P]):
    """Of one query whose plan is kept.

    A plan is given up where a run made far more rows than were expected; the next one is found with
    rates that say what was met. After two, or after one that was slower, the one that made the
    fewest rows stays, unless another one was far faster.

    Args:
        few: Runs that make fewer rows are good enough.

    Attributes:
        corrections: Of the rates by which plans are found: see `Rates`.
        said: Why another plan was looked for, for people; empty where none was.
    """

    few: float
    corrections: dict[RateKey, float] = field(default_factory=dict)
    said: str = ""
    _plans: int = 0
    _best: tuple[int, float, P] | None = None
    _is_settled: bool = False

    def of_next_state(self) -> MadeRows[P] | None:
        """The same for a later state of the graph; None while a plan is being judged."""
        if self._best is not None:
            return None
        found = MadeRows[P](self.few, dict(self.corrections), self.said, self._plans)
        found._is_settled = self._is_settled
        return found

    def asks(self, made: Sequence[int]) -> bool:
        """Is a run with so many rows, step by step, to be judged?"""
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
        """The plan to go back to, if any; and whether another one is to be looked for.

        Args:
            made: Rows after each query node that a run joined.
            expected: As many as were expected.
            plan: What was run.
            work: Rows of all that was done, tables that came first, too.
            seconds: That it took; a first run's are more, for its steps were compiled.
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
        """After which a plan that is tried is given up; None where none is tried."""
        best = self._best
        return None if best is None else max(_LEAST_TRIAL, _SLOWER * best[1])

    def give_up(self) -> P | None:
        """The best plan before the one that is tried, which takes too long; none is tried again.

        None where another run has judged meanwhile.
        """
        self._is_settled = True
        best, self._best, self.said = self._best, None, ""
        return None if best is None else best[2]

    def _is_better(self, work: int, seconds: float) -> bool:
        assert self._best is not None
        least, fastest, _ = self._best
        return work < least and seconds < _SLOWER * fastest

    def correct(self, corrections: Corrections) -> None:
        """Says what a run met, in terms of the rates that its plan was found with."""
        for key, factor in corrections.items():
            self.corrections[key] = self.corrections.get(key, 1.0) * factor
