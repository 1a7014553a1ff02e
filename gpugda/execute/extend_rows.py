"""Steps with plain sorted lists: leaves by formula, on a CPU intersections row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.extend import KeyTest
from gpugda.device.extend_rows import MOST_EXCLUDED, Tasks
from gpugda.execute.comparisons import ABOVE, BELOW
from gpugda.execute.extend_drafts import ExtendKind
from gpugda.execute.extend_memory import least_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.device.buffers import DeviceArray
    from gpugda.device.extend import Link, StepArrays
    from gpugda.device.extend_rows import RowKernels
    from gpugda.device.join import Table
    from gpugda.execute.candidates import Candidates
    from gpugda.execute.extend_steps import ExtendStep
    from gpugda.execute.gpsm_run import Run

__all__ = ["RowExtensions"]

_WORK_PER_LAUNCH = 1 << 23
"""Neighbours per work item and launch: some ten milliseconds."""
_SHARE_FOR_SCRATCH = 0.25
_SEARCH_WORK = 8
_DIFFER = BELOW | ABOVE
_ZERO = np.zeros(1, dtype=np.uint32)


class RowExtensions:
    """Counts and appends where pairs need not be looked at one by one.

    Args:
        run: Of the query.
        kernels: Of the strategy.
        steps: What to do.
        candidates: Of the query nodes.
        arrays: Of the steps that extend.
        counters: ``uint32[2]``, rows that were appended and tasks that were taken.
    """

    def __init__(
        self,
        run: Run,
        kernels: RowKernels,
        steps: Sequence[ExtendStep],
        candidates: Candidates,
        arrays: Mapping[int, StepArrays],
        counters: DeviceArray,
    ) -> None:
        self._run = run
        self._kernels = kernels
        self._steps = steps
        self._candidates = candidates
        self._arrays = arrays
        self._counters = counters
        self._least = least_bytes(steps)
        self._fitting: dict[int, DeviceArray] = {}
        self._scratch: dict[int, tuple[DeviceArray, int]] = {}

    # ------------------------------------------------------------------ leaves
    def counts_leaves(self, number: int, table: Table) -> bool:
        """Is the last step one whose rows a formula counts?"""
        step = self._steps[number]
        if not step.searched_only or len(step.links) != 1 or len(step.tests) > MOST_EXCLUDED:
            return False
        if step.compares and not self._are_bounds(step):
            return False
        if self._steps[number].candidate_row is None or number in self._fitting:
            return True
        needed = 4 * self._run.graph.graph.node_count
        many = table.row_count >= self._candidates.count(step.bound_ends[0])
        return many and needed < self._free() // 4

    def _are_bounds(self, step: ExtendStep) -> bool:
        """Do comparisons only cut the sorted lists, all of whose nodes are candidates?"""
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

    # ------------------------------------------------------------------ intersections
    def intersects(self, number: int) -> bool:
        """Is it a step for a CPU's items that go row by row?"""
        step = self._steps[number]
        if self._run.graph.context.tuning.intersection != "marks" or not step.searched_only:
            return False
        if len(step.tests) > MOST_EXCLUDED:
            return False
        needed = 4 * self._words(number) * self._kernels.item_count
        return number in self._scratch or needed < self._free() * _SHARE_FOR_SCRATCH

    def count(self, number: int, table: Table, totals: DeviceArray) -> int:
        """The number of new rows, none of which is made."""
        self._run.workspace.fill(totals, 0)
        self._work(number, table, (0, table.row_count), None, totals)
        return int(self._run.workspace.download(totals).sum(dtype=np.uint64))

    def most_rows(self, number: int, table: Table) -> int:
        """As many new rows, at most, come of a table."""
        return table.row_count * self._shortest(self._steps[number].device_links)

    def append(
        self,
        number: int,
        table: Table,
        rows: tuple[int, int],
        extended: Table,
        totals: DeviceArray,
    ) -> int:
        """Appends the new rows of some rows; there must be place for the shortest lists.

        Where the step weighs, these rows themselves: there must be place for all.

        Returns how many rows there are now.
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
        scratch, words = self._scratch_of(number)
        self._run.workspace.write(self._counters, _ZERO, start=1)
        row_work = self._row_work(number)
        tasks = Tasks(rows, self._counters, scratch, words, _WORK_PER_LAUNCH, totals, row_work)
        row_count = rows[1] - rows[0]
        count = -(-row_count // self._kernels.task_rows(row_count, row_work))
        while True:
            weighs = self._steps[number].kind is ExtendKind.WEIGH
            self._kernels.intersect(self._arrays[number], table, tasks, extended, weighs=weighs)
            appended, taken = self._run.workspace.download(self._counters).tolist()
            if taken >= count:
                return int(appended)
            self._run.check_deadline()

    def _free(self) -> int:
        """Bytes that no step needs to go on."""
        return self._run.workspace.available - self._least

    def _scratch_of(self, number: int) -> tuple[DeviceArray, int]:
        if number not in self._scratch:
            words = self._words(number)
            size = words * self._kernels.item_count
            scratch = self._run.workspace.allocate(size, np.uint32, "marks of neighbours")
            self._run.workspace.fill(scratch, 0)
            self._scratch[number] = (scratch, words)
        return self._scratch[number]

    def _words(self, number: int) -> int:
        """A byte per node, and the list of what an item intersects."""
        links = self._steps[number].device_links
        if len(links) == 1:
            return 1
        return 8 * self._run.graph.words + self._shortest(links[:-1])

    def _row_work(self, number: int) -> int:
        """Neighbours at which a row makes an item look, at most; a search counts for several."""
        links = self._steps[number].device_links
        searched = self._shortest(links[:-1]) * _SEARCH_WORK if len(links) > 1 else 0
        return max(1, searched, self._shortest(links[-1:]))

    def _shortest(self, links: Sequence[Link]) -> int:
        """The shortest of some lists is no longer than this, whichever nodes they belong to."""
        statistics = self._run.graph.graph.statistics
        return min(
            statistics.degrees(
                None if link.types is None else link.types[0], outgoing=link.outgoing
            ).largest
            for link in links
        )
