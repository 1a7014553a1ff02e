"""Steps that follow no relationship: products of rows with candidates, and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.join import Product
from gpugda.match.extend.pairs import prefix_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.join_setup import JoinSetup

    Write = Callable[[tuple[int, int], Table], None]
    """Writes a window of the new rows to a table."""

__all__ = ["PlainSteps"]


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

    def product(self, number: int, table: Table, unused: DeviceArray) -> tuple[int, Write]:
        """Each row with each candidate; ``unused``: any array, in place of relationships."""
        step = self._steps[number]
        nodes, first, size = self._candidates.listed(self._run, step.position)
        product = Product(size, nodes, first, None, unused, unused, unused)
        words, columns = self._words.plain[number], (step.node_column, None, None)

        def write(window: tuple[int, int], extended: Table) -> None:
            kernels = self._run.kernels.join
            kernels.write_product(table, product, words, window, extended, columns)

        return table.row_count * size, write

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
