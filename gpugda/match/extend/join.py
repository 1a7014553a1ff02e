"""Extending partial embeddings step by step, depth first and in windows that fit the memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.join import Product, Table
from gpugda.device.launch.weigh import WeighKernels
from gpugda.match.extend.accumulate import MarkedRows
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.memory import rows_within
from gpugda.match.extend.pairs import PairSteps, prefix_sums
from gpugda.match.extend.rows import LeafCounts
from gpugda.match.extend.small import join_at_once, last_table
from gpugda.match.launch_size import LaunchSize, first_window
from gpugda.match.list_lengths import shortest
from gpugda.match.special.cycles import CycleCount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.launch.extend import ExtensionKernels, Pairs
    from gpugda.device.launch.extend_rows import RowKernels
    from gpugda.device.launch.small_join import SmallJoined
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.thresholds import JoinLimits
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.compile import ExtendStep
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.run import Run

__all__ = ["ExtendWindows"]


class ExtendWindows:
    """Runs the steps.

    Args:
        run: Of the query.
        kernels: For pairs.
        row_kernels: For leaves.
        steps: What to do.
        words: The same on the device.
        candidates: Of the query nodes.
        limits: How much is done at once.

    Attributes:
        rows: Rows made by each step until now.
        windows: Tables made by each step until now.
        by_pairs: Which looked at pairs one by one, though the device is one that prefers rows?
        made_none: Was all counted without rows?
        counted: How many there are, if that was counted before it was asked for.
    """

    def __init__(
        self,
        run: Run,
        kernels: ExtensionKernels,
        row_kernels: RowKernels,
        steps: Sequence[ExtendStep],
        words: StepWords,
        candidates: Candidates,
        limits: JoinLimits,
    ) -> None:
        self._run = run
        self._limits = limits
        self._kernels = kernels
        context = run.graph.context
        self._steps = steps
        self._candidates = candidates
        self._grown = [self._limits.first_window] * len(steps)
        self._words, self._arrays, self._plain = words, words.arrays, words.plain
        self._launches = words.launches
        self._counters = run.workspace.allocate(2, np.uint32, "counters")
        self._leaves = LeafCounts(run, row_kernels, steps, candidates, self._arrays)
        self._marked = None
        if context.profile.intersection == "marks":
            self._marked = MarkedRows(run, steps, self._arrays, self._counters, limits.item_work)
        self._totals = run.workspace.allocate(kernels.group_count, np.uint64, "totals")
        self._pairs = PairSteps(
            run, kernels, steps, words, self._counters, self._totals, measures=limits.measures_pairs
        )
        self._progress = run.report.progress
        self.rows = [0] * len(steps)
        self.windows = [0] * len(steps)
        self.by_pairs = [False] * len(steps)
        self.made_none = False
        self.counted: int | None = None

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """Tables of full embeddings. Each is valid until the next one is asked for.

        None between them only says that others may launch now. Where about ``enough`` rows
        suffice, the first tables are small.
        """
        if enough is not None:
            self._grown = [first_window(enough, self._limits.first_window)] * len(self._steps)
        yield from self._extend_all()

    def count_all(self, *, at_once: bool) -> None:
        """Counts before it is asked how many there are; at once: if that needs no waiting."""
        if not at_once:
            self.counted = sum(self.counts())
            return
        self._expect_many()
        joined = self._join_at_once(only_counts=True)
        if joined is not None and len(joined.rows) == len(self._steps):
            self.counted = sum(self._count_rest(joined))
        elif joined is not None:
            self._run.workspace.release(joined.values)

    def counts(self) -> Iterator[int]:
        """Numbers of full embeddings, to be added up; rows of the last step are not made."""
        if self.counted is not None:
            yield self.counted
            return
        cycle = CycleCount.of(self._run, self._steps[-1].cycle, self._candidates)
        self.made_none = cycle is not None
        if cycle is not None:
            self.rows[-1] = cycle.count(self._totals, self._limits.item_work)
            yield self.rows[-1]
            return
        self._expect_many()
        joined = self._join_at_once(only_counts=True)
        if joined is None:
            yield from self._count(0, Table(None, 1, 0))
        else:
            yield from self._count_rest(joined)

    def _count_rest(self, joined: SmallJoined) -> Iterator[int]:
        """What was counted at once, or what comes of the rows of the last complete step."""
        if len(joined.rows) == len(self._steps):
            self.rows[-1] = joined.total
            yield joined.total
        else:
            yield from self._count(len(joined.rows), last_table(self._steps, joined))
        self._run.workspace.release(joined.values)

    def cores(self) -> Iterator[Table | None]:
        """As `tables` for who looks at all of them and takes none to the host."""
        self._expect_many()
        yield from self._extend_all()

    def _expect_many(self) -> None:
        first = self._limits.first_count_window
        self._grown = [min(first, self._limits.largest_window)] * len(self._steps)

    def _extend_all(self) -> Iterator[Table | None]:
        joined = self._join_at_once(only_counts=False)
        if joined is None:
            yield from self._extend(0, Table(None, 1, 0))
            return
        table = last_table(self._steps, joined)
        if table.row_count:
            yield from self._extend(len(joined.rows), table)
        self._run.workspace.release(joined.values)

    def _join_at_once(self, *, only_counts: bool) -> SmallJoined | None:
        """What can be done without waiting in between, which may be all or the first steps."""
        self._run.check_deadline()
        most = min(self._limits.few_rows, *map(self._most_at_once, range(len(self._steps))))
        joined = join_at_once(
            self._run, self._steps, self._words, most, self._limits, only_counts=only_counts
        )
        if joined is not None:
            for number, rows in enumerate(joined.rows):
                self.rows[number] = rows
                self.windows[number] = 1
                self._enter(number, 0, 1, 1)
        return joined

    def _extend(self, number: int, table: Table) -> Iterator[Table | None]:
        if number == len(self._steps):
            started = time.perf_counter()
            yield table
            self._pace(number, started)
            return
        for extended in self._windows(number, table):
            if number + 1 < len(self._steps):
                yield None
            yield from self._extend(number + 1, extended)

    def _count(self, number: int, table: Table) -> Iterator[int]:
        if number < len(self._steps) - 1:
            for each in self._windows(number, table):
                yield from self._count(number + 1, each)
            return
        started = time.perf_counter()
        total = self._count_last(number, table)
        self.rows[number] += total
        self._pace(number, started)
        yield total

    def _pace(self, number: int, started: float) -> None:
        """Makes windows smaller where what a step, or the caller, does with one takes too long."""
        longest = self._run.graph.context.profile.launch_seconds
        if number and time.perf_counter() - started > longest:
            # Windows of the step before double each time: this halves them.
            self._grown[number - 1] = max(
                self._limits.smallest_window, self._grown[number - 1] // 4
            )

    def _windows(self, number: int, table: Table) -> Iterator[Table]:
        """The rows that a step makes, in tables one at a time."""
        kind = self._steps[number].kind
        self._run.check_deadline()
        if kind is ExtendKind.NODES:
            made = self._products(number, table)
        elif kind is ExtendKind.PRUNE:
            made = self._pruned(number, table)
        elif kind is ExtendKind.WEIGH:
            made = self._weighed(number, table)
        else:
            made = self._extensions(number, table)
        for extended in made:
            self.rows[number] += extended.row_count
            self.windows[number] += 1
            yield extended
            if self._progress is not None:
                self._progress.leave(number)

    def _window(self, number: int) -> int:
        """How many rows a step may make at once; the next window may have twice as many."""
        is_last = number == len(self._steps) - 1
        window = self._most_at_once(number)
        largest = self._limits.largest_last_window if is_last else self._limits.largest_window
        self._grown[number] = min(self._after(self._grown[number]), largest)
        return window

    def _after(self, rows: int) -> int:
        """What comes after a window of so many rows: a caller may leave after a few small ones."""
        first = self._limits.first_window
        return min(8 * rows, first) if rows < first else 2 * rows

    def _most_at_once(self, number: int) -> int:
        """A step's share of the memory in rows, no more than its window has grown to."""
        is_last = number == len(self._steps) - 1
        width = len(self._steps[number].variables)
        share = self._run.workspace.available // (len(self._steps) - number)
        longest = self._run.graph.context.info.max_allocation_bytes // max(4 * width, 8)
        return max(1, min(self._grown[number], longest, rows_within(share, width, is_last=is_last)))

    # ------------------------------------------------------------------ products, pruning
    def _products(self, number: int, table: Table) -> Iterator[Table]:
        step, candidates = self._steps[number], self._candidates
        nodes, first, size = candidates.listed(self._run, step.position)
        total = table.row_count * size
        none = self._counters  # nobody looks at relationships
        product = Product(size, nodes, first, None, none, none, none)
        for low, high in self._slices(number, total):
            extended = self._table(number, high - low)
            if extended.values is not None:
                self._run.kernels.join.write_product(
                    table,
                    product,
                    self._plain[number],
                    (low, high),
                    extended,
                    (step.node_column, None, None),
                )
            yield extended
            self._run.workspace.release(extended.values)

    def _pruned(self, number: int, table: Table) -> Iterator[Table]:
        sums, total = self._valid(number, table)
        for low, high in self._slices(number, total):
            extended = self._table(number, high - low)
            if extended.values is not None:
                self._run.kernels.join.write_valid(
                    table, self._plain[number], sums, (low, high), extended
                )
            yield extended
            self._run.workspace.release(extended.values)
        self._run.workspace.release(sums)

    def _valid(self, number: int, table: Table) -> tuple[DeviceArray, int]:
        counts = self._run.workspace.allocate(table.row_count, np.uint32, "counts of rows")
        self._kernels.test(self._arrays[number], table, counts)
        return prefix_sums(self._run, counts)

    def _slices(self, number: int, total: int) -> Iterator[tuple[int, int]]:
        low = 0
        while low < total:
            self._run.check_deadline()
            high = min(low + self._window(number), total)
            self._enter(number, low, high, total)
            yield low, high
            low = high

    def _enter(self, number: int, first: int, last: int, total: int) -> None:
        if self._progress is not None:
            self._progress.enter(number, first, last, total)

    def _table(self, number: int, capacity: int) -> Table:
        width = len(self._steps[number].variables)
        if width == 0:
            return Table(None, capacity, 0)
        values = self._run.workspace.allocate(capacity * width, np.uint32, "partial embeddings")
        return Table(values, capacity, width)

    def _weighed(self, number: int, table: Table) -> Iterator[Table]:
        for low, high in self._slices(number, table.row_count):
            extended = self._table(number, high - low)
            self._run.workspace.fill(self._counters, 0)
            filled = self._weigh(number, table, (low, high), extended)
            if filled:
                yield Table(extended.values, filled, extended.width, high - low)
            self._run.workspace.release(extended.values)

    def _weigh(self, number: int, table: Table, rows: tuple[int, int], extended: Table) -> int:
        """Appends those of some rows that have ways; how many these are."""
        marked = self._by_rows(number)
        if marked is not None:
            return marked.append(number, table, rows, extended, self._totals)
        if number not in self._launches:
            context = self._run.graph.context
            looks = max(1, shortest(self._steps[number].device_links, self._run.graph.graph))
            first = min(
                self._limits.first_weighed,
                max(self._limits.fewest_first, self._limits.first_looks // looks),
            )
            seconds = context.profile.launch_seconds
            self._launches[number] = LaunchSize(first, self._limits.largest_window, seconds)
        low, high = rows
        while low < high:
            size = min(high - low, self._launches[number].size)
            self._run.check_deadline()
            started = time.perf_counter()
            arrays = self._arrays[number]
            WeighKernels(self._run.graph.context).weigh(
                arrays, table, (low, low + size), extended, self._counters
            )
            if low + size < high:
                self._run.graph.context.finish()
                self._launches[number].took(size, time.perf_counter() - started)
            low += size
        return int(self._run.workspace.download(self._counters, 0, 1)[0])

    # ------------------------------------------------------------------ extensions
    def _extensions(self, number: int, table: Table) -> Iterator[Table]:
        self._enter(number, 0, 1, 1)
        marked = self._by_rows(number)
        if marked is not None and self._few(number, table, marked):
            yield from self._appended_few(number, table, marked)
            return
        pairs = self._pairs.measured(number, table, self._most_at_once(number))
        if not self._steps[number].variables:
            yield Table(None, self._pairs.count(number, table, pairs), 0)
        else:
            yield from self._appended_tables(number, table, pairs)
        self._pairs.release(pairs)

    def _by_rows(self, number: int) -> MarkedRows | None:
        """What goes row by row, where the step does."""
        if self._marked is None:
            return None
        if not self._marked.intersects(number):
            self.by_pairs[number] = True
            return None
        return self._marked

    def _few(self, number: int, table: Table, marked: MarkedRows) -> bool:
        """Are there so few new rows that they need not be measured before?"""
        if not self._steps[number].variables:
            return False
        return marked.most_rows(number, table) <= min(
            self._limits.few_rows, self._most_at_once(number)
        )

    def _appended_few(self, number: int, table: Table, marked: MarkedRows) -> Iterator[Table]:
        capacity = max(1, marked.most_rows(number, table))
        extended = self._table(number, capacity)
        self._run.workspace.fill(self._counters, 0)
        rows = (0, table.row_count)
        filled = marked.append(number, table, rows, extended, self._totals)
        if filled:
            yield Table(extended.values, filled, extended.width, capacity)
        self._run.workspace.release(extended.values)

    def _appended_tables(self, number: int, table: Table, pairs: Pairs) -> Iterator[Table]:
        """Appends to one table until the pairs left might be more rows than it has place for."""
        low = 0
        while low < pairs.total:
            most = self._steps[number].most_rows
            window = max(min(self._window(number), (pairs.total - low) * most), most)
            extended = self._table(number, window)
            first, filled = low, 0
            self._run.workspace.fill(self._counters, 0)
            while low < pairs.total and filled + max(most, window // 2) <= window:
                high = min(low + (window - filled) // most, pairs.total)
                self._run.check_deadline()
                low, filled = self._append(number, table, pairs, (low, high), extended)
            if filled:
                self._enter(number, first, low, pairs.total)
                yield Table(extended.values, filled, extended.width, window)
            self._run.workspace.release(extended.values)

    def _append(
        self, number: int, table: Table, pairs: Pairs, window: tuple[int, int], extended: Table
    ) -> tuple[int, int]:
        """Appends the rows of pairs from the first one on.

        Returns up to which, and how many rows there are now.
        """
        low, _ = window
        marked = self._by_rows(number)
        if marked is not None:
            first, last = self._pairs.whole_rows(pairs, window)
            end = int(self._run.workspace.download(pairs.sums, last, 1)[0])
            if last > first and end > low:
                rows = (first, last)
                return end, marked.append(number, table, rows, extended, self._totals)
        return self._pairs.append(number, table, pairs, window, extended)

    def _count_last(self, number: int, table: Table) -> int:
        step = self._steps[number]
        self._run.check_deadline()
        if step.kind is ExtendKind.NODES:
            return table.row_count * self._candidates.count(step.position)
        if step.kind is ExtendKind.PRUNE:
            sums, total = self._valid(number, table)
            self._run.workspace.release(sums)
            return total
        if not step.counts_lengths:
            if self._leaves.counts_leaves(number, table):
                return self._leaves.count_leaves(number, table, self._totals)
            marked = self._by_rows(number)
            if marked is not None:
                return marked.count(number, table, self._totals)
        pairs = self._pairs.measured(number, table)
        total = self._pairs.count(number, table, pairs)
        self._pairs.release(pairs)
        return total
