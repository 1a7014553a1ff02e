"""Refuses a result that would not fit in this machine's memory, before memory is exhausted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.errors import MemoryLimitError
from gpugda.expressions.operands import Constant

if TYPE_CHECKING:
    from gpugda.execute.batch import Batch

__all__ = ["ResultMemory", "available_bytes", "check_memory"]

_CHECK_INTERVAL_BYTES = 64 << 20
_RESERVED_BYTES = 512 << 20
_MEMORY = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


class ResultMemory:
    """Tracks the memory of result rows.

    Args:
        copied: True if the rows are later sorted or compared, which copies them.
    """

    def __init__(self, *, copied: bool) -> None:
        self._copied = copied
        self._kept = 0
        self._rows = 0
        self._checked_at = 0

    def add(self, rows: Batch) -> None:
        """Adds the size of rows that are kept.

        Raises:
            MemoryLimitError: Memory is almost exhausted.
        """
        self._rows += rows.row_count
        self._kept += _size(rows)
        if self._kept - self._checked_at < _CHECK_INTERVAL_BYTES:
            return
        self._checked_at = self._kept
        free = available_bytes()
        if free is not None and free < _RESERVED_BYTES + (self._kept if self._copied else 0):
            raise MemoryLimitError(
                f"the first {self._rows:,} rows of the result take {self._kept:,} bytes of memory, "
                f"and only {free:,} bytes are free: use LIMIT, or let the query count or group"
            )

    def only(self, rows: Batch) -> None:
        """Replaces all rows added before by these."""
        self._rows, self._kept = rows.row_count, _size(rows)
        self._checked_at = min(self._checked_at, self._kept)


def check_memory(rows: int, row_bytes: int) -> None:
    """Checks that rows fit in memory before weights are expanded.

    Raises:
        MemoryLimitError: The rows do not fit.
    """
    needed, free = (
        rows * row_bytes,
        available_bytes() if rows * row_bytes > _CHECK_INTERVAL_BYTES else None,
    )
    if free is not None and free < _RESERVED_BYTES + needed:
        raise MemoryLimitError(
            f"grouping {rows:,} rows takes {needed:,} bytes of memory, and only {free:,} bytes are "
            "free: let the query aggregate fewer rows"
        )


def _size(rows: Batch) -> int:
    columns = [each for each in rows.columns.values() if not isinstance(each, Constant)]
    return sum(each.values.nbytes for each in columns)


def available_bytes() -> int | None:
    """Memory that this process can still allocate; None if the system does not say."""
    found = [each for each in (_machine_bytes(), _container_bytes()) if each is not None]
    return min(found, default=None)


def _machine_bytes() -> int | None:
    try:
        for line in _MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _container_bytes() -> int | None:
    """Free memory of the container."""
    try:
        most = int((_GROUP / "memory.max").read_text())  # "max" where there is no limit
        return most - int((_GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
