"""Rows that wait for segments: when they are spilled to disk, and when enough are waiting."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.config import host_limit, machine_bytes
from gpugda.deadline import check_time
from gpugda.device.launch.join import Table
from gpugda.device.launch.segments import RowKeys, SegmentKernels
from gpugda.device.memory.staging import Staging
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.segments.spill_folder import SpillFolder, spill_place
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from gpugda.device.graph.segments import Segments
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.thresholds import SegmentLimits


__all__ = ["Batch", "Sorter", "SpillError", "SpilledFile", "WaitingRows", "host_bytes"]

Columns = list["NDArray[np.uint32]"]


@value(frozen=True, slots=True, eq=False)
class SpilledFile:
    """Tables in a spill file.

    Args:
        path: The file.
        tables: Their columns, memory-mapped.
        nbytes: Size of the file.
    """

    path: Path
    tables: Sequence[Columns]
    nbytes: int


class SpillError(MemoryLimitError):
    """Rows that wait for segments cannot be written to disk; less of the graph does not help."""


class WaitingRows:
    """The memory and disk space for all waiting rows of a join.

    Each step's rows may use an equal share of the host's memory. Beyond that they are spilled to
    disk and wait on, if that takes less time than sending the data graph again for later rows.

    Args:
        limits: Limits of waiting rows.
        steps: Number of steps whose rows may wait at the same time.
        sent_bytes: Bytes of the data graph that would be sent again.

    Attributes:
        written: Bytes written to disk.
    """

    def __init__(self, limits: SegmentLimits, steps: int, sent_bytes: int) -> None:
        self._most = max(1, host_bytes(limits) // max(1, steps))
        self._enough = sent_bytes / limits.disk_cost if limits.disk_cost else None
        self._share_of_disk = limits.share_of_disk
        self._place = spill_place() if self._enough is None or self._enough > self._most else None
        self._folder: SpillFolder | None = None
        self._on_disk = self._number = 0
        self._max_on_disk: int | None = None
        self.written = 0

    def exceeds_memory(self, nbytes: int) -> bool:
        """True if a step has more bytes waiting than may be in the host's memory."""
        return nbytes >= self._most

    def is_full(self, nbytes: int) -> bool:
        """True if the next step must take its rows, which have this many bytes."""
        if not self.exceeds_memory(nbytes):
            return False
        return self._place is None or (
            (self._enough is not None and nbytes >= self._enough)
            or self._on_disk + self._most > self._room(self._place)
        )

    @property
    def spills(self) -> bool:
        """True if rows may be spilled to disk."""
        return self._place is not None and self._on_disk + self._most <= self._room(self._place)

    def spill(self, tables: Sequence[Columns], nbytes: int) -> SpilledFile:
        """Writes tables to disk. Returns them memory-mapped.

        Raises:
            SpillError: There is no room, or writing failed; the partial file is removed.
        """
        assert self._place is not None
        path = None
        try:
            if self._folder is None:
                self._folder = SpillFolder(self._place)
            path = self._folder.path / f"{self._number}.arrow"
            _write(path, tables)
            self._number += 1
            found = SpilledFile(path, _read(path), path.stat().st_size)
        except OSError as error:
            if path is not None:
                path.unlink(missing_ok=True)
            raise SpillError(self._error_text(error, nbytes)) from error
        self._on_disk += found.nbytes
        self.written += found.nbytes
        return found

    def drop(self, file: SpilledFile) -> None:
        """Removes a file that is no longer read."""
        file.path.unlink(missing_ok=True)
        self._on_disk -= file.nbytes

    def close(self) -> None:
        """Removes all files."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _room(self, place: Path) -> int:
        """Maximum bytes on disk; determined once."""
        if self._max_on_disk is None:
            self._max_on_disk = int(_free_bytes(place) * self._share_of_disk)
        return self._max_on_disk

    def _error_text(self, error: OSError, nbytes: int) -> str:
        assert self._place is not None
        what = (
            f"rows that wait for parts of the data graph cannot be written to {self._place}: "
            f"{os.strerror(error.errno) if error.errno else error}"
        )
        other = (
            "let more of them wait in memory (GPUGDA_HOST_LIMIT), raise the memory_limit, or set "
            "GPUGDA_CACHE_DIR to another folder, or to 'off'"
        )
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return f"{what}. Make it writable, {other}"
        needed = (
            f"{nbytes:,} bytes more are needed beside {self._on_disk:,} there, and "
            f"{_free_bytes(self._place):,} are free"
        )
        return f"{what}; {needed}. Make room, {other}"


def host_bytes(limits: SegmentLimits) -> int:
    """Bytes of waiting rows in the host's memory, for all steps together.

    Raises:
        ConfigurationError: ``GPUGDA_HOST_LIMIT`` is no size.
    """
    if limits.rows_bytes is not None:
        return limits.rows_bytes
    asked = host_limit()
    return int(machine_bytes() * limits.share_for_rows) if asked is None else asked


def _free_bytes(place: Path) -> int:
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return 0


def _write(path: Path, tables: Sequence[Columns]) -> None:
    schema = pa.schema([(str(number), pa.uint32()) for number in range(len(tables[0]))])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for columns in tables:
            check_time()
            arrays = [pa.array(column) for column in columns]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _read(path: Path) -> list[Columns]:
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        tables = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    return [[column.to_numpy() for column in table.columns] for table in tables]


@value(frozen=True, slots=True, eq=False)
class _Chunk:
    """The rows of one table, ordered by key.

    Args:
        columns: Their values, ``uint32``.
        first: Per key, the first row; the number of rows comes last.
        row_count: Number of rows.
    """

    columns: Sequence[NDArray[np.uint32]]
    first: NDArray[np.int64]
    row_count: int


@dataclass(slots=True, eq=False)
class Batch:
    """The rows that wait for one step.

    Args:
        width: Number of columns.
        key_count: Number of keys by which they are sorted.
    """

    width: int
    key_count: int
    row_count: int = 0
    _chunks: list[_Chunk] = field(default_factory=list)
    _spilled: int = 0  # number of spilled chunks, which come first
    _spilled_rows: int = 0
    _files: list[SpilledFile] = field(default_factory=list)

    @classmethod
    def single(cls) -> Batch:
        """A batch with the empty row, with which a join starts."""
        batch = cls(0, 1)
        batch.add([], np.array([0, 1], dtype=np.int64))
        return batch

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return 4 * self.width * self.row_count

    def add(self, columns: Sequence[NDArray[np.uint32]], first: NDArray[np.int64]) -> None:
        """Adds rows that are sorted by key."""
        rows = int(first[-1])
        self._chunks.append(_Chunk(columns, first, rows))
        self.row_count += rows

    @property
    def bytes_in_memory(self) -> int:
        """Bytes of the rows that are not on disk."""
        return 4 * self.width * (self.row_count - self._spilled_rows)

    def spill(self, waiting: WaitingRows) -> None:
        """Writes the rows in memory to disk.

        Raises:
            MemoryLimitError: There is no room, or writing failed.
        """
        chunks = self._chunks[self._spilled :]
        file = waiting.spill([list(each.columns) for each in chunks], self.bytes_in_memory)
        self._files.append(file)
        self._chunks[self._spilled :] = [
            replace(chunk, columns=columns)
            for chunk, columns in zip(chunks, file.tables, strict=True)
        ]
        self._spilled, self._spilled_rows = len(self._chunks), self.row_count

    def spill_excess(self, run: Run, waiting: WaitingRows) -> None:
        """As `spill`, if more rows are in memory than may be."""
        if self.width and waiting.exceeds_memory(self.bytes_in_memory) and waiting.spills:
            with run.stage("spill"):
                self.spill(waiting)

    def drop(self, waiting: WaitingRows) -> None:
        """Drops all rows."""
        self._chunks.clear()
        for file in self._files:
            waiting.drop(file)
        self._files.clear()

    def keys(self) -> list[int]:
        """The keys that have rows, ascending."""
        found = np.zeros(self.key_count, dtype=np.bool_)
        for chunk in self._chunks:
            found |= np.diff(chunk.first) > 0
        return [int(each) for each in np.flatnonzero(found)]

    def tables(self, run: Run, key: int, max_rows: int) -> Iterator[Table]:
        """Yields a key's rows on the device; each table is valid until the next is requested."""
        slices = [
            (chunk, int(chunk.first[key]), int(chunk.first[key + 1])) for chunk in self._chunks
        ]
        while slices:
            taken, left = [], max_rows
            while slices and left:
                chunk, low, high = slices.pop(0)
                end = min(high, low + left)
                taken.append((chunk, low, end))
                left -= end - low
                if end < high:
                    slices.insert(0, (chunk, end, high))
            rows = max_rows - left
            if rows:
                table = self._uploaded(run, taken, rows)
                yield table
                run.workspace.release(table.values)

    def _uploaded(self, run: Run, taken: Sequence[tuple[_Chunk, int, int]], rows: int) -> Table:
        if self.width == 0:
            return Table(None, rows, 0)
        values = run.workspace.allocate(rows * self.width, np.uint32, "partial embeddings")
        for column in range(self.width):
            place = column * rows
            for chunk, low, high in taken:
                run.workspace.write(values, chunk.columns[column][low:high], place)
                place += high - low
        return Table(values, rows, self.width, rows)


