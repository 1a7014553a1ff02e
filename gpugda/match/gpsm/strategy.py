"""The strategy ``gpsm``: filter candidates, assemble candidate relationships, join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.match.candidates.filter import filter_candidates
from gpugda.match.device_strategy import DeviceStrategy
from gpugda.match.gpsm.join import JoinWindows
from gpugda.match.gpsm.relationships import assemble_relationships
from gpugda.match.gpsm.report import describe_steps
from gpugda.match.gpsm.steps import JoinStep, compile_steps
from gpugda.match.report import describe_candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks, Wanted
    from gpugda.match.run import Run
    from gpugda.match.variables import Variable
    from gpugda.plan.plan import BoundQuery

__all__ = ["GpsmStrategy"]


class GpsmStrategy(DeviceStrategy):
    """Candidates, candidate relationships, and a join that goes relationship by relationship."""

    name = "gpsm"

    def _prepare(
        self, run: Run, bound: BoundQuery, masks: Masks, wanted: Wanted, *, counting: bool
    ) -> _Prepared | None:
        del counting  # rows of the last step are made or not, all else is the same
        with run.stage("filter"):
            candidates = filter_candidates(run, bound, masks, self._rounds)
        if candidates is None:
            return None
        with run.stage("relationships"):
            tables = assemble_relationships(run, bound, candidates)
        describe_candidates(run.report, bound, candidates)
        if tables is None:
            return None
        run.report.candidate_relationships.update(tables.counts)
        steps = compile_steps(bound, tables.steps, tables.ends, wanted)
        windows = JoinWindows(run, steps, candidates, tables, self._sorted(bound))
        return _Prepared(bound, steps, windows)

    def _sorted(self, bound: BoundQuery) -> list[bool]:
        """Rows of the data graph are sorted by neighbour within one type and one direction."""
        only_one = len(self._graph.graph.types) <= 1
        return [
            each.directed and (only_one if each.types is None else len(each.types) == 1)
            for each in bound.relationships
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    bound: BoundQuery
    steps: tuple[JoinStep, ...]
    windows: JoinWindows

    @property
    def variables(self) -> Sequence[Variable]:
        return self.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        return self.windows.tables(enough)

    def counts(self) -> Iterator[int]:
        return self.windows.counts()

    def describe(self, run: Run) -> None:
        describe_steps(run.report, run.graph.graph, self.bound, self.steps, self.windows)
