"""A join segment by segment that is ready to begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.match.matcher import Cursor
from gpugda.match.sgsi.report import describe_join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.match.gsi.steps import VertexStep
    from gpugda.match.host_table import HostTable
    from gpugda.match.run import Run
    from gpugda.match.sgsi.join import Sources
    from gpugda.match.sgsi.windows import HostWindows
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["SegmentCursor"]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentCursor(Cursor):
    """Candidates, steps and segments are ready.

    Args:
        bound: The query.
        steps: What is done.
        sources: Segments, and who brings them to the device.
        windows: Does it.
    """

    bound: BoundQuery
    steps: Sequence[VertexStep]
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
        """See `Cursor.describe`. What is on the device stays there for later queries."""
        describe_join(run, self.bound, self.steps, self.sources, self.windows)
        self.sources.loader.leave()
