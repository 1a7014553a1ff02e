"""The join node by node, with tables on the host: as broad as memory allows, then deeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.sgsi.column_tests import passing

from gpugda.match.fetching import HostTable, joined_tables
from gpugda.match.launch_size import first_window
from gpugda.match.windowed_join import WindowedJoin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.sgsi.candidates import HostCandidates
    from gpugda_strategies.sgsi.generate import Generator
    from gpugda_strategies.sgsi.join import SegmentJoin
    from numpy.typing import NDArray

    from gpugda.match.run import Run

__all__ = ["HostWindows"]

_MAX_BYTES = 1 << 28
"""Approximate maximum bytes of a table on the host: broad tables send segments less often."""
_MAX_AT_ONCE = 1 << 22
"""Rows that NumPy processes between two checks of the deadline."""
_FIRST_ROWS = 1 << 18
_GROWTH = 8


class HostWindows(WindowedJoin[HostTable]):
    """Extends tables step by step.

    Args:
        run: The query's run.
        steps: The steps, at least one.
        candidates: Candidates of the query nodes.
        join: Finds what extends rows.
        generator: Makes rows from that.
    """

    def __init__(
        self,
        run: Run,
        steps: Sequence[NodeStep],
        candidates: HostCandidates,
        join: SegmentJoin,
        generator: Generator,
    ) -> None:
        super().__init__(len(steps))
        self._run = run
        self._steps = steps
        self._candidates = candidates
        self._join = join
        self._generator = generator
        self._size = 0
        self._listed: dict[int, NDArray[np.uint32]] = {}

    def tables(self, enough: int | None = None) -> Iterator[HostTable | None]:
        """Yields tables of full embeddings, and None when others may launch."""
        self._size = _MAX_BYTES if enough is None else first_window(enough, _FIRST_ROWS)
        yield from self.rows_from(0, HostTable((), 1))

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; the last step makes no rows."""
        self._size = _MAX_BYTES
        yield from self.counts_from(0, HostTable((), 1))

    def totals(self, number: int, table: HostTable) -> Iterator[int]:
        """See `WindowedJoin.totals`."""
        step = self._steps[number]
        self._run.check_deadline()
        if step.kind is JoinKind.NODES:
            yield table.row_count * self._candidates.count(step.position)
        elif step.kind is JoinKind.PRUNE:
            for part in self._pieces(table):
                yield passing(step.tests, part).row_count
        else:
            yield from self._join.counted(step, table)

    def made(self, number: int, table: HostTable) -> Iterator[HostTable]:
        """See `WindowedJoin.made`: in tables as long as there is room."""
        for made in self._joined(number, table):
            yield made
            self._size = min(_GROWTH * self._size, _MAX_BYTES)

    def _joined(self, number: int, table: HostTable) -> Iterator[HostTable]:
        step = self._steps[number]
        is_last = number == len(self._steps) - 1
        held: list[HostTable] = []
        for part in self._parts(step, table):
            self._run.check_deadline()
            if not part.row_count:
                continue
            held.append(part)
            if is_last or sum(each.row_count for each in held) >= self._rows(step):
                yield joined_tables(held)
                held = []
        if held:
            yield joined_tables(held)

    def _parts(self, step: NodeStep, table: HostTable) -> Iterator[HostTable]:
        if step.kind is JoinKind.NODES:
            yield from self._product(step, table)
        elif step.kind is JoinKind.PRUNE:
            for part in self._pieces(table):
                left = passing(step.tests, part)
                yield HostTable(tuple(left.columns[each] for each in step.kept), left.row_count)
        else:
            for found in self._join.found(step, table):
                yield self._generator.table(step, found)

    def _pieces(self, table: HostTable) -> Iterator[HostTable]:
        for first in range(0, table.row_count, _MAX_AT_ONCE):
            self._run.check_deadline()
            yield table.part(first, min(first + _MAX_AT_ONCE, table.row_count))

    def _product(self, step: NodeStep, table: HostTable) -> Iterator[HostTable]:
        """Yields the product of the rows with all candidates of a query node."""
        if step.position not in self._listed:
            self._listed[step.position] = self._candidates.listed(step.position)
        nodes = self._listed[step.position]
        total, first = table.row_count * len(nodes), 0
        while first < total:
            self._run.check_deadline()
            last = min(first + min(self._rows(step), _MAX_AT_ONCE), total)
            old, node = np.divmod(np.arange(first, last), len(nodes))
            columns = [table.columns[each][old] for each in step.kept]
            if step.added[0] is not None:
                columns.append(nodes[node])
            yield HostTable(tuple(columns), last - first)
            first = last

    def _rows(self, step: NodeStep) -> int:
        """Maximum rows of a step's table."""
        return max(1, min(self._size, _MAX_BYTES // (4 * max(len(step.variables), 1))))
