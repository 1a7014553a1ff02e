"""Copies tables from the device to the host, each one while the next one is computed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.join import Table
from gpugda.device.memory.staging import Staging
from gpugda.match.embeddings import Embeddings
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Any, Self

    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.plan.variables import Variable


__all__ = ["HostTable", "TableFetcher", "joined_tables"]


@value(frozen=True, slots=True, eq=False)
class HostTable:
    """A table of partial embeddings, one per row.

    Args:
        columns: One ``uint32[row_count]`` per variable.
        row_count: Number of rows; valid even if there are no columns.
    """

    columns: tuple[NDArray[np.uint32], ...]
    row_count: int

    def part(self, first: int, last: int) -> HostTable:
        """Rows ``first … last-1``."""
        return HostTable(tuple(each[first:last] for each in self.columns), last - first)


def joined_tables(tables: Sequence[HostTable]) -> HostTable:
    """Concatenates at least one table."""
    if len(tables) == 1:
        return tables[0]
    columns = zip(*(each.columns for each in tables), strict=True)
    return HostTable(
        tuple(np.concatenate(each) for each in columns), sum(each.row_count for each in tables)
    )


_SHARE_FOR_COPY = 4


class TableFetcher:
    """Fetches tables in their order.

    The first table is returned at once, so that a caller who needs few rows does not wait. On a
    device with its own memory, each further table above a threshold is copied within the device,
    which takes microseconds. The next table can then overwrite it while a thread downloads the copy
    to the host.

    Args:
        run: Its workspace allocates the copy; outlives this object.
        variables: The variables that the columns hold.
    """

    def __init__(self, run: Run, variables: Sequence[Variable]) -> None:
        self._run = run
        self._variables = variables
        self._is_first = True
        self._copy: DeviceArray | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._under_way: Future[Embeddings] | None = None

    def fetch(self, table: Table | HostTable) -> list[Embeddings]:
        """Embeddings that are ready, in order; this table may be returned by the next call.

        The caller holds the run's lock. Afterwards a table on the device may be overwritten.
        """
        ready = self.rest()
        if isinstance(table, HostTable):
            return [*ready, self._embeddings(table.row_count, table.columns)]
        copy = None if self._is_first else self._place_for(table)
        self._is_first = False
        if copy is None:
            return [*ready, self._download(table)]
        assert table.values is not None
        staging = Staging.of(self._run.graph.context)
        copied = staging.copy(table.values, copy)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="gpugda-fetch")
        shape = Table(copy, table.row_count, table.width, table.column_stride)
        self._under_way = self._pool.submit(self._stage, staging, shape, copied)
        return ready

    def rest(self) -> list[Embeddings]:
        """Waits for the download in progress and returns it."""
        if self._under_way is None:
            return []
        found, self._under_way = self._under_way, None
        return [found.result()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()  # waits: no thread may read an array that is about to be freed

    def _place_for(self, table: Table) -> DeviceArray | None:
        workspace, values = self._run.workspace, table.values
        least = self._run.graph.context.profile.aside_bytes
        if values is None or least is None:
            return None
        size = values.count * values.dtype.itemsize
        if size < least:
            return None
        if self._copy is not None and self._copy.nbytes < size:
            workspace.release(self._copy)
            self._copy = None
        if self._copy is None and size <= workspace.available // _SHARE_FOR_COPY:
            self._copy = workspace.allocate(values.count, values.dtype, "a copy of a table")
        return self._copy

    def _download(self, table: Table) -> Embeddings:
        values, rows = table.values, table.row_count
        if values is None:
            return Embeddings(rows, {}, {})
        # The array may be longer than the rows: windows are as wide as the widest step of the join.
        found = self._run.workspace.download_runs(values, _firsts(table), rows)
        return self._embeddings(rows, found)

    def _stage(self, staging: Staging, table: Table, copied: Any) -> Embeddings:
        assert table.values is not None
        rows = table.row_count
        columns = [staging.download(table.values, first, rows, copied) for first in _firsts(table)]
        return self._embeddings(rows, columns)

    def _embeddings(self, rows: int, values: Sequence[NDArray[Any]]) -> Embeddings:
        columns = dict(zip(self._variables, values, strict=True))
        return Embeddings(
            rows,
            {each.position: column for each, column in columns.items() if each.is_node},
            {each.position: column for each, column in columns.items() if not each.is_node},
        )


def _firsts(table: Table) -> range:
    stride = table.column_stride
    return range(0, table.width * stride, stride)
