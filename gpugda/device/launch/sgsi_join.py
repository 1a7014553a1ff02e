"""The join of SGSI on the device, segment by segment; launcher of ``sgsi_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.gsi_join import ListArrays, Rows
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["Filled", "LongRows", "RowLists", "SgsiJoin"]

_FILE = "sgsi_join.cl"
_LISTS = "bIbbbbb"
_ROWS = "bQQQ"


@dataclass(frozen=True, slots=True, eq=False)
class RowLists:
    """Of each row: whether its list was met, where it begins in a segment, and how long it is.

    Args:
        flags: ``int32``; see ``sgsi_join.cl``.
        begins: ``uint32``.
        lengths: ``uint32``.
    """

    flags: DeviceArray
    begins: DeviceArray
    lengths: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class LongRows:
    """Rows that groups take: those above two lengths are listed, from the front and the back.

    Args:
        group_from: Longer rows are listed from the front.
        launch_from: Longer rows are listed from the back instead.
        rows: ``uint32`` per row.
        numbers: ``uint32[2]``, zeros at first.
    """

    group_from: int
    launch_from: int
    rows: DeviceArray
    numbers: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """The places of some rows, and how far they are filled.

    Args:
        sums: ``uint64[count + 1]``, where the places of each row begin.
        count: How many rows.
        total: How many places.
        counts: ``uint32``, how many places of each row are filled.
        levels: ``uint16``, what each place has passed; None where only the first link counts.
    """

    sums: DeviceArray
    count: int
    total: int
    counts: DeviceArray
    levels: DeviceArray | None


class SgsiJoin:
    """Bounds rows, marks places, and writes what is left."""

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
            rows: Which.
            columns: Of the node whose list it is, and of the neighbour if that is bound; without
                one neighbours are not looked at.
            lists: The segment.
            flags: ``int32`` per row.
            totals: ``uint32`` per row.
            hits: ``uint32`` per segment, and which of them becomes 1 if a row has entries there.
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
        """Writes where each row's list lies in a segment, and lists the long ones."""
        words = (columns[0], NONE if columns[1] is None else columns[1])
        limits: tuple[int, int, DeviceArray | None, DeviceArray | None]
        limits = (NONE, NONE, None, None)
        if long is not None:
            limits = (long.group_from, long.launch_from, long.rows, long.numbers)
        arrays = (found.flags, found.begins, found.lengths, None, None, 0)
        self._bound(rows.count, *rows.arguments(), *words, *lists.arguments(), *arrays, *limits)

    def count_lengths(self, lengths: DeviceArray, count: int, intervals: DeviceArray) -> None:
        """Adds to ``uint32`` numbers of rows per 32 entries of length; the first is left out."""
        self._lengths(count, lengths, count, intervals, intervals.count)

    def mark_members(
        self, found: RowLists, lists: ListArrays, filled: Filled, nodes: DeviceArray, level: int
    ) -> None:
        """Lifts places of a level whose node is in the row's list in this segment."""
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
        """Lifts places of a level whose value equals that of a column, or does not.

        ``column`` says where in the array the value of the first row stands.
        """
        places = (filled.count, filled.sums, filled.total, filled.counts)
        self._passing(filled.total, *column, *places, values, int(equal), filled.levels, level)

    def mark_left(self, filled: Filled, level: int, left: DeviceArray) -> None:
        """Writes a bitmap of the places that are filled and have this level."""
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
        """Writes the values of places that are left, and the row of each one.

        Args:
            filled: The places.
            left: Their bitmap, and prefix sums of its bits.
            values: ``uint32`` per place.
            first_row: What the first row is called.
            written: ``uint32`` per place that is left.
            origins: Likewise, for rows; None where nobody needs them.
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
