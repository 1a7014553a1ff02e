"""Rows that wait for segments: when they are spilled to disk, and when enough are waiting."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from gpugda.config import host_limit, machine_bytes
from gpugda.deadline import check_time
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.segments.spill_folder import SpillFolder, spill_place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.thresholds import SegmentLimits

__all__ = ["SpillError", "SpilledFile", "WaitingRows", "host_bytes"]

Columns = list["NDArray[np.uint32]"]


@dataclass(frozen=True, slots=True, eq=False)
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
