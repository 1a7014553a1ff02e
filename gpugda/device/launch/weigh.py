"""Counts the matches of a query node per partial embedding; launcher of ``weigh.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.extend import STEP_PARAMETERS
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.extend import StepArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["WeighKernels"]

_FILE = "weigh.cl"
_TEAMS = 32
"""Rows that a work group of a GPU processes at once; same value as in the kernel."""


class WeighKernels:
    """Appends rows with their number of matches."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._weigh = get_kernel(context, _FILE, "weigh_rows", f"{STEP_PARAMETERS}QQbQb")

    def weigh(
        self,
        arrays: StepArrays,
        table: Table,
        rows: tuple[int, int],
        extended: Table,
        appended: DeviceArray,
    ) -> None:
        """Appends the rows that have matches, with their number in the node's column.

        Args:
            arrays: Arrays of the step.
            table: The partial embeddings.
            rows: First row and the one after the last.
            extended: Table to which rows are appended; it must have space for all.
            appended: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        arguments = (
            *arrays.arguments(table),
            *rows,
            extended.values,
            extended.column_stride,
            appended,
        )
        context, count = self._context, rows[1] - rows[0]
        at_once = 1 if context.is_cpu else _TEAMS
        most = context.info.compute_units * context.profile.weigh_groups_per_unit
        self._weigh.launch_groups(min(most, -(-count // at_once)), *arguments)
