"""Extends along plain sorted lists on a GPU; launcher of ``extend_lists.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.device.launch.extend import STEP_PARAMETERS
from gpugda.device.launch.hub_bitmaps import HUB_PARAMETERS
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.extend import PairWindow, StepArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["ListKernels"]

_FILE = "extend_lists.cl"
_PIECE = 8192
"""Pairs that a work group takes at once; same value as in the kernels."""
_BYTES_OF_LIST = 8 * 256
"""Local memory per link besides the base: positions of the other lists of a block of rows."""
_PARAMETERS = {
    "count_listed": "QbbQQbb",
    "append_listed": "QbbQQbbQb",
    "weigh_listed": "QbbQQbb",
}


class ListKernels:
    """Counts and appends the pairs of steps with plain lists.

    Args:
        context: A device that is not a CPU.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._find = get_kernel(context, _FILE, "find_rows", "QbQQb")
        self._kernels = {
            name: get_kernel(
                context, _FILE, name, f"{STEP_PARAMETERS}{HUB_PARAMETERS}b{parameters}"
            )
            for name, parameters in _PARAMETERS.items()
        }
        self._append = get_kernel(context, _FILE, "append_weighted", f"{STEP_PARAMETERS}QQbbQb")

    def group_count(self, pairs: int) -> int:
        """Work groups of a launch; the length of its ``totals``."""
        most = self._context.info.compute_units * self._context.profile.list_groups_per_unit
        return min(-(-pairs // _PIECE), most)

    def count(self, workspace: Workspace, window: PairWindow, totals: DeviceArray) -> None:
        """Adds the number of a window's pairs that pass to ``totals``, one ``uint64`` per group.

        In all methods, the window may end after the last pair, and the workspace provides an array
        that lives as long as the launch.
        """
        self._launch("count_listed", workspace, window, (totals,))

    def append(
        self, workspace: Workspace, window: PairWindow, extended: Table, appended: DeviceArray
    ) -> None:
        """Appends a row for each pair of a window that passes.

        ``appended``: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        output = (extended.values, extended.column_stride, appended)
        self._launch("append_listed", workspace, window, output)

    def weigh(self, workspace: Workspace, window: PairWindow, counts: DeviceArray) -> None:
        """Adds each row's number of passing pairs in a window to ``counts``, ``uint32[rows]``."""
        self._launch("weigh_listed", workspace, window, (counts,))

    def append_weighted(
        self,
        arrays: StepArrays,
        table: Table,
        rows: tuple[int, int],
        counts: DeviceArray,
        extended: Table,
        appended: DeviceArray,
    ) -> None:
        """Appends the rows with a count above 0, with the count in the node's column.

        Args:
            arrays: Arrays of the step.
            table: The partial embeddings.
            rows: First row and the one after the last.
            counts: Counts of all rows.
            extended: Table to which rows are appended; it must have space for all.
            appended: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        self._append.launch_groups(
            self.group_count(rows[1] - rows[0]),
            *arrays.arguments(table),
            *rows,
            counts,
            extended.values,
            extended.column_stride,
            appended,
        )

    def _launch(
        self, name: str, workspace: Workspace, window: PairWindow, output: tuple[Any, ...]
    ) -> None:
        arrays, table, pairs, *bounds = window
        pieces = -(-window.pair_count // _PIECE)
        first_rows = workspace.allocate(pieces + 1, np.uint32, "first rows of pieces")
        self._find(pieces + 1, table.row_count, pairs.sums, *bounds, first_rows)
        self._kernels[name].launch_groups(
            self.group_count(window.pair_count),
            *arrays.arguments(table),
            *arrays.hubs.arguments,
            cl.LocalMemory(_BYTES_OF_LIST * max(1, arrays.link_count - 1)),
            table.row_count,
            pairs.sums,
            pairs.bases,
            *bounds,
            first_rows,
            *output,
        )
        workspace.release(first_rows)
