"""Steps that follow no relationship: products of rows with candidates, and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.join import Product
from gpugda.match.extend.pairs import prefix_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.join_setup import JoinSetup

    Write = Callable[[tuple[int, int], Table], None]
    """Writes a window of the new rows to a table."""

__all__ = ["PlainSteps"]

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
