"""Steps that go pair by pair: each row with each entry of its shortest list."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.extend import ListKernels, Pairs, PairWindow, WeighKernels
from gpugda.device.launch.join import Product
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.launch_size import LaunchSize
from gpugda.plan.cardinality import max_list_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.extend import Link
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.encode import JoinSetup
    from gpugda.match.run import Run

    Write = Callable[[tuple[int, int], Table], None]
    """Writes a window of the new rows to a table."""

__all__ = ["PairSteps", "PlainSteps", "longest_list", "prefix_sums", "shortest_list"]


def longest_list(link: Link, graph: DataGraph) -> int:
    """Upper bound of the entries that any node has along the link."""
    return max_list_length(graph, link.types, outgoing=link.outgoing, incoming=link.incoming)


def shortest_list(links: Sequence[Link], graph: DataGraph) -> int:
    """Upper bound of the shortest of the lists along these links, for any nodes."""
    return min(longest_list(link, graph) for link in links)


_MIN_PAIRS = 1 << 16
_MAX_DOWNLOADED_SUMS = 1 << 17
"""Prefix sums that are downloaded at once: a search for one place would read some 17 of them."""
_PAIRS_PER_BYTE = 1 << 10
"""Pairs per byte of free memory for which the starts of rows are kept, at least."""


class PairSteps:
    """Measures, counts and appends pairs, in launches of a suitable length.

    Args:
        setup: The join.
        counters: ``uint32[2]``; the first one counts appended rows.
        totals: ``uint64``, one per work group of the kernels.
    """

    def __init__(self, setup: JoinSetup, counters: DeviceArray, totals: DeviceArray) -> None:
        self._run = setup.run
        self._limits = setup.limits
        self._kernels = setup.kernels.extensions
        context = setup.run.graph.context
        self._lists = ListKernels(context) if context.profile.intersection == "lists" else None
        self._steps = setup.steps
        self._arrays, self._launches = setup.words.arrays, setup.words.launches
        self._counters = counters
        self._totals = totals
        self._last_read: tuple[DeviceArray, NDArray[Any]] | None = None

    # ------------------------------------------------------------------ measuring
    def measured(self, number: int, table: Table, max_rows: int | None = None) -> Pairs:
        """The pairs of a table's rows.

        They are not counted if an upper bound fits in one launch and, were each pair a row, is at
        most ``max_rows``.
        """
        workspace = self._run.workspace
        unread = self._max_pairs(number)
        if max_rows is not None:
            unread = min(unread, max_rows)
        lengths = workspace.allocate(table.row_count, np.uint32, "lengths of rows")
        bases = workspace.allocate(table.row_count, np.uint8, "bases of rows")
        self._kernels.measure(self._arrays[number], table, lengths, bases)
        most = self._most_of(number, table)
        if most is not None and most <= unread:
            sums = self._run.kernels.prefix_sum.run(workspace, lengths, 0, lengths.count)
            workspace.release(lengths)
            return Pairs(sums, bases, most, is_exact=False)
        sums, total = prefix_sums(self._run, lengths)
        return Pairs(sums, bases, total)

    def release(self, pairs: Pairs) -> None:
        """Releases the arrays of pairs."""
        self._run.workspace.release(pairs.sums, pairs.bases)

    def whole_rows(self, pairs: Pairs, window: tuple[int, int]) -> tuple[int, int]:
        """The rows whose pairs all lie in a window; none if the window starts within a row."""
        low, high = window
        rows = pairs.sums.count - 1
        if low == 0 and high == pairs.total:
            return 0, rows
        first = self._place(pairs, low, 0)
        if self.sum_before(pairs, first) != low:
            return first, first
        last = self._place(pairs, high + 1, first) - 1
        return first, last

    def _place(self, pairs: Pairs, wanted: int, first: int) -> int:
        """The first index whose sum is at least ``wanted``, otherwise one past the last."""
        last = pairs.sums.count
        if last <= _MAX_DOWNLOADED_SUMS:
            sums = self._read(pairs.sums)[first:]
            return first + int(np.searchsorted(sums, sums.dtype.type(wanted)))
        while first < last:
            middle = (first + last) // 2
            if self.sum_before(pairs, middle) < wanted:
                first = middle + 1
            else:
                last = middle
        return first

    def sum_before(self, pairs: Pairs, row: int) -> int:
        """The number of pairs of all rows before this one."""
        if pairs.sums.count <= _MAX_DOWNLOADED_SUMS:
            return int(self._read(pairs.sums)[row])
        return int(self._run.workspace.download(pairs.sums, row, 1)[0])

    def _read(self, sums: DeviceArray) -> NDArray[Any]:
        """Downloads all sums if they are few, as one sum takes as long; keeps the last ones."""
        if self._last_read is None or self._last_read[0] is not sums:
            self._last_read = sums, self._run.workspace.download(sums)
        return self._last_read[1]

    def _most_of(self, number: int, table: Table) -> int | None:
        """An upper bound of the pairs, if they need not be counted."""
        step = self._steps[number]
        if self._limits.measures_pairs or self._list_kernels(number) is None or step.counts_lengths:
            return None
        graph = self._run.graph.graph
        most = table.row_count * shortest_list(step.device_links, graph)
        if number == 1 and self._steps[0].kind is ExtendKind.NODES:
            # All nodes are distinct, so that each entry occurs once; in a merged list, once per
            # direction.
            most = min(most, (1 + step.merged) * graph.relationship_count)
        return most

    # ------------------------------------------------------------------ appending, counting
    def append(
        self, number: int, table: Table, pairs: Pairs, window: tuple[int, int], extended: Table
    ) -> tuple[int, int]:
        """Appends the rows of pairs from the start of a window, by one launch.

        Returns the end of the pairs that were processed, and the number of rows so far.
        """
        low = window[0]
        high = min(window[1], low + self._max_pairs(number))
        started = time.perf_counter()
        part = PairWindow(self._arrays[number], table, pairs, low, high)
        workspace, lists = self._run.workspace, self._list_kernels(number)
        if lists is not None:
            lists.append(workspace, part, extended, self._counters)
        else:
            self._kernels.extend(part, extended, self._counters)
        filled = int(workspace.download(self._counters, 0, 1)[0])
        self._launches[number].record(high - low, time.perf_counter() - started)
        return high, filled

    def count(self, number: int, table: Table, pairs: Pairs) -> int:
        """The number of rows that the pairs give."""
        if self._steps[number].counts_lengths or pairs.total == 0:
            return pairs.total
        workspace, lists = self._run.workspace, self._list_kernels(number)
        launched = min(pairs.total, self._max_pairs(number)) if pairs.is_exact else pairs.total
        groups = self._kernels.group_count if lists is None else lists.group_count(launched)
        totals = self._totals
        if groups > totals.count:
            totals = workspace.allocate(groups, np.uint64, "totals")
        workspace.fill(totals, 0)
        for window in self._launched(number, (0, pairs.total), lambda: launched):
            part = PairWindow(self._arrays[number], table, pairs, *window)
            if lists is not None:
                lists.count(workspace, part, totals)
            else:
                self._kernels.count(part, totals)
        total = int(workspace.download(totals).sum(dtype=np.uint64))
        if totals is not self._totals:
            workspace.release(totals)
        return total

    def weighted(self, number: int, table: Table) -> DeviceArray | None:
        """The number of matches per row, for plain lists and many rows; otherwise None."""
        lists, workspace = self._list_kernels(number), self._run.workspace
        if lists is None or table.row_count < self._limits.listed_rows:
            return None
        pairs = self.measured(number, table)
        counts = workspace.allocate(table.row_count, np.uint32, "counts of rows")
        workspace.fill(counts, 0)
        most = partial(self._max_pairs, number)
        for window in self._launched(number, (0, pairs.total), most):
            part = PairWindow(self._arrays[number], table, pairs, *window)
            lists.weigh(workspace, part, counts)
        self.release(pairs)
        return counts

    def append_weighted(
        self,
        number: int,
        table: Table,
        rows: tuple[int, int],
        counts: DeviceArray,
        extended: Table,
    ) -> int:
        """Appends the rows of a range whose count is not 0. Returns how many they are."""
        lists = self._list_kernels(number)
        assert lists is not None
        lists.append_weighted(self._arrays[number], table, rows, counts, extended, self._counters)
        return int(self._run.workspace.download(self._counters, 0, 1)[0])

    def append_counted(
        self, number: int, table: Table, rows: tuple[int, int], extended: Table
    ) -> int:
        """Appends the rows of a range that have a match. Returns how many they are."""
        if number not in self._launches:
            self._launches[number] = self._first_counted(number)
        kernels, launches = WeighKernels(self._run.graph.context), self._launches[number]
        self._run.check_deadline()
        for part in self._launched(number, rows, lambda: launches.size):
            kernels.weigh(self._arrays[number], table, part, extended, self._counters)
        return int(self._run.workspace.download(self._counters, 0, 1)[0])

    def _launched(
        self, number: int, whole: tuple[int, int], size: Callable[[], int]
    ) -> Iterator[tuple[int, int]]:
        """Yields windows of pairs or rows, one per launch, of the length that ``size`` returns.

        Between two launches it waits for the device and measures the time.
        """
        low, end = whole
        while low < end:
            high = min(low + size(), end)
            started = time.perf_counter()
            yield low, high
            if high < end:
                self._run.graph.context.finish()
                self._run.check_deadline()
                self._launches[number].record(high - low, time.perf_counter() - started)
            low = high

    def _first_counted(self, number: int) -> LaunchSize:
        limits, seconds = self._limits, self._run.graph.context.profile.launch_seconds
        looks = max(1, shortest_list(self._steps[number].device_links, self._run.graph.graph))
        first = min(
            limits.first_counted_rows, max(limits.min_first_rows, limits.first_entries // looks)
        )
        return LaunchSize(first, limits.largest_window, seconds)

    def _list_kernels(self, number: int) -> ListKernels | None:
        """The kernels for steps of a GPU that keep facts about rows in local memory."""
        return self._lists if self._steps[number].searched_only else None

    def _max_pairs(self, number: int) -> int:
        """Maximum pairs of a launch; up to so many are processed without counting them first."""
        if number not in self._launches:
            profile = self._run.graph.context.profile
            self._launches[number] = LaunchSize(
                profile.first_pairs, profile.max_pairs, profile.launch_seconds
            )
        within = self._run.workspace.available * _PAIRS_PER_BYTE
        return min(self._launches[number].size, max(_MIN_PAIRS, within))


def prefix_sums(run: Run, counts: DeviceArray) -> tuple[DeviceArray, int]:
    """Exclusive prefix sums of the counts, which are released, and the total."""
    sums = run.kernels.prefix_sum.run(run.workspace, counts, 0, counts.count)
    total = int(run.workspace.download(sums, counts.count, 1)[0])
    run.workspace.release(counts)
    return sums, total


_SHARE_FOR_WINDOW = 1 / 16
"""Share of the free memory for candidates that are listed at a time."""
_MIN_WINDOW = 64


class PlainSteps:
    """Counts the new rows of plain steps, and writes them.

    Args:
        setup: The join.
    """

    def __init__(self, setup: JoinSetup) -> None:
        self._run = setup.run
        self._kernels = setup.kernels.extensions
        self._steps = setup.steps
        self._words = setup.words
        self._candidates = setup.candidates

    def products(
        self, number: int, table: Table, unused: DeviceArray
    ) -> Iterator[tuple[int, Write]]:
        """Each row with each candidate, or with some at a time if all do not fit.

        ``unused``: any array, in place of relationships.
        """
        step = self._steps[number]
        words, columns = self._words.plain[number], (step.node_column, None, None)
        for nodes, first, size in self._listed(step.position):
            product = Product(size, nodes, first, None, unused, unused, unused)

            def write(window: tuple[int, int], extended: Table, product: Product = product) -> None:
                kernels = self._run.kernels.join
                kernels.write_product(table, product, words, window, extended, columns)

            yield table.row_count * size, write

    def _listed(self, position: int) -> Iterator[tuple[DeviceArray, int, int]]:
        """Yields lists of candidates: an array, the offset of the first one, and their number."""
        candidates, workspace = self._candidates, self._run.workspace
        if candidates.fits_list(self._run, position):
            yield candidates.listed(self._run, position)
            return
        most = int(workspace.available * _SHARE_FOR_WINDOW) // 4
        most = max(_MIN_WINDOW, min(most, candidates.count(position)))
        nodes = workspace.allocate(most, np.uint32, "listed candidates")
        for window in candidates.windows(self._run, position, most):
            workspace.write(nodes, window)
            yield nodes, 0, len(window)
        workspace.release(nodes)

    def valid(self, number: int, table: Table) -> tuple[DeviceArray, int]:
        """Prefix sums of the rows that pass the step's tests, and the number of these rows."""
        counts = self._run.workspace.allocate(table.row_count, np.uint32, "counts of rows")
        self._kernels.test(self._words.arrays[number], table, counts)
        return prefix_sums(self._run, counts)

    def pruned(self, number: int, table: Table, sums: DeviceArray) -> Write:
        """Writes the rows that pass."""
        words = self._words.plain[number]

        def write(window: tuple[int, int], extended: Table) -> None:
            self._run.kernels.join.write_valid(table, words, sums, window, extended)

        return write
