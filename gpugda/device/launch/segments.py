"""Parts of a data graph on the device, and rows sorted by parts; launcher of ``segments.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["RowKeys", "SegmentKernels", "SemiJoinKernels"]

_SEGMENTS_FILE = "segments.cl"


@value(frozen=True, slots=True, eq=False)
class RowKeys:
    """The keys by which rows are partitioned: the segments of one or two nodes.

    Args:
        columns: ``uint32``: the number of columns, and the columns of the nodes.
        bounds: ``uint32[segments+1]``, the first node of each segment.
        segments: The number of segments.
        key_count: The number of distinct keys.
    """

    columns: DeviceArray
    bounds: DeviceArray
    segments: int
    key_count: int


class SegmentKernels:
    """Writes positions of entries, and sorts rows by segments."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._shift = get_kernel(context, _SEGMENTS_FILE, "shift_starts", "bQQbIb")
        self._shift_runs = get_kernel(context, _SEGMENTS_FILE, "shift_runs", "bQQIII")
        self._number = get_kernel(context, _SEGMENTS_FILE, "number_entries", "IQQb")
        self._count = get_kernel(context, _SEGMENTS_FILE, "count_rows", "bQQbbIIb")
        self._place = get_kernel(context, _SEGMENTS_FILE, "place_rows", "bQQbbIIbIbQ")

    def shift_starts(
        self,
        starts: DeviceArray,
        ranges: DeviceArray,
        range_count: int,
        shifted: DeviceArray,
        window: tuple[int, int] | None = None,
    ) -> None:
        """Writes the position on the device of each run's entries.

        Args:
            starts: ``uint32[runs+1]``, the first entry of each run in the data graph.
            ranges: ``uint32[5 * range_count]``, see ``segments.cl``.
            range_count: At least one.
            shifted: ``uint32[runs+1]``, the output.
            window: The first run, and the one after the last; None for all.
        """
        first, end = (0, starts.count) if window is None else window
        self._shift(end - first, starts, first, end - first, ranges, range_count, shifted)

    def shift_runs(
        self, starts: DeviceArray, runs: tuple[int, int], first_entry: int, entries: tuple[int, int]
    ) -> None:
        """Rewrites the positions of the entries of a part's runs.

        Args:
            starts: ``uint32``: the first entry in the data graph of each run but the part's first;
                afterwards the positions on the device, also of the first run and of the end of the
                last.
            runs: Position of the first run in ``starts``, and the number of runs.
            first_entry: First entry of the part in the data graph.
            entries: Position of the part's first entry on the device, and that after its last.
        """
        self._shift_runs(runs[1] + 1, starts, *runs, first_entry, *entries)

    def number_entries(self, first: int, count: int, place: int, numbers: DeviceArray) -> None:
        """Writes ``first``, ``first + 1`` … from position ``place`` on."""
        self._number(count, first, count, place, numbers)

    def count_rows(self, table: Table, keys: RowKeys, counts: DeviceArray) -> None:
        """Adds the number of rows of each key to ``counts``, ``uint32[key_count]``."""
        self._count.launch_groups(self._groups(table), *_arguments(table, keys), counts)

    def place_rows(
        self, table: Table, keys: RowKeys, following: DeviceArray, placed: DeviceArray
    ) -> None:
        """Copies rows so that rows of the same key are adjacent.

        Args:
            table: The rows.
            keys: The keys to sort by.
            following: ``uint32[key_count]``, position of the first row of each key; afterwards that
                after its last.
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


_SEMI_JOIN_FILE = "semi_join.cl"
_OUTGOING, _INCOMING = 1, 2
"""Directions as in ``query_graph.h``."""


class SemiJoinKernels:
    """Semi-joins of candidates."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._semi_join = get_kernel(context, _SEMI_JOIN_FILE, "semi_join", f"{GRAPH}bIIIIbb")
        self._keep = get_kernel(context, _SEMI_JOIN_FILE, "keep_marked", "IIbb")

    def semi_join(
        self,
        graph: Sequence[Any],
        tests: DeviceArray,
        number: int,
        directions: tuple[bool, bool],
        node_count: int,
        candidates: DeviceArray,
        marks: DeviceArray,
    ) -> None:
        """Removes candidates at the bound end of a link that have no candidate at its other end.

        Marks the candidates at the other end that have one at the bound end; `keep_marked` removes
        all others there.

        Args:
            graph: Arguments for ``GRAPH_PARAMETERS``; the directions followed must be there.
            tests: From `entry_words`.
            number: The link's number among the tests.
            directions: Whether outgoing and whether incoming entries are followed.
            node_count: The number of nodes of the graph.
            candidates: ``uint32[rows * words]``, the candidate matrix.
            marks: ``uint32[words]``, initially 0.
        """
        words = marks.count
        followed = _OUTGOING * directions[0] | _INCOMING * directions[1]
        is_cpu = self._context.profile.group_size == 1
        items = words if is_cpu else 32 * words
        self._semi_join(
            items, *graph, tests, number, followed, words, node_count, candidates, marks
        )

    def keep_marked(self, row: int, candidates: DeviceArray, marks: DeviceArray) -> None:
        """Removes the candidates of a row that are not marked, and all marks."""
        self._keep(marks.count, row, marks.count, candidates, marks)
