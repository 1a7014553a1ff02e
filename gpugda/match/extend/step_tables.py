"""One step of a join: extends a table, in output tables that fit the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.join import Table
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.extend.accumulate import SparseAccumulator
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.leaf_counts import LeafCounts
from gpugda.match.extend.pairs import PairSteps
from gpugda.match.extend.plain_steps import PlainSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.device.launch.extend import ExtensionKernels, Pairs
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.join_setup import JoinSetup
    from gpugda.match.extend.window_sizes import WindowSizes

__all__ = ["StepTables"]


class StepTables:
    """Runs single steps, row by row or pair by pair.

    Args:
        setup: The join.
        sizes: Sizes of the tables.

    Attributes:
        totals: Sums of the work groups, for callers that count.
        by_pairs: For each step, True if it went pair by pair on a device that prefers rows.
    """

    def __init__(self, setup: JoinSetup, sizes: WindowSizes) -> None:
        run = setup.run
        self._run = run
        self._steps = setup.steps
        self._candidates = setup.candidates
        self._sizes = sizes
        self._limits = setup.limits
        self._counters = run.workspace.allocate(2, np.uint32, "counters")
        self._leaves = LeafCounts(setup)
        self._accumulator = None
        if run.graph.context.profile.intersection == "marks":
            self._accumulator = SparseAccumulator(setup, self._counters)
        groups = setup.kernels.extensions.group_count
        self.totals: DeviceArray = run.workspace.allocate(groups, np.uint64, "totals")
        self._pairs = PairSteps(setup, self._counters, self.totals)
        self._plain = PlainSteps(setup)
        self.by_pairs = [False] * len(setup.steps)

    @staticmethod
    def min_bytes(kernels: ExtensionKernels) -> int:
        """Bytes of the counters and totals."""
        totals = np.dtype(np.uint64).itemsize * kernels.group_count
        return 2 * (SMALLEST_BYTES + max(totals, SMALLEST_BYTES))

    def prepare(self, number: int) -> None:
        """Allocates what a step needs in any case, before rows take all memory."""
        if self._accumulator is not None:
            self._accumulator.prepare(number)

    def tables(self, number: int, table: Table) -> Iterator[Table]:
        """Yields the rows that a step makes, one table at a time."""
        kind = self._steps[number].kind
        self._run.check_deadline()
        if kind is ExtendKind.NODES:
            return self._products(number, table)
        if kind is ExtendKind.PRUNE:
            return self._pruned(number, table)
        if kind is ExtendKind.COUNT:
            return self._counted_rows(number, table)
        return self._extensions(number, table)

    def _products(self, number: int, table: Table) -> Iterator[Table]:
        # The counters stand in for the relationships, which are not read.
        done, whole = 0, table.row_count * self._candidates.count(self._steps[number].position)
        for total, write in self._plain.products(number, table, self._counters):
            yield from self._written(number, total, write, (done, whole))
            done += total

    def _pruned(self, number: int, table: Table) -> Iterator[Table]:
        sums, total = self._plain.valid(number, table)
        yield from self._written(number, total, self._plain.pruned(number, table, sums), (0, total))
        self._run.workspace.release(sums)

    def _written(
        self,
        number: int,
        total: int,
        write: Callable[[tuple[int, int], Table], None],
        of: tuple[int, int],
    ) -> Iterator[Table]:
        """Yields ``total`` rows; ``of``: rows of this step before them, and of the whole step."""
        for low, high in self._sizes.slices(number, total, of):
            extended = self._table(number, high - low)
            if extended.values is not None:
                write((low, high), extended)
            yield extended
            self._run.workspace.release(extended.values)

    def _table(self, number: int, capacity: int) -> Table:
        width = len(self._steps[number].variables)
        if width == 0:
            return Table(None, capacity, 0)
        values = self._run.workspace.allocate(capacity * width, np.uint32, "partial embeddings")
        return Table(values, capacity, width)

    def _counted_rows(self, number: int, table: Table) -> Iterator[Table]:
        counts = self._pairs.weighted(number, table)
        for low, high in self._sizes.slices(number, table.row_count):
            extended = self._table(number, high - low)
            self._run.workspace.fill(self._counters, 0)
            filled = self._append_counted(number, table, (low, high), extended, counts)
            if filled:
                yield Table(extended.values, filled, extended.width, high - low)
            self._run.workspace.release(extended.values)
        self._run.workspace.release(counts)

    def _append_counted(
        self,
        number: int,
        table: Table,
        rows: tuple[int, int],
        extended: Table,
        counts: DeviceArray | None,
    ) -> int:
        """Appends rows with their numbers of matches; ``counts``: those numbers if known."""
        accumulator = self._by_rows(number)
        if accumulator is not None:
            return accumulator.append(number, table, rows, extended, self.totals)
        if counts is not None:
            return self._pairs.append_weighted(number, table, rows, counts, extended)
        return self._pairs.append_counted(number, table, rows, extended)

    # ------------------------------------------------------------------ extensions
    def _extensions(self, number: int, table: Table) -> Iterator[Table]:
        self._sizes.enter(number, 0, 1, 1)
        accumulator = self._by_rows(number)
        if accumulator is not None and self._few(number, table, accumulator):
            yield from self._appended_few(number, table, accumulator)
            return
        pairs = self._pairs.measured(number, table, self._sizes.most(number))
        if not self._steps[number].variables:
            yield Table(None, self._pairs.count(number, table, pairs), 0)
        else:
            yield from self._appended_tables(number, table, pairs)
        self._pairs.release(pairs)

    def _by_rows(self, number: int) -> SparseAccumulator | None:
        """The accumulator, if the step goes row by row."""
        if self._accumulator is None:
            return None
        if not self._accumulator.can_run(number):
            self.by_pairs[number] = True
            return None
        return self._accumulator

    def _few(self, number: int, table: Table, accumulator: SparseAccumulator) -> bool:
        """True if there are so few new rows that they need not be measured first."""
        if not self._steps[number].variables:
            return False
        return accumulator.max_rows(number, table) <= min(
            self._limits.few_rows, self._sizes.most(number)
        )

    def _appended_few(
        self, number: int, table: Table, accumulator: SparseAccumulator
    ) -> Iterator[Table]:
        capacity = max(1, accumulator.max_rows(number, table))
        extended = self._table(number, capacity)
        self._run.workspace.fill(self._counters, 0)
        rows = (0, table.row_count)
        filled = accumulator.append(number, table, rows, extended, self.totals)
        if filled:
            yield Table(extended.values, filled, extended.width, capacity)
        self._run.workspace.release(extended.values)

    def _appended_tables(self, number: int, table: Table, pairs: Pairs) -> Iterator[Table]:
        """Appends to one table until the remaining pairs might not fit in it."""
        low = 0
        while low < pairs.total:
            most = self._steps[number].max_rows
            window = max(min(self._sizes.next(number), (pairs.total - low) * most), most)
            extended = self._table(number, window)
            first, filled = low, 0
            self._run.workspace.fill(self._counters, 0)
            while low < pairs.total and filled + max(most, window // 2) <= window:
                high = min(low + (window - filled) // most, pairs.total)
                self._run.check_deadline()
                low, filled = self._append(number, table, pairs, (low, high), extended)
            if filled:
                self._sizes.enter(number, first, low, pairs.total)
                yield Table(extended.values, filled, extended.width, window)
            self._run.workspace.release(extended.values)

    def _append(
        self, number: int, table: Table, pairs: Pairs, window: tuple[int, int], extended: Table
    ) -> tuple[int, int]:
        """Appends the rows of pairs from the start of a window.

        Returns the end of the pairs that were processed, and the number of rows so far.
        """
        low, _ = window
        accumulator = self._by_rows(number)
        if accumulator is not None:
            first, last = self._pairs.whole_rows(pairs, window)
            end = self._pairs.sum_before(pairs, last)
            if last > first and end > low:
                rows = (first, last)
                return end, accumulator.append(number, table, rows, extended, self.totals)
        return self._pairs.append(number, table, pairs, window, extended)

    def count(self, number: int, table: Table) -> int:
        """The number of rows that the last step would make."""
        step = self._steps[number]
        self._run.check_deadline()
        if step.kind is ExtendKind.NODES:
            return table.row_count * self._candidates.count(step.position)
        if step.kind is ExtendKind.PRUNE:
            sums, total = self._plain.valid(number, table)
            self._run.workspace.release(sums)
            return total
        if not step.counts_lengths:
            if self._run.placement.is_whole and self._leaves.counts_leaves(number, table):
                return self._leaves.count_leaves(number, table, self.totals)
            accumulator = self._by_rows(number)
            if accumulator is not None:
                return accumulator.count(number, table, self.totals)
        pairs = self._pairs.measured(number, table)
        total = self._pairs.count(number, table, pairs)
        self._pairs.release(pairs)
        return total
