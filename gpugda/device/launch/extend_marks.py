"""Extends partial embeddings row by row on a CPU; launcher of ``extend_marks.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.launch.extend import STEP_PARAMETERS
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.extend import StepArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["MarkKernels", "Tasks"]

_FILE = "extend_marks.cl"
_MAX_TASK_ROWS = 256
_MAX_TASK_WORK = 1 << 24
"""An item finishes its task before it checks whether it has done enough work."""


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Rows that work items take from a counter, and their memory.

    Args:
        rows: First row and the one after the last.
        counters: ``uint32[2]``, the numbers of rows appended and of tasks taken.
        scratch: ``uint32[items * levels * words]``, zero before and after; one level for each link
            of the step but the last. With one link there is a level of cached counts per node.
        words: Words of a level; with one link the number of nodes, or 0.
        max_work: Maximum number of neighbours that an item reads in one launch.
        totals: ``uint64``, one per item.
        items: The number of items that there is memory for.
        row_work: Maximum number of neighbours that an item reads for one row.
    """

    rows: tuple[int, int]
    counters: DeviceArray
    scratch: DeviceArray
    words: int
    max_work: int
    totals: DeviceArray
    items: int
    row_work: int = 1


class MarkKernels:
    """Intersects lists by marks (a sparse accumulator)."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._intersect = get_kernel(
            context, _FILE, "intersect_rows", f"{STEP_PARAMETERS}IQQIQIbQbQbb"
        )

    @property
    def item_count(self) -> int:
        """The number of work items that intersect."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def task_rows(self, rows: int, row_work: int = 1) -> int:
        """Rows of a task: few enough that all items have work and finish a task soon."""
        return max(
            1, min(_MAX_TASK_ROWS, rows // (16 * self.item_count), _MAX_TASK_WORK // row_work)
        )

    def intersect(
        self,
        arrays: StepArrays,
        table: Table,
        tasks: Tasks,
        extended: Table | None,
        *,
        weighs: bool = False,
    ) -> None:
        """Takes tasks; appends rows, or counts them into ``totals`` if ``extended`` is None.

        ``weighs``: True to append each row that has new rows once, with their number.
        """
        self._intersect.launch_groups(
            tasks.items,
            *arrays.arguments(table),
            arrays.end_count,
            *tasks.rows,
            self.task_rows(tasks.rows[1] - tasks.rows[0], tasks.row_work),
            tasks.max_work,
            int(weighs),
            tasks.scratch,
            tasks.words,
            None if extended is None else extended.values,
            0 if extended is None else extended.column_stride,
            tasks.counters,
            tasks.totals,
        )
