"""Extends rows by one step: Prealloc-Combine, or counting first and joining twice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.launch.gsi_join import Places, Rows, StepArrays, TaskList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.gsi_join import GsiJoin, ListArrays

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["Combiner", "Found", "Watch"]

Watch: TypeAlias = "Callable[[NodeStep, Rows, Places, ListArrays], None]"
"""Drops places of the rows of a step that watches columns."""

_MAX_PLACES = 1 << 27
"""Maximum places allocated at once: the work of a launch, between two checks of the deadline."""
_FEW_PLACES = 1 << 20
"""Up to so many places, each row gets as many as the longest list: no sum has to be awaited."""
_PARTS = 16
"""Work groups that share one of the longest rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a step found for some rows.

    Args:
        total: Number of new rows.
        sums: ``uint64``, prefix sums of the new rows per row.
        places: The entries; None if rows only pass or fail.
        lists: The lists that the entries belong to.
    """

    total: int
    sums: DeviceArray
    places: Places | None = None
    lists: ListArrays | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Start and length of the rows' lists, prefix sums of the lengths, and the long rows.

    Without sums there are places for ``total`` entries, equally many per row.
    """

    begins: DeviceArray
    lengths: DeviceArray
    sums: DeviceArray | None
    total: int
    tasks: tuple[TaskList, ...]
    long_rows: DeviceArray | None

    def arrays(self) -> tuple[DeviceArray | None, ...]:
        return self.begins, self.lengths, self.sums, self.long_rows


