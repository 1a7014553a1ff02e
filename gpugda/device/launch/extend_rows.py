"""Counts the rows of a step with one link; launcher of ``extend_rows.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.extend import STEP_PARAMETERS
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.extend import StepArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["MAX_EXCLUDED", "RowKernels"]

MAX_EXCLUDED = 16
"""Maximum number of tests that the kernels evaluate in one step."""

_FILE = "extend_rows.cl"


class RowKernels:
    """Counts leaves."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._fitting = get_kernel(context, _FILE, "count_fitting", f"{STEP_PARAMETERS}bQQb")
        self._leaves = get_kernel(context, _FILE, "count_leaves", f"{STEP_PARAMETERS}Qbb")

    def count_fitting(
        self,
        arrays: StepArrays,
        table: Table,
        nodes: tuple[DeviceArray, int, int],
        fitting: DeviceArray,
    ) -> None:
        """Writes for each node how many of its neighbours along the step's link are candidates.

        Args:
            arrays: Arrays of the step.
            table: Any table of the step.
            nodes: The collected candidates, the first one to process, and the number of them.
            fitting: ``uint32``, one per data node.
        """
        self._fitting(nodes[2], *arrays.arguments(table), *nodes, fitting)

    def count_leaves(
        self,
        arrays: StepArrays,
        table: Table,
        fitting: DeviceArray | None,
        totals: DeviceArray,
        groups: int,
    ) -> None:
        """Adds the number of rows of a step with one link to ``totals``, ``uint64[groups]``."""
        self._leaves.launch_groups(
            groups, *arrays.arguments(table), table.row_count, fitting, totals
        )