class Sorter:
    """Sorts tables by the segments that a step needs, and downloads them.

    Args:
        run: The query's run.
        segments: Segments of the data graph.
        columns: Columns of the nodes whose rows the step reads; none if it reads none.
        bounds: Bounds of the segments, on the device.
    """

    def __init__(
        self, run: Run, segments: Segments, columns: Sequence[int], bounds: DeviceArray
    ) -> None:
        self._run = run
        self._kernels = SegmentKernels(run.graph.context)
        self.columns = tuple(columns)
        self.key_count = segments.count ** len(columns)
        self._is_sorting = self.key_count > 1
        if self._is_sorting:
            words = np.array([len(columns), *columns], dtype=np.uint32)
            place = run.workspace.upload(words, "columns of segments")
            self._keys = RowKeys(place, bounds, segments.count, self.key_count)

    def add(self, batch: Batch, table: Table) -> None:
        """Adds a table's rows to a batch."""
        if not self._is_sorting or table.row_count == 0:
            first = np.array([0, *[table.row_count] * self.key_count], dtype=np.int64)
            batch.add(self._downloaded(table), first)
            return
        placed, first = self._sorted(table)
        batch.add(self._downloaded(placed), first)
        if placed is not table:
            self._run.workspace.release(placed.values)

    def split(
        self, table: Table, max_rows: Callable[[], int], *, backwards: bool = False
    ) -> Iterator[tuple[int, int | None, Table]]:
        """Yields key, next key and rows; each table is valid until the next is requested.

        ``max_rows``: maximum rows of a table; called once the rows are sorted.
        """
        if not self._is_sorting or table.row_count == 0:
            placed, first = table, np.array([0, table.row_count], dtype=np.int64)
        else:
            placed, first = self._sorted(table)
        keys = np.flatnonzero(np.diff(first)).tolist()[:: -1 if backwards else 1]
        most = max_rows()
        for key, following in zip(keys, [*keys[1:], None], strict=True):
            for low in range(int(first[key]), int(first[key + 1]), most):
                rows = min(int(first[key + 1]) - low, most)
                part = placed if rows == table.row_count else self._part(placed, low, rows)
                yield key, following, part
                if part is not placed:
                    self._run.workspace.release(part.values)
        if placed is not table:
            self._run.workspace.release(placed.values)

    def _part(self, table: Table, low: int, rows: int) -> Table:
        workspace, width = self._run.workspace, table.width
        assert table.values is not None
        values = workspace.allocate(rows * width, np.uint32, "partial embeddings")
        for column in range(width):
            begin = column * table.column_stride + low
            workspace.copy_part(table.values, begin, values, column * rows, rows)
        return Table(values, rows, width, rows)

    def _sorted(self, table: Table) -> tuple[Table, NDArray[np.int64]]:
        """The rows ordered by key, and the first row per key; the same table if it has one key."""
        workspace, kernels = self._run.workspace, self._kernels
        counts = workspace.allocate(self.key_count, np.uint32, "rows of segments")
        workspace.fill(counts, 0)
        kernels.count_rows(table, self._keys, counts)
        first = np.zeros(self.key_count + 1, dtype=np.int64)
        np.cumsum(workspace.download(counts), out=first[1:])
        placed = table
        if np.count_nonzero(np.diff(first)) > 1:
            workspace.write(counts, first[:-1].astype(np.uint32))
            size = table.row_count * table.width
            values = workspace.allocate(size, np.uint32, "rows by segments")
            kernels.place_rows(table, self._keys, counts, values)
            placed = Table(values, table.row_count, table.width)
        workspace.release(counts)
        return placed, first

    def _downloaded(self, table: Table) -> list[NDArray[np.uint32]]:
        values, rows, stride = table.values, table.row_count, table.column_stride
        if values is None:
            return []
        context = self._run.graph.context
        download: Callable[[DeviceArray, int, int], NDArray[np.uint32]]
        download = self._run.workspace.download
        least = context.profile.aside_bytes
        if least is not None and rows * 4 > least:
            download = Staging.of(context).download_made
        return [download(values, column * stride, rows) for column in range(table.width)]
