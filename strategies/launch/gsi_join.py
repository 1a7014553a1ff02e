"""The join of GSI on the device; launcher of ``gsi_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "GsiJoin",
    "ListArrays",
    "Places",
    "Rows",
    "StepArrays",
    "TaskList",
    "node_join_words",
    "test_words",
]

_FILE = "gpugda_strategies/opencl/gsi_join.cl"
_LISTS = "bIbbbbb"
_ROWS = "bQQQ"
_WARPS = 8
_SET_OPERATIONS, _SHARED_INPUT, _IS_CLOSING, _APPENDS = 1, 2, 4, 8


def node_join_words(
    kept: Sequence[int], tests: Sequence[tuple[int, int, bool, int | None, int | None]]
) -> list[int]:
    """Encodes the kept columns and tests of a step for ``node_join.h``."""
    return [len(kept), len(tests), *kept, *(word for test in tests for word in test_words(test))]


def test_words(test: tuple[int, int, bool, int | None, int | None]) -> list[int]:
    """Encodes a test: left, right, whether they must be equal, and a second pair or none."""
    left, right, equal, *second = test
    return [left, right, int(equal), *[_column(each) for each in second]]


@dataclass(frozen=True, slots=True, eq=False)
class ListArrays:
    """The lists of one partition, see ``neighbour_lists.h``; all ``uint32`` except ``types``.

    Args:
        groups: Hash groups of 32 words, or row offsets.
        group_count: The number of groups that the hash selects from; 0 for row offsets.
        neighbours: One per entry.
        relationships: One per entry; None if they are not needed.
        types: ``uint16`` per entry, None if all types are allowed.
        allowed: Bitmap of allowed types, None without ``types``.
        mask: Bitmap of relationships that pass the predicates, None for all.
        longest: Entries of the longest list.
    """

    groups: DeviceArray
    group_count: int
    neighbours: DeviceArray
    relationships: DeviceArray | None
    types: DeviceArray | None = None
    allowed: DeviceArray | None = None
    mask: DeviceArray | None = None
    longest: int = 0

    def arguments(self) -> tuple[Any, ...]:
        """Arguments for ``LISTS_PARAMETERS``."""
        return (
            self.groups,
            self.group_count,
            self.neighbours,
            self.relationships,
            self.types,
            self.allowed,
            self.mask,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows ``first … first+count-1`` of a table."""

    table: Table
    first: int
    count: int

    def arguments(self) -> tuple[Any, ...]:
        """Arguments: the table, its stride, and the rows."""
        return self.table.values, self.table.column_stride, self.first, self.count


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Entries found per row: ``counts[i]`` for row i, from ``sums[i]`` on in ``entries``.

    ``entries`` is None to count only. Without sums each row has ``stride`` positions. With
    ``appends``, new entries follow the first ``counts[i]`` ones, ``entries`` receives neighbours
    instead of entries, and ``second`` their relationships unless it is None.
    """

    sums: DeviceArray | None
    entries: DeviceArray | None
    counts: DeviceArray
    stride: int = 0
    second: DeviceArray | None = None
    appends: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StepArrays:
    """Arrays that a step reads besides the lists.

    Args:
        bitmap: Candidate matrix, and the word where the added node's row begins.
        candidates: The same nodes, ascending: array, first position, number.
        words: Array and position of the step's `node_join_words`.
        closes: True if the node is bound already, and only its relationship is added.
        set_operations: True to work in batches, by bitmaps, with a cache for output.
        shares_input: True if warps of a group with the same list read it once.
    """

    bitmap: tuple[DeviceArray, int]
    candidates: tuple[DeviceArray, int, int]
    words: tuple[DeviceArray, int]
    closes: bool
    set_operations: bool
    shares_input: bool

    @property
    def how(self) -> int:
        """The options as bits."""
        return (
            _SET_OPERATIONS * self.set_operations
            | _SHARED_INPUT * self.shares_input
            | _IS_CLOSING * self.closes
        )


@dataclass(frozen=True, slots=True, eq=False)
class TaskList:
    """Rows for whole groups: ``count`` rows from ``first`` on, ``parts`` groups each."""

    rows: DeviceArray
    first: int
    count: int
    parts: int


class GsiJoin:
    """Bounds, joins, intersects and links rows."""

    def __init__(self, context: DeviceContext) -> None:
        self._by_warps = not context.is_cpu
        first = f"{_ROWS}I{_LISTS}bbbQbQQbIbQbbbbQIIII"
        following = f"{_ROWS}I{_LISTS}bbQbbbbbbQbII"
        self._bound = get_kernel(context, _FILE, "bound_rows", f"{_ROWS}II{_LISTS}bbIIbb")
        self._first = get_kernel(context, _FILE, "join_first", first)
        self._next = get_kernel(context, _FILE, "intersect_next", following)
        self._link = get_kernel(context, _FILE, "link_rows", f"{_ROWS}bIbQbbQQbbbQII")
        self._count = get_kernel(context, _FILE, "count_passing", "bQQIbIb")
        self._write = get_kernel(context, _FILE, "write_passing", "bQQbIbQQbQ")

    def bound(
        self,
        rows: Rows,
        columns: tuple[int, int | None],
        lists: ListArrays,
        found: tuple[DeviceArray, DeviceArray],
        long_rows: tuple[int, int, DeviceArray, DeviceArray] | None,
    ) -> None:
        """Writes the position and length of each row's list.

        Args:
            rows: The rows.
            columns: Column of the node whose list it is, and of the neighbour if that is bound.
            lists: The lists.
            found: ``uint32[count]`` positions and lengths.
            long_rows: Lengths above which a row is long, and very long; ``uint32[count]`` for these
                rows, long ones from the front and very long ones from the back; ``uint32[2]``
                zeros, which become their numbers.
        """
        long = (NONE, NONE, None, None) if long_rows is None else long_rows
        columns_words = (columns[0], _column(columns[1]))
        self._bound(
            rows.count, *rows.arguments(), *columns_words, *lists.arguments(), *found, *long
        )

    def join_first(
        self,
        rows: Rows,
        lists: ListArrays,
        found: tuple[DeviceArray, DeviceArray],
        step: StepArrays,
        places: Places,
        limits: tuple[int | None, int | None],
        tasks: TaskList | None = None,
    ) -> None:
        """Writes the entries that join each row, or counts them.

        Args:
            rows: The rows.
            lists: Lists of the first linking relationship.
            found: Positions and lengths, see `bound`.
            step: Arrays of the step.
            places: Output; its counts are initially 0.
            limits: Length above which rows are skipped; number of entries of a row that one warp
                processes alone.
            tasks: Process only these rows, by whole groups; ``limits`` are then ignored.
        """
        arguments = (
            *rows.arguments(),
            rows.table.width,
            *lists.arguments(),
            *found,
            *step.bitmap,
            *step.candidates,
            *step.words,
            places.sums,
            places.stride,
            places.entries,
            places.second,
            places.counts,
            *_tasks(tasks),
            tasks.parts if tasks is not None else 0,
            *map(_column, limits),
            step.how | _APPENDS * places.appends,
        )
        self._launch(self._first, rows.count, tasks, arguments)

    def intersect(
        self,
        rows: Rows,
        column: int,
        lists: ListArrays,
        first_neighbours: DeviceArray,
        before: Places,
        after: Places,
        lengths: DeviceArray,
        alone_from: int | None,
        set_operations: bool,
        tasks: TaskList | None = None,
    ) -> None:
        """Keeps the entries whose neighbour is also in the list of another column's node."""
        arguments = (
            *rows.arguments(),
            column,
            *lists.arguments(),
            first_neighbours,
            before.sums,
            before.stride,
            before.entries,
            before.counts,
            after.sums,
            after.entries,
            after.counts,
            *_tasks(tasks),
            lengths,
            _column(alone_from),
            _SET_OPERATIONS * set_operations,
        )
        self._launch(self._next, rows.count, tasks, arguments)

    def _launch(
        self, kernel: Any, count: int, tasks: TaskList | None, arguments: tuple[Any, ...]
    ) -> None:
        if tasks is not None:
            kernel.launch_groups(tasks.count * tasks.parts, *arguments)
        elif self._by_warps:
            kernel.launch_groups(-(-count // _WARPS), *arguments)
        else:
            kernel(count, *arguments)

    def link(
        self,
        rows: Rows,
        words: tuple[DeviceArray, int],
        places: Places,
        sums: DeviceArray,
        window: tuple[int, int],
        lists: ListArrays,
        extended: Table,
        columns: tuple[int | None, int | None],
    ) -> None:
        """Writes the new rows of a window; ``columns`` are those of node and relationship."""
        self._link(
            window[1] - window[0],
            *rows.arguments(),
            *words,
            places.sums,
            places.stride,
            places.entries,
            sums,
            *window,
            lists.neighbours,
            lists.relationships,
            extended.values,
            extended.column_stride,
            *map(_column, columns),
        )

    def count_passing(
        self, table: Table, words: tuple[DeviceArray, int], counts: DeviceArray
    ) -> None:
        """Writes 1 for each row that passes the tests, else 0."""
        shape = (table.values, table.column_stride, table.row_count, table.width)
        self._count(table.row_count, *shape, *words, counts)

    def write_passing(
        self,
        table: Table,
        words: tuple[DeviceArray, int],
        sums: DeviceArray,
        window: tuple[int, int],
        extended: Table,
    ) -> None:
        """Copies the rows of a window that passed."""
        shape = (table.values, table.column_stride, table.row_count)
        target = (extended.values, extended.column_stride)
        self._write(table.row_count, *shape, *words, sums, *window, *target)


def _tasks(tasks: TaskList | None) -> tuple[Any, ...]:
    return (None, 0) if tasks is None else (tasks.rows, tasks.first)


def _column(column: int | None) -> int:
    return NONE if column is None else column
