"""Makes the new table of a step, column by column (the paper's algorithm 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.fetching import HostTable

if TYPE_CHECKING:
    import numpy as np
    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.launch.sgsi_join import SgsiJoin
    from gpugda_strategies.sgsi.join import Found
    from gpugda_strategies.sgsi.scratch import Scratch
    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

__all__ = ["Generator"]


class Generator:
    """Duplicates the values of old rows; at most one old and one new column are on the device.

    Args:
        run: The query's run.
        kernels: The launcher.
        scratch: The arrays.
    """

    def __init__(self, run: Run, kernels: SgsiJoin, scratch: Scratch) -> None:
        self._run = run
        self._kernels = kernels
        self._scratch = scratch

    def table(self, step: NodeStep, found: Found) -> HostTable:
        """The rows that a step makes from its results, on the host."""
        columns: list[NDArray[np.uint32]] = []
        added: list[NDArray[np.uint32] | None] = [None, None]
        if not found.total or not (step.kept or step.added != (None, None)):
            empty = found.table.columns[0][:0]
            return HostTable((empty,) * len(step.variables), found.total)
        written = self._scratch.of_places("a new column", found.total)
        origins = self._scratch.of_places("old rows", found.total) if step.kept else None
        for place, values in enumerate((found.nodes, found.relationships)):
            is_wanted = step.added[place] is not None
            if values is not None and (is_wanted or (origins is not None and place == 0)):
                to = origins if place == 0 or step.added[0] is None else None
                self._write(found, values, written, to)
                if is_wanted:
                    added[place] = self._run.workspace.download(written, 0, found.total)
        if origins is not None:
            columns += [self._duplicated(step, found, origins, written, k) for k in step.kept]
        columns += [each for each in added if each is not None]
        return HostTable(tuple(columns), found.total)

    def _write(
        self, found: Found, values: DeviceArray, to: DeviceArray, origins: DeviceArray | None
    ) -> None:
        self._kernels.write_left(found.filled, found.left, values, found.first, to, origins)

    def _duplicated(
        self, step: NodeStep, found: Found, origins: DeviceArray, to: DeviceArray, column: int
    ) -> NDArray[np.uint32]:
        first = 0
        if column != step.links[0].column:
            first, last = found.first, found.first + found.filled.count
            values = found.table.columns[column][first:last]
            self._run.workspace.write(found.columns, values, found.table.row_count + first)
            first = found.table.row_count
        self._kernels.duplicate(origins, found.total, (found.columns, first), to)
        return self._run.workspace.download(to, 0, found.total)
