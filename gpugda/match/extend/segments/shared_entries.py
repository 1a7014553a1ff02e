"""Counts, per row, the entries that two groups of leaves share in a segmented graph.

The product of two groups that can take the same relationships is corrected by the number of shared
ones: the relationships of the row's anchor of the first group that leaves of the second group could
also take. With the whole graph on the device, multiplication looks that number up. Here, rows wait
for their anchor's segment, and get a column with the number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.graph.segment_views import Wanted
from gpugda.device.launch.join import Table
from gpugda.match.extend.memory import rows_within
from gpugda.match.extend.segments.waiting import Batch, Sorter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.leaf_products import CommonColumn, ProductArrays, ProductKernels
    from gpugda.match.extend.segments.waiting import WaitingRows
    from gpugda.match.run import Run
    from gpugda.thresholds import JoinLimits

__all__ = ["SharedEntryColumns", "segmented_product"]


class SharedEntryColumns:
    """Adds a column per factor of two groups to the rows of a core.

    Args:
        run: The query's run.
        kernels: The counting kernels.
        shared: What is counted, in ascending order of its columns.
        arrays: The arrays that rows are multiplied with, see `segmented_product`.
        views: The segments of the data graph on the device.
        waiting: Limits and location of waiting rows.
        limits: Limits of the join's windows and launches.
    """

    def __init__(
        self,
        run: Run,
        kernels: ProductKernels,
        shared: Sequence[CommonColumn],
        arrays: ProductArrays,
        views: SegmentViews,
        waiting: WaitingRows,
        limits: JoinLimits,
    ) -> None:
        self._run = run
        self._kernels = kernels
        self._shared = shared
        self._arrays = arrays
        self._views = views
        self._waiting = waiting
        self._max_rows = limits.largest_window
        segments = views.segments
        self._bounds = run.workspace.upload(segments.bounds, "bounds of segments")

    def added(self, tables: Iterator[Table | None]) -> Iterator[Table | None]:
        """Yields the tables with the columns. Each is valid until the next one is requested."""
        for each in self._shared:
            tables = self._with_column(each, tables)
        return tables

    def _with_column(
        self, shared: CommonColumn, tables: Iterator[Table | None]
    ) -> Iterator[Table | None]:
        segments = self._views.segments
        sorter = Sorter(self._run, segments, [shared.anchor], self._bounds)
        batch = Batch(shared.column, sorter.key_count)
        for table in tables:
            if table is None:
                yield None
                continue
            sorter.add(batch, table)
            batch.spill_excess(self._run, self._waiting)
            yield None
            if self._waiting.is_full(batch.nbytes):
                yield from self._extended(shared, batch)
                batch = Batch(shared.column, sorter.key_count)
        yield from self._extended(shared, batch)

    def _extended(self, shared: CommonColumn, batch: Batch) -> Iterator[Table]:
        for key in sorted(batch.keys()):
            parts = self._views.segments.parts(key)
            for table in batch.tables(self._run, key, self._most(shared)):
                # A long row comes in pieces, whose counts are added.
                wider = self._wider(table)
                for number, part in enumerate(parts):
                    self._run.check_deadline()
                    self._views.acquire(
                        Wanted(
                            (part,) if shared.outgoing else (), (part,) if shared.incoming else ()
                        ),
                        alone=True,
                    )
                    self._kernels.count_common(self._arrays, wider, shared, adds=number > 0)
                yield wider
                self._run.workspace.release(wider.values)
        batch.drop(self._waiting)

    def _most(self, shared: CommonColumn) -> int:
        share = self._run.workspace.available // (4 * len(self._shared))
        return min(self._max_rows, rows_within(share, shared.column + 1, is_last=False))

    def _wider(self, table: Table) -> Table:
        workspace, rows, width = self._run.workspace, table.row_count, table.width
        values = workspace.allocate(rows * (width + 1), np.uint32, "partial embeddings")
        assert table.values is not None
        for column in range(width):
            begin = column * table.column_stride
            workspace.copy_part(table.values, begin, values, column * rows, rows)
        return Table(values, rows, width + 1, rows)


def segmented_product(arrays: ProductArrays, views: SegmentViews) -> ProductArrays:
    """The same arrays, reading the segments of the data graph that are on the device."""
    return replace(arrays, filter=replace(arrays.filter, graph=views.arguments))
