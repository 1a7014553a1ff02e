"""Counts the rows of last steps with one plain link by a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.extend import MAX_EXCLUDED, KeyTest
from gpugda.match.extend.memory import min_bytes
from gpugda.plan.comparisons import ABOVE, BELOW

if TYPE_CHECKING:
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.join_setup import JoinSetup
    from gpugda.match.extend.step import ExtendStep

__all__ = ["LeafCounts"]

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