class Combiner:
    """Finds the entries that extend rows.

    Args:
        run: The query's run.
        candidates: Candidates of the query nodes.
        lists: Lists of each link.
        kernels: The launcher.
        options: Techniques to use.
        watch: Called before a step's results are counted.
    """

    def __init__(
        self,
        run: Run,
        candidates: Candidates,
        lists: Mapping[Link, ListArrays],
        kernels: GsiJoin,
        options: GsiOptions,
        watch: Watch | None = None,
    ) -> None:
        self._run = run
        self._candidates = candidates
        self._lists = lists
        self._kernels = kernels
        self._options = options
        self._watch = watch
        self._profile = run.graph.context.profile

    def found(
        self, step: NodeStep, words: tuple[DeviceArray, int], everything: Rows, share: int
    ) -> Iterator[tuple[Rows, Found]]:
        """Yields the results for rows of a table, in parts that fit a share of the memory.

        Raises:
            MemoryLimitError: Not even one row's entries fit.
        """
        bounds = self._bounds(step, everything, share)
        most = max(1, min(share // 4, _MAX_PLACES, self._profile.max_pairs))
        if bounds.total <= most:
            yield everything, self._combined(step, words, everything, bounds)
            return
        firsts = self._parts(bounds, everything.count, most)
        self._run.workspace.release(*bounds.arrays())
        for first, last in pairwise(firsts):
            self._run.check_deadline()
            rows = Rows(everything.table, everything.first + first, last - first)
            yield rows, self._combined(step, words, rows, self._bounds(step, rows, share))

    def summed(self, counts: DeviceArray) -> Found:
        """The prefix sums of counts, which are released."""
        workspace = self._run.workspace
        sums = self._run.kernels.prefix_sum.run(workspace, counts, 0, counts.count)
        workspace.release(counts)
        return Found(int(workspace.download(sums, sums.count - 1, 1)[0]), sums)

    def release(self, found: Found) -> None:
        """Releases its arrays for reuse."""
        self._run.workspace.release(found.sums)
        if found.places is not None:
            places = found.places
            self._run.workspace.release(places.sums, places.entries, places.counts)

    def _parts(self, bounds: _Bounds, rows: int, most: int) -> list[int]:
        """First rows of parts whose lists have at most ``most`` entries, or that are one row."""
        assert bounds.sums is not None  # they are many
        sums = self._run.workspace.download(bounds.sums, 0, rows + 1)
        firsts = [0]
        while firsts[-1] < rows:
            last = int(np.searchsorted(sums, sums[firsts[-1]] + np.uint64(most), side="right")) - 1
            firsts.append(max(last, firsts[-1] + 1))
        return firsts

    def _bounds(self, step: NodeStep, rows: Rows, share: int) -> _Bounds:
        workspace, options, link = self._run.workspace, self._options, step.links[0]
        begins = workspace.allocate(rows.count, np.uint32, "begins of lists")
        lengths = workspace.allocate(rows.count, np.uint32, "lengths of lists")
        balances = options.load_balance and self._profile.group_size > 1
        balances = balances and self._lists[link].longest > options.group_from
        long_rows = numbers = None
        if balances:
            long_rows = workspace.allocate(rows.count, np.uint32, "long rows")
            numbers = workspace.allocate(2, np.uint32, "numbers of long rows")
            workspace.fill(numbers, 0)
        long = None
        if long_rows is not None and numbers is not None:
            long = (options.group_from, options.launch_from, long_rows, numbers)
        columns = (link.column, link.other)
        self._kernels.bound(rows, columns, self._lists[link], (begins, lengths), long)
        sums, total = None, rows.count * self._lists[link].longest
        if not options.prealloc or total > self._few(share):
            sums = self._run.kernels.prefix_sum.run(workspace, lengths, 0, rows.count)
            total = int(workspace.download(sums, rows.count, 1)[0])
        tasks = () if long is None else self._tasks(rows.count, long[2], long[3])
        workspace.release(numbers)
        return _Bounds(begins, lengths, sums, total, tasks, long_rows)

    def _few(self, share: int) -> int:
        """Number of places that is small in relation to a share of the memory."""
        return min(_FEW_PLACES, _MAX_PLACES, share // 16)

    def _tasks(
        self, count: int, long_rows: DeviceArray, numbers: DeviceArray
    ) -> tuple[TaskList, ...]:
        long, longest = (int(each) for each in self._run.workspace.download(numbers))
        tasks = (
            TaskList(long_rows, 0, long, 1),
            TaskList(long_rows, count - longest, longest, _PARTS),
        )
        return tuple(each for each in tasks if each.count)

    def _combined(
        self, step: NodeStep, words: tuple[DeviceArray, int], rows: Rows, bounds: _Bounds
    ) -> Found:
        places = self._first(step, words, rows, bounds)
        for link in step.links[1:]:
            self._run.check_deadline()
            places = self._intersected(step, rows, bounds, places, link)
        if self._watch is not None and step.watched:
            self._watch(step, rows, places, self._lists[step.links[0]])
        sums = self._run.kernels.prefix_sum.run(self._run.workspace, places.counts, 0, rows.count)
        total = int(self._run.workspace.download(sums, rows.count, 1)[0])
        kept = {id(places.sums)}
        self._run.workspace.release(*(each for each in bounds.arrays() if id(each) not in kept))
        return Found(total, sums, places, self._lists[step.links[0]])

    # ------------------------------------------------------------------ the first link
    def _first(
        self, step: NodeStep, words: tuple[DeviceArray, int], rows: Rows, bounds: _Bounds
    ) -> Places:
        arrays = self._step_arrays(step, words)
        if self._options.prealloc:
            counts = self._zeros(rows.count) if bounds.tasks else self._counts(rows.count)
            entries = self._entries(bounds.total)
            stride = self._lists[step.links[0]].longest
            places = Places(bounds.sums, entries, counts, stride)
            self._join(step, rows, bounds, arrays, places)
            return places
        counts = self._zeros(rows.count)
        self._join(step, rows, bounds, arrays, Places(bounds.sums, None, counts))
        places = self._exact(counts)
        self._join(step, rows, bounds, arrays, places)
        return places

    def _join(
        self, step: NodeStep, rows: Rows, bounds: _Bounds, arrays: StepArrays, places: Places
    ) -> None:
        options, lists = self._options, self._lists[step.links[0]]
        found = (bounds.begins, bounds.lengths)
        limits = (options.group_from, options.share_from) if options.load_balance else (None, None)
        self._kernels.join_first(rows, lists, found, arrays, places, limits)
        for tasks in bounds.tasks:
            self._kernels.join_first(rows, lists, found, arrays, places, limits, tasks)

    def _step_arrays(self, step: NodeStep, words: tuple[DeviceArray, int]) -> StepArrays:
        candidates, options = self._candidates, self._options
        closes = step.kind is JoinKind.CLOSE
        bits_at, listed = 0, (candidates.matrix, 0, 0)
        if not closes:
            bits_at = candidates.rows[step.position] * candidates.arrays.words
            if not options.set_operations:
                listed = candidates.listed(self._run, step.position)
        return StepArrays(
            (candidates.matrix, bits_at),
            listed,
            words,
            closes,
            options.set_operations,
            options.duplicate_removal,
        )

    # ------------------------------------------------------------------ further links
    def _intersected(
        self, step: NodeStep, rows: Rows, bounds: _Bounds, before: Places, link: Link
    ) -> Places:
        if self._options.prealloc:
            counts = self._counts(rows.count)
            after = Places(before.sums, before.entries, counts, before.stride)
            self._intersect(step, rows, bounds, before, after, link)
            self._run.workspace.release(before.counts)
            return after
        counts = self._zeros(rows.count)
        counted = Places(before.sums, None, counts)
        self._intersect(step, rows, bounds, before, counted, link)
        after = self._exact(counts)
        self._intersect(step, rows, bounds, before, after, link)
        self._run.workspace.release(before.sums, before.entries, before.counts)
        return after

    def _intersect(
        self,
        step: NodeStep,
        rows: Rows,
        bounds: _Bounds,
        before: Places,
        after: Places,
        link: Link,
    ) -> None:
        options, first = self._options, self._lists[step.links[0]].neighbours
        alone_from = options.group_from if bounds.tasks else None
        for tasks in (None, *bounds.tasks):
            one_part = tasks and TaskList(tasks.rows, tasks.first, tasks.count, 1)
            self._kernels.intersect(
                rows,
                link.column,
                self._lists[link],
                first,
                before,
                after,
                bounds.lengths,
                alone_from,
                options.set_operations,
                one_part,
            )

    # ------------------------------------------------------------------ arrays
    def _zeros(self, count: int) -> DeviceArray:
        counts = self._counts(count)
        self._run.workspace.fill(counts, 0)
        return counts

    def _counts(self, count: int) -> DeviceArray:
        return self._run.workspace.allocate(count, np.uint32, "counts of rows")

    def _entries(self, count: int) -> DeviceArray:
        return self._run.workspace.allocate(max(count, 1), np.uint32, "places for new rows")

    def _exact(self, counts: DeviceArray) -> Places:
        """Places for the counted entries; resets the counts to 0 for the second pass."""
        workspace = self._run.workspace
        sums = self._run.kernels.prefix_sum.run(workspace, counts, 0, counts.count)
        entries = self._entries(int(workspace.download(sums, counts.count, 1)[0]))
        workspace.fill(counts, 0)
        return Places(sums, entries, counts)
