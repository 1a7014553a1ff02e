"""Whether undirected cycles and cliques are counted in lists by rank: where that was faster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.execute.oriented_form import Times

__all__ = ["RankedTimes"]

_ORIENTED_RUNS, _PLAIN_RUNS, _MOST_PLAIN_RUNS = 3, 3, 16
"""So often the other forms are timed before; the last where the oriented graph finds no place."""
_RUNS = 2
"""So often lists by rank are tried: the first time they are made, and kernels compiled."""


@dataclass(slots=True)
class RankedTimes:
    """How long the counts of one plan took in lists by rank.

    Args:
        best: Seconds.
        runs: How many there were.
    """

    best: float = math.inf
    runs: int = 0

    def note(self, seconds: float) -> None:
        """Remembers a run."""
        self.best, self.runs = min(self.best, seconds), self.runs + 1

    def is_preferred(self, others: Times, *, is_oriented: bool) -> bool:
        """Are lists by rank faster than the other forms, or to be tried now?

        Args:
            others: In the graph as it is, and in the oriented one.
            is_oriented: Is the oriented graph there, and has it a form of the pattern?
        """
        enough = _MOST_PLAIN_RUNS if is_oriented else _PLAIN_RUNS
        if others.oriented_runs < _ORIENTED_RUNS and others.plain_runs < enough:
            return False
        return self.runs < _RUNS or self.best < min(others.oriented, others.plain)
