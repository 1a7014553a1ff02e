"""The join node by node, with tables on the host: as broad as memory allows, then deeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.sgsi.column_tests import passing

from gpugda.match.host_table import HostTable, joined_tables
from gpugda.match.launch_size import first_window

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


class HostWindows:
    """Extends tables step by step.

    Args:
        run: The query's run.
        steps: The steps, at least one.
        candidates: Candidates of the query nodes.
        join: Finds what extends rows.
        generator: Makes rows from that.

    Attributes:
        rows: Number of rows that each step has made.
        windows: Number of tables that each step has made.
    """

    def __init__(
        self,
        run: Run,
        steps: Sequence[NodeStep],
        candidates: HostCandidates,
        join: SegmentJoin,
        generator: Generator,
    ) -> None:
        self._run = run
        self._steps = steps
        self._candidates = candidates
        self._join = join
        self._generator = generator
        self._size = 0
        self._listed: dict[int, NDArray[np.uint32]] = {}
        self.rows = [0] * len(steps)
        self.windows = [0] * len(steps)

    def tables(self, enough: int | None = None) -> Iterator[HostTable | None]:
        """Yields tables of full embeddings, and None when others may launch."""
        self._size = _MAX_BYTES if enough is None else first_window(enough, _FIRST_ROWS)
        yield from self._extend(0, HostTable((), 1))

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; the last step makes no rows."""
        self._size = _MAX_BYTES
        yield from self._count(0, HostTable((), 1))

    def _extend(self, number: int, table: HostTable) -> Iterator[HostTable | None]:
        if number == len(self._steps):
            yield table
            return
        for extended in self._made(number, table):
            if number + 1 < len(self._steps):
                yield None
            yield from self._extend(number + 1, extended)
            self._size = min(_GROWTH * self._size, _MAX_BYTES)

    def _count(self, number: int, table: HostTable) -> Iterator[int]:
        if number < len(self._steps) - 1:
            for each in self._made(number, table):
                yield 0
                yield from self._count(number + 1, each)
            return
        for total in self._totals(self._steps[number], table):
            self.rows[number] += total
            yield total

    def _totals(self, step: NodeStep, table: HostTable) -> Iterator[int]:
        self._run.check_deadline()
        if step.kind is JoinKind.NODES:
            yield table.row_count * self._candidates.count(step.position)
        elif step.kind is JoinKind.PRUNE:
            for part in self._pieces(table):
                yield passing(step.tests, part).row_count
        else:
            yield from self._join.counted(step, table)

    def _made(self, number: int, table: HostTable) -> Iterator[HostTable]:
        """Yields the rows that a step makes, in tables as long as there is room."""
        step = self._steps[number]
        is_last = number == len(self._steps) - 1
        held: list[HostTable] = []
        for part in self._parts(step, table):
            self._run.check_deadline()
            if not part.row_count:
                continue
            self.rows[number] += part.row_count
            held.append(part)
            if is_last or sum(each.row_count for each in held) >= self._rows(step):
                self.windows[number] += 1
                yield joined_tables(held)
                held = []
        if held:
            self.windows[number] += 1
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
