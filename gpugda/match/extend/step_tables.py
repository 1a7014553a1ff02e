"""One step of a join: extends a table, in output tables that fit the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.extend import MAX_EXCLUDED, KeyTest, LinkFlags, MarkKernels, Tasks
from gpugda.device.launch.join import Table
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.memory import min_bytes
from gpugda.match.extend.pairs import PairSteps, PlainSteps, longest_list, shortest_list
from gpugda.plan.comparisons import ABOVE, BELOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.device.launch.extend import ExtensionKernels, Pairs
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.encode import JoinSetup
    from gpugda.match.extend.memory import WindowSizes
    from gpugda.match.extend.step import ExtendStep


__all__ = ["LeafCounts", "SparseAccumulator", "StepTables"]

_DIFFER = BELOW | ABOVE


class LeafCounts:
    """Counts last steps without visiting each pair.

    Args:
        setup: The join.
    """

    def __init__(self, setup: JoinSetup) -> None:
        self._run = setup.run
        self._kernels = setup.kernels.rows
        self._steps = setup.steps
        self._candidates = setup.candidates
        self._arrays = setup.words.arrays
        self._least = min_bytes(setup.steps)
        self._fitting: dict[int, DeviceArray] = {}

    def counts_leaves(self, number: int, table: Table) -> bool:
        """True if a formula counts the rows of the last step."""
        step = self._steps[number]
        if not step.searched_only or len(step.links) != 1 or len(step.tests) > MAX_EXCLUDED:
            return False
        if step.compares and not self._are_bounds(step):
            return False
        if self._steps[number].candidate_row is None or number in self._fitting:
            return True
        needed = 4 * self._run.graph.graph.node_count
        many = table.row_count >= self._candidates.count(step.bound_ends[0])
        return many and needed < self._free() // 4

    def _are_bounds(self, step: ExtendStep) -> bool:
        """True if all nodes are candidates and comparisons only select ranges of sorted lists."""
        return step.candidate_row is None and not any(
            isinstance(test, KeyTest) and (test.left_place is not None or test.outcomes == _DIFFER)
            for test in step.tests
        )

    def count_leaves(self, number: int, table: Table, totals: DeviceArray) -> int:
        """The number of new rows of the last step."""
        workspace = self._run.workspace
        fitting = None
        if self._steps[number].candidate_row is not None:
            fitting = self._fitting_of(number, table)
        workspace.fill(totals, 0)
        self._kernels.count_leaves(self._arrays[number], table, fitting, totals, totals.count)
        return int(workspace.download(totals).sum(dtype=np.uint64))

    def _fitting_of(self, number: int, table: Table) -> DeviceArray:
        if number not in self._fitting:
            end, candidates = self._steps[number].bound_ends[0], self._candidates
            nodes = self._run.graph.graph.node_count
            fitting = self._run.workspace.allocate(nodes, np.uint32, "counts of neighbours")
            places = candidates.listed(self._run, end)
            self._kernels.count_fitting(self._arrays[number], table, places, fitting)
            self._fitting[number] = fitting
        return self._fitting[number]

    def _free(self) -> int:
        """Bytes that no step needs in order to continue."""
        return self._run.workspace.available - self._least


_SHARE_FOR_SCRATCH = 0.25
_SHARE_IF_SEGMENTED = 0.5
"""Used with a segmented graph: pair by pair, each neighbour would need a search in a long list."""
_SEARCH_WORK = 16
_ZERO = np.zeros(1, dtype=np.uint32)


class _Scratch(NamedTuple):
    """Memory of the work items: the array, words of a level, and how many items it is for."""

    array: DeviceArray
    words: int
    items: int


class SparseAccumulator:
    """Counts and appends row by row on a CPU.

    Args:
        setup: The join.
        counters: ``uint32[2]``: rows appended, and tasks taken.
    """

    def __init__(self, setup: JoinSetup, counters: DeviceArray) -> None:
        self._run = setup.run
        self._item_work = setup.limits.item_work
        self._graph = setup.run.graph.graph
        self._kernels = MarkKernels(setup.run.graph.context)
        self._steps = setup.steps
        self._arrays = setup.words.arrays
        self._counters = counters
        self._least = min_bytes(setup.steps)
        self._scratch: dict[int, _Scratch] = {}

    def can_run(self, number: int) -> bool:
        """True if a step can go row by row and its accumulator fits in memory."""
        step = self._steps[number]
        if not step.by_rows or len(step.tests) > MAX_EXCLUDED:
            return False
        return number in self._scratch or self._items(number) > 0

    def prepare(self, number: int) -> None:
        """Allocates a step's accumulator, if it fits, before the rows use the memory."""
        if self.can_run(number):
            self._scratch_of(number)

    def count(self, number: int, table: Table, totals: DeviceArray) -> int:
        """The number of new rows, without making them."""
        self._run.workspace.fill(totals, 0)
        self._work(number, table, (0, table.row_count), None, totals)
        return int(self._run.workspace.download(totals).sum(dtype=np.uint64))

    def max_rows(self, number: int, table: Table) -> int:
        """Upper bound of the new rows for a table."""
        step = self._steps[number]
        return table.row_count * step.max_rows * shortest_list(step.device_links, self._graph)

    def append(
        self,
        number: int,
        table: Table,
        rows: tuple[int, int],
        extended: Table,
        totals: DeviceArray,
    ) -> int:
        """Appends the new rows of a range of rows; there must be room for the shortest lists.

        A step that only counts appends the rows of the range themselves; there must be room for
        all. Returns the number of rows so far.
        """
        return self._work(number, table, rows, extended, totals)

    def _work(
        self,
        number: int,
        table: Table,
        rows: tuple[int, int],
        extended: Table | None,
        totals: DeviceArray,
    ) -> int:
        scratch, words, items = self._scratch_of(number)
        self._run.workspace.write(self._counters, _ZERO, start=1)
        row_work = self._row_work(number)
        tasks = Tasks(
            rows, self._counters, scratch, words, self._item_work, totals, items, row_work
        )
        row_count = rows[1] - rows[0]
        count = -(-row_count // self._kernels.task_rows(row_count, row_work))
        while True:
            weighs = self._steps[number].kind is ExtendKind.COUNT
            self._kernels.intersect(self._arrays[number], table, tasks, extended, weighs=weighs)
            appended, taken = self._run.workspace.download(self._counters).tolist()
            if taken >= count:
                return int(appended)
            self._run.check_deadline()

    def _free(self) -> int:
        """Bytes that no step needs in order to continue."""
        return self._run.workspace.available - self._least

    def _scratch_of(self, number: int) -> _Scratch:
        if number not in self._scratch:
            words, items = self._words(number), max(1, self._items(number))
            size = max(1, words * self._levels(number) * items)
            scratch = self._run.workspace.allocate(size, np.uint32, "sparse accumulator")
            self._run.workspace.fill(scratch, 0)
            self._scratch[number] = _Scratch(scratch, words, items)
        return self._scratch[number]

    def _items(self, number: int) -> int:
        """Work items for whose levels there is room; fewer if memory is short."""
        whole = self._run.placement.is_whole
        room = self._free() * (_SHARE_FOR_SCRATCH if whole else _SHARE_IF_SEGMENTED)
        each, items = 4 * self._words(number) * self._levels(number), self._kernels.item_count
        if each * items < room:
            return items
        # Pair by pair, all cores together take longer than one item.
        return 0 if whole or room <= 0 else int(room) // each

    def _levels(self, number: int) -> int:
        """Levels of a work item."""
        return max(1, len(self._steps[number].links) - 1)

    def _words(self, number: int) -> int:
        """Words per level: a byte per node and the list of set ones, or a count per node."""
        if len(self._steps[number].links) == 1:
            return self._graph.node_count if self._keeps_counts(number) else 0
        first = longest_list(self._steps[number].device_links[0], self._graph)
        return 8 * self._run.graph.words + min(first, self._graph.node_count)

    def _keeps_counts(self, number: int) -> bool:
        """True if a step with one link has to keep counts per neighbour, and they fit."""
        step = self._steps[number]
        is_counted = number == len(self._steps) - 1 or step.kind is ExtendKind.COUNT
        is_masked = any(link.mask_slot is not None for link in step.device_links)
        if not is_counted or not (is_masked or step.candidate_row is not None):
            return False
        if not self._run.placement.is_whole:  # counts would cover this segment's neighbours only
            return False
        needed = 4 * self._graph.node_count * self._kernels.item_count
        return needed < self._free() * _SHARE_FOR_SCRATCH

    def _row_work(self, number: int) -> int:
        """Upper bound of a row's work in neighbours; a search counts as several."""
        links = self._steps[number].device_links
        is_searched = len(links) > 1 or links[0].flags & LinkFlags.NEEDS_RELATIONSHIP
        searched = shortest_list(links, self._graph) * _SEARCH_WORK if is_searched else 0
        return max(1, searched, *(longest_list(link, self._graph) for link in links))


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
