"""The strategy ``gpsm``: filters candidates, assembles candidate relationships, joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.gpsm.join import JoinWindows
from gpugda_strategies.gpsm.relationships import assemble_relationships
from gpugda_strategies.gpsm.report import describe_steps
from gpugda_strategies.gpsm.steps import JoinStep, compile_steps

from gpugda.match.candidates.filter import filter_candidates
from gpugda.match.matcher import Cursor, Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.report import describe_candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["GpsmStrategy"]

_ENTRY_BYTES, _ROW_BYTES = 8, 24
"""Bytes of a candidate relationship, and of a row of them while they are counted twice."""


class GpsmStrategy(Matcher):
    """Filters candidates, then joins candidate relationships one by one."""

    name = "gpsm"
    method = "filters candidates, then joins candidate relationships one after the other"

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> _JoinCursor | None:
        """See `Matcher.start`."""
        with run.stage("filter"):
            candidates = filter_candidates(run, pattern, masks, self._rounds)
        if candidates is None:
            return None
        with run.stage("relationships"):
            tables = assemble_relationships(run, pattern, candidates)
        describe_candidates(run.report, pattern, candidates)
        if tables is None:
            return None
        run.report.candidate_relationships.update(tables.counts)
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        steps = compile_steps(pattern, tables.steps, tables.ends, rows)
        windows = JoinWindows(run, steps, candidates, tables, self._sorted(pattern))
        return _JoinCursor(pattern, steps, windows)

    def _sorted(self, bound: BoundQuery) -> list[bool]:
        """True per query relationship with sorted rows: one type and one direction."""
        only_one = len(self._graph.graph.types) <= 1
        return [
            each.directed and (only_one if each.types is None else len(each.types) == 1)
            for each in bound.relationships
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _JoinCursor(Cursor):
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
