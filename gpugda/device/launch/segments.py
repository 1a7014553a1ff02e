"""Parts of a data graph on the device, and rows by their parts; launcher of ``segments.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["RowKeys", "SegmentKernels"]

_FILE = "segments.cl"


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """By which segments rows are told apart.

    Args:
        columns: ``uint32``: how many, and the columns whose nodes are looked up.
        bounds: ``uint32[segments+1]``, the first node of each segment.
        segments: How many there are.
        key_count: Numbers of keys: of one or two segments.
    """

    columns: DeviceArray
    bounds: DeviceArray
    segments: int
    key_count: int


class SegmentKernels:
    """Says where entries lie, and sorts rows by segments."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._shift = get_kernel(context, _FILE, "shift_starts", "bQQbIb")
        self._shift_runs = get_kernel(context, _FILE, "shift_runs", "bQQIII")
        self._number = get_kernel(context, _FILE, "number_entries", "IQQb")
        self._count = get_kernel(context, _FILE, "count_rows", "bQQbbIIb")
        self._place = get_kernel(context, _FILE, "place_rows", "bQQbbIIbIbQ")

    def shift_starts(
        self,
        starts: DeviceArray,
        ranges: DeviceArray,
        range_count: int,
        shifted: DeviceArray,
        window: tuple[int, int] | None = None,
    ) -> None:
        """Writes where the entries of each run are on the device.

        Args:
            starts: ``uint32[runs+1]``, the first entry of each run in the data graph.
            ranges: ``uint32[5 * range_count]``, see ``segments.cl``.
            range_count: At least one.
            shifted: ``uint32[runs+1]``.
            window: The first run, and the one after the last; None for all.
        """
        first, end = (0, starts.count) if window is None else window
        self._shift(end - first, starts, first, end - first, ranges, range_count, shifted)

    def shift_runs(
        self, starts: DeviceArray, runs: tuple[int, int], first_entry: int, entries: tuple[int, int]
    ) -> None:
        """Writes where the entries of each run of a part are on the device.

        Args:
            starts: ``uint32``: of runs behind the part's first one, their first entries in the data
                graph; afterwards those on the device, also of the first run and behind the last.
            runs: Where the first one is in ``starts``, and how many there are.
            first_entry: Of the part in the data graph.
            entries: The part's first one on the device, and the one after the last.
        """
        self._shift_runs(runs[1] + 1, starts, *runs, first_entry, *entries)

    def number_entries(self, first: int, count: int, place: int, numbers: DeviceArray) -> None:
        """Writes ``first``, ``first + 1`` … from a place on."""
        self._number(count, first, count, place, numbers)

    def count_rows(self, table: Table, keys: RowKeys, counts: DeviceArray) -> None:
        """Adds to ``counts``, ``uint32[key_count]``, the rows of each key."""
        self._count.launch_groups(self._groups(table), *_arguments(table, keys), counts)

    def place_rows(
        self, table: Table, keys: RowKeys, following: DeviceArray, placed: DeviceArray
    ) -> None:
        """Copies rows key by key.

        Args:
            table: The rows.
            keys: By which.
            following: ``uint32[key_count]``, where the first row of each key goes; afterwards the
                place after its last.
            placed: ``uint32``, column after column, each as long as the table has rows.
        """
        arguments = _arguments(table, keys)
        self._place.launch_groups(
            self._groups(table), *arguments, following, table.width, placed, table.row_count
        )

    def _groups(self, table: Table) -> int:
        most = self._context.info.compute_units * self._context.profile.groups_per_unit
        return max(1, min(most, -(-table.row_count // 4096)))


def _arguments(table: Table, keys: RowKeys) -> tuple[object, ...]:
    return (
        table.values,
        table.column_stride,
        table.row_count,
        keys.columns,
        keys.bounds,
        keys.segments,
        keys.key_count,
    )
