"""Steps that process rows one by one, with a sparse accumulator shared by adjacent rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.extend import MAX_EXCLUDED, LinkFlags, MarkKernels, Tasks
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.memory import min_bytes
from gpugda.match.list_lengths import longest_list, shortest_list

if TYPE_CHECKING:
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.join_setup import JoinSetup

__all__ = ["SparseAccumulator"]

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
