"""Decides by measured times whether undirected cycles and cliques are counted with rank lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.execute.oriented_form import Times

__all__ = ["RankedTimes"]

_ORIENTED_RUNS, _PLAIN_RUNS, _MAX_PLAIN_RUNS = 3, 3, 16
"""Runs of the other forms before rank lists are tried; the last if an oriented graph exists."""
_RUNS = 2
"""Trial runs of rank lists: the first one builds the lists and compiles kernels."""


@dataclass(slots=True)
class RankedTimes:
    """Times of counts of one plan with rank lists.

    Args:
        best: Best time in seconds.
        runs: Number of runs.
    """

    best: float = math.inf
    runs: int = 0

    def note(self, seconds: float) -> None:
        """Records a run."""
        self.best, self.runs = min(self.best, seconds), self.runs + 1

    def is_preferred(self, others: Times, *, is_oriented: bool) -> bool:
        """True if rank lists are faster than the other forms, or should be tried now.

        Args:
            others: Times in the original and in the oriented graph.
            is_oriented: True if the oriented graph exists and supports the pattern.
        """
        enough = _MAX_PLAIN_RUNS if is_oriented else _PLAIN_RUNS
        if others.oriented_runs < _ORIENTED_RUNS and others.plain_runs < enough:
            return False
        return self.runs < _RUNS or self.best < min(others.oriented, others.plain)
