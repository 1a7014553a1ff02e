"""The join of SGSI on the device, segment by segment; launcher of ``sgsi_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda_strategies.launch.gsi_join import ListArrays, Rows

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["Filled", "LongRows", "RowLists", "SgsiJoin"]

_FILE = "gpugda_strategies/opencl/sgsi_join.cl"
_LISTS = "bIbbbbb"
_ROWS = "bQQQ"


@dataclass(frozen=True, slots=True, eq=False)
class RowLists:
    """For each row, the state and position of its list in a segment.

    Args:
        flags: ``int32``: whether the list was found, see ``sgsi_join.cl``.
        begins: ``uint32``, position in the segment.
        lengths: ``uint32``.
    """

    flags: DeviceArray
    begins: DeviceArray
    lengths: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class LongRows:
    """Rows for whole groups: rows above two lengths are listed, from the front and the back.

    Args:
        group_from: Longer rows are listed from the front.
        launch_from: Longer rows are listed from the back instead.
        rows: ``uint32`` per row.
        numbers: ``uint32[2]``, the numbers of both, initially 0.
    """

    group_from: int
    launch_from: int
    rows: DeviceArray
    numbers: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """The output positions of rows, and how far they are filled.

    Args:
        sums: ``uint64[count + 1]``, where the positions of each row begin.
        count: The number of rows.
        total: The number of positions.
        counts: ``uint32``, the number of filled positions of each row.
        levels: ``uint16``, number of links and tests that each position has passed; None if only
            the first link counts.
    """

    sums: DeviceArray
    count: int
    total: int
    counts: DeviceArray
    levels: DeviceArray | None


class SgsiJoin:
    """Bounds rows, marks positions, and writes those that pass."""

    def __init__(self, context: DeviceContext) -> None:
        bound = f"{_ROWS}II{_LISTS}bbbbbIIIbb"
        self._bound = get_kernel(context, _FILE, "bound_segment", bound)
        self._lengths = get_kernel(context, _FILE, "count_lengths", "bQbI")
        self._members = get_kernel(context, _FILE, "mark_members", f"bbQ{_LISTS}bQbbbI")
        self._passing = get_kernel(context, _FILE, "mark_passing", "bQQbQbbIbI")
        self._left = get_kernel(context, _FILE, "mark_left", "bQQbbIb")
        self._write = get_kernel(context, _FILE, "write_left", "bQQbbbIbb")
        self._duplicate = get_kernel(context, _FILE, "duplicate_rows", "bQbQb")

    def measure(
        self,
        rows: Rows,
        columns: tuple[int, int | None],
        lists: ListArrays,
        flags: DeviceArray,
        totals: DeviceArray,
        hits: tuple[DeviceArray, int],
    ) -> None:
        """Adds the lengths of the rows' lists in a segment.

        Args:
            rows: The rows.
            columns: Column of the node whose list it is, and of the neighbour if that is bound; if
                not, neighbours are not read.
            lists: The segment.
            flags: ``int32`` per row.
            totals: ``uint32`` per row.
            hits: ``uint32`` per segment, and the element that is set to 1 if a row has entries
                there.
        """
        words = (columns[0], NONE if columns[1] is None else columns[1])
        unused = (NONE, NONE, None, None)
        found = (flags, None, None, totals, *hits)
        self._bound(rows.count, *rows.arguments(), *words, *lists.arguments(), *found, *unused)

    def bound(
        self,
        rows: Rows,
        columns: tuple[int, int | None],
        lists: ListArrays,
        found: RowLists,
        long: LongRows | None,
    ) -> None:
        """Writes the position of each row's list in a segment, and lists the long rows."""
        words = (columns[0], NONE if columns[1] is None else columns[1])
        limits: tuple[int, int, DeviceArray | None, DeviceArray | None]
        limits = (NONE, NONE, None, None)
        if long is not None:
            limits = (long.group_from, long.launch_from, long.rows, long.numbers)
        arrays = (found.flags, found.begins, found.lengths, None, None, 0)
        self._bound(rows.count, *rows.arguments(), *words, *lists.arguments(), *arrays, *limits)

    def count_lengths(self, lengths: DeviceArray, count: int, intervals: DeviceArray) -> None:
        """Adds to a ``uint32`` histogram of lengths, 32 entries per bin; leaves bin 0 out."""
        self._lengths(count, lengths, count, intervals, intervals.count)

    def mark_members(
        self, found: RowLists, lists: ListArrays, filled: Filled, nodes: DeviceArray, level: int
    ) -> None:
        """Raises positions of a level whose node is in the row's list in this segment."""
        self._members(
            filled.total,
            found.begins,
            found.lengths,
            filled.count,
            *lists.arguments(),
            filled.sums,
            filled.total,
            filled.counts,
            nodes,
            filled.levels,
            level,
        )

    def mark_passing(
        self,
        column: tuple[DeviceArray, int],
        filled: Filled,
        values: DeviceArray,
        level: int,
        *,
        equal: bool,
    ) -> None:
        """Raises positions of a level whose value equals that of a column, or differs.

        ``column``: array, and position in it of the value of the first row.
        """
        places = (filled.count, filled.sums, filled.total, filled.counts)
        self._passing(filled.total, *column, *places, values, int(equal), filled.levels, level)

    def mark_left(self, filled: Filled, level: int, left: DeviceArray) -> None:
        """Writes a bitmap of the positions that are filled and have this level."""
        places = (filled.sums, filled.count, filled.total, filled.counts)
        self._left(-(-filled.total // 32), *places, filled.levels, level, left)

    def write_left(
        self,
        filled: Filled,
        left: tuple[DeviceArray, DeviceArray],
        values: DeviceArray,
        first_row: int,
        written: DeviceArray,
        origins: DeviceArray | None,
    ) -> None:
        """Writes the values of the remaining positions, and the row of each.

        Args:
            filled: The positions.
            left: Bitmap of the remaining ones, and prefix sums of its bits.
            values: ``uint32`` per position.
            first_row: Number of the first row.
            written: ``uint32`` per remaining position.
            origins: The same for rows; None if they are not needed.
        """
        places = (filled.sums, filled.count, filled.total)
        target = (values, first_row, written, origins)
        self._write(-(-filled.total // 32), *places, *left, *target)

    def duplicate(
        self,
        origins: DeviceArray,
        count: int,
        column: tuple[DeviceArray, int],
        written: DeviceArray,
    ) -> None:
        """Writes the value of its old row for each new row."""
        self._duplicate(count, origins, count, *column, written)
