"""A prepared join that goes segment by segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.sgsi.report import describe_join

from gpugda.match.matcher import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.sgsi.join import Sources
    from gpugda_strategies.sgsi.windows import HostWindows

    from gpugda.match.fetching import HostTable
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["SegmentCursor"]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentCursor(Cursor):
    """A cursor over prepared candidates, steps and segments.

    Args:
        bound: The query.
        steps: The steps.
        sources: Candidates, segments, and their loader.
        windows: Executes the steps.
    """

    bound: BoundQuery
    steps: Sequence[NodeStep]
    sources: Sources
    windows: HostWindows

    @property
    def variables(self) -> Sequence[Variable]:
        """See `Cursor.variables`."""
        return self.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[HostTable | None]:
        """See `Cursor.tables`."""
        return self.windows.tables(enough)

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        return self.windows.counts()

    def describe(self, run: Run) -> None:
        """See `Cursor.describe`. Loaded segments stay on the device for later queries."""
        describe_join(run, self.bound, self.steps, self.sources, self.windows)
        self.sources.loader.leave()
