"""Extends partial embeddings node by node: candidates, lists of a GPU, marks of a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyopencl as cl

from gpugda.device.launch.derived_lists import HUB_PARAMETERS, NO_HUBS
from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.derived_lists import HubBitmaps
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.program import Kernel

__all__ = [
    "MAX_EXCLUDED",
    "STEP_PARAMETERS",
    "Extension",
    "ExtensionKernels",
    "KeyTest",
    "Link",
    "LinkFlags",
    "ListKernels",
    "MarkKernels",
    "PairWindow",
    "Pairs",
    "RowKernels",
    "StepArrays",
    "Tasks",
    "Test",
    "WeighKernels",
    "extension_words",
]

_EXTEND_FILE = "extend.cl"
STEP_PARAMETERS = f"{GRAPH}bIbIbIbQIb"
_MAX_TILES = 32
_CPU_PIECE = 4096
_COMPARES = 8
_NO_PAIR = (NONE, NONE)


class LinkFlags:
    """Bits of a link's flags, see ``extension.h``."""

    NEEDS_RELATIONSHIP = 1
    DISTINCT = 2
    SEVERAL = 4
    SORTED_ROWS = 8
    PLAIN = 16
    LOOPS = 32
    EITHER_END = 64


class Link(NamedTuple):
    """A query relationship between the added node and a node of the row, seen from the latter.

    Args:
        column: Column of the node of the row.
        outgoing: True if the relationship may start there.
        incoming: True if it may end there.
        types: Type ids, ascending; None for any type.
        mask_slot: Its bitmap among the relationship masks, None if there is no mask.
        relationship_column: Its column in the new table, None if it is not needed.
        flags: See `LinkFlags`.
    """

    column: int
    outgoing: bool
    incoming: bool
    types: tuple[int, ...] | None
    mask_slot: int | None
    relationship_column: int | None
    flags: int


@value(frozen=True, slots=True)
class Test:
    """Two values of a row must be equal or differ; with a second pair, not both may be equal.

    A value is an old column, the old width for the added node, or the old width + 1 + l for the
    relationship of link l.
    """

    __test__ = False

    left: int
    right: int
    equal: bool
    second: tuple[int, int] | None = None


@value(frozen=True, slots=True)
class KeyTest:
    """Comparison of two values of a row by their keys, see ``comparisons.h``.

    Args:
        left: As in `Test`.
        right: As in `Test`.
        outcomes: Bits of the outcomes that pass.
        left_place: Block where the left keys begin; None to compare indexes.
        right_place: Block where the right keys begin; None to compare indexes.
    """

    left: int
    right: int
    outcomes: int
    left_place: int | None
    right_place: int | None


class Extension(NamedTuple):
    """One step in terms of columns.

    Args:
        candidate_row: Row of the added node in the candidate matrix; None if every node fits.
        node_column: Column of the added node, None if it is not needed.
        bound_column: If a relationship between two nodes of the row is added, the column of its
            other end; else None.
        kept: Old columns that the new table begins with.
        tests: Tests that a new row must pass.
        links: At most `thresholds.MAX_LINKS`; exactly one with a bound column.
        early: Number of leading tests that need no relationship of the step.
        ends: For each test that compares an old relationship with a link's, in this order, the
            columns of both ends of the old one. Only needed by steps that go row by row.
    """

    candidate_row: int | None
    node_column: int | None
    bound_column: int | None
    kept: tuple[int, ...]
    tests: tuple[Test | KeyTest, ...]
    links: tuple[Link, ...]
    early: int = 0
    ends: tuple[int, ...] = ()


def extension_words(steps: Sequence[Extension]) -> tuple[list[int], list[int]]:
    """Encodes steps as kernels read them; returns the words and the position of each step."""
    words: list[int] = []
    types: dict[tuple[int, ...], int] = {}
    for step in steps:
        for link in step.links:
            if link.types is not None and link.types not in types:
                types[link.types] = len(words)
                words.extend(link.types)
    places: list[int] = []
    for step in steps:
        words.extend(step.ends)
        places.append(len(words))
        words.extend((len(step.kept), len(step.tests) | step.early << 16, len(step.links)))
        words.extend(map(_word, (step.candidate_row, step.node_column, step.bound_column)))
        words.extend(step.kept)
        for test in step.tests:
            if isinstance(test, KeyTest):
                words += _key_test_words(test)
            else:
                words += (test.left, test.right, test.equal, *(test.second or _NO_PAIR))
        for link in step.links:
            words += (link.column, link.outgoing | link.incoming << 1)
            words += (0, NONE) if link.types is None else (types[link.types], len(link.types))
            words += (_word(link.mask_slot), _word(link.relationship_column), link.flags)
    return words, places


def _key_test_words(test: KeyTest) -> tuple[int, ...]:
    places = (_word(test.left_place), _word(test.right_place))
    return test.left, test.right, test.outcomes | _COMPARES, *places


def _word(value: int | None) -> int:
    return NONE if value is None else value


class StepArrays(NamedTuple):
    """Arrays that a step reads.

    Args:
        filter: Arrays of the query.
        candidates: The candidate matrix.
        words: Words from `extension_words`.
        place: Position of the step in them.
        link_count: The number of links of the step.
        hubs: Bitmaps of long lists.
        keys: Keys for comparisons of values.
        end_count: The number of columns before the step, its `Extension.ends`.
    """

    filter: FilterArrays
    candidates: DeviceArray
    words: DeviceArray
    place: int
    link_count: int
    hubs: HubBitmaps = NO_HUBS
    keys: DeviceArray | None = None
    end_count: int = 0

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Arguments for ``STEP_PARAMETERS``."""
        return (
            *self.filter.graph,
            self.words,
            self.place,
            self.filter.relationship_masks,
            self.filter.relationship_words,
            self.candidates,
            self.filter.words,
            table.values,
            table.column_stride,
            table.width,
            self.keys,
        )


@value(frozen=True, slots=True, eq=False)
class Pairs:
    """All pairs of a table's rows with the neighbours of their base links.

    Args:
        sums: ``uint64[row_count+1]``, prefix sums of the rows' base lengths.
        bases: ``uint8[row_count]``, the base of each row: the link whose entries it is paired with.
        total: The number of pairs, or an upper bound.
        is_exact: True if ``total`` is exact. Only the kernels of `ListKernels` accept a bound.
    """

    sums: DeviceArray
    bases: DeviceArray
    total: int
    is_exact: bool = True


class PairWindow(NamedTuple):
    """The pairs that one launch processes.

    Args:
        arrays: Arrays of the step.
        table: The partial embeddings.
        pairs: Pairs of the table.
        first: The first pair.
        last: The one after the last.
    """

    arrays: StepArrays
    table: Table
    pairs: Pairs
    first: int
    last: int

    @property
    def pair_count(self) -> int:
        """The number of pairs."""
        return self.last - self.first


class ExtensionKernels:
    """Measures rows, and extends them."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._measure = get_kernel(
            context, _EXTEND_FILE, "measure_extensions", f"{STEP_PARAMETERS}Qbb"
        )
        self._extend = get_kernel(
            context, _EXTEND_FILE, "extend_pairs", f"{STEP_PARAMETERS}QbbQQIbQb"
        )
        self._count = get_kernel(context, _EXTEND_FILE, "count_pairs", f"{STEP_PARAMETERS}QbbQQIb")
        self._test = get_kernel(context, _EXTEND_FILE, "test_rows", f"{STEP_PARAMETERS}Qb")

    @property
    def group_count(self) -> int:
        """Maximum work groups of a launch; the length of ``totals``."""
        return self._context.info.compute_units * 16

    def measure(
        self, arrays: StepArrays, table: Table, lengths: DeviceArray, bases: DeviceArray
    ) -> None:
        """Writes each row's base and the number of its entries."""
        self._measure(table.row_count, *arrays.arguments(table), table.row_count, lengths, bases)

    def test(self, arrays: StepArrays, table: Table, counts: DeviceArray) -> None:
        """Writes 1 for each row that passes the tests, else 0: ``uint32`` per row."""
        self._test(table.row_count, *arrays.arguments(table), table.row_count, counts)

    def extend(self, window: PairWindow, extended: Table, appended: DeviceArray) -> None:
        """Tests the pairs of a window and appends a row for each that passes.

        Args:
            window: The pairs.
            extended: Table to which rows are appended.
            appended: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        output = (extended.values, extended.column_stride, appended)
        self._launch(self._extend, window, output)

    def count(self, window: PairWindow, totals: DeviceArray) -> None:
        """Adds the number of new rows of a window to ``totals``, ``uint64[group_count]``."""
        self._launch(self._count, window, (totals,))

    def _launch(self, kernel: Kernel, window: PairWindow, output: tuple[Any, ...]) -> None:
        groups, tiles = self._split(window.pair_count)
        kernel.launch_groups(
            groups,
            *window.arrays.arguments(window.table),
            window.table.row_count,
            window.pairs.sums,
            window.pairs.bases,
            window.first,
            window.last,
            tiles,
            *output,
        )

    def _split(self, count: int) -> tuple[int, int]:
        """The number of work groups for ``count`` pairs, and of pairs per work item at once."""
        if self._context.is_cpu:
            return min(self.group_count, -(-count // _CPU_PIECE)), 1
        size = self._context.group_size
        tiles = max(1, min(_MAX_TILES, count // (size * self.group_count)))
        return min(self.group_count, -(-count // (size * tiles))), tiles


MAX_EXCLUDED = 16
"""Maximum number of tests that the kernels evaluate in one step."""

_EXTEND_ROWS_FILE = "extend_rows.cl"


class RowKernels:
    """Counts leaves."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._fitting = get_kernel(
            context, _EXTEND_ROWS_FILE, "count_fitting", f"{STEP_PARAMETERS}bQQb"
        )
        self._leaves = get_kernel(
            context, _EXTEND_ROWS_FILE, "count_leaves", f"{STEP_PARAMETERS}Qbb"
        )

    def count_fitting(
        self,
        arrays: StepArrays,
        table: Table,
        nodes: tuple[DeviceArray, int, int],
        fitting: DeviceArray,
    ) -> None:
        """Writes for each node how many of its neighbours along the step's link are candidates.

        Args:
            arrays: Arrays of the step.
            table: Any table of the step.
            nodes: The collected candidates, the first one to process, and the number of them.
            fitting: ``uint32``, one per data node.
        """
        self._fitting(nodes[2], *arrays.arguments(table), *nodes, fitting)

    def count_leaves(
        self,
        arrays: StepArrays,
        table: Table,
        fitting: DeviceArray | None,
        totals: DeviceArray,
        groups: int,
    ) -> None:
        """Adds the number of rows of a step with one link to ``totals``, ``uint64[groups]``."""
        self._leaves.launch_groups(
            groups, *arrays.arguments(table), table.row_count, fitting, totals
        )


_TEAMS = 32
"""Rows that a work group of a GPU processes at once; same value as in the kernel."""


class WeighKernels:
    """Appends rows with their number of matches."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._weigh = get_kernel(context, "weigh.cl", "weigh_rows", f"{STEP_PARAMETERS}QQbQb")

    def weigh(
        self,
        arrays: StepArrays,
        table: Table,
        rows: tuple[int, int],
        extended: Table,
        appended: DeviceArray,
    ) -> None:
        """Appends the rows that have matches, with their number in the node's column.

        Args:
            arrays: Arrays of the step.
            table: The partial embeddings.
            rows: First row and the one after the last.
            extended: Table to which rows are appended; it must have space for all.
            appended: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        arguments = (
            *arrays.arguments(table),
            *rows,
            extended.values,
            extended.column_stride,
            appended,
        )
        context, count = self._context, rows[1] - rows[0]
        at_once = 1 if context.is_cpu else _TEAMS
        most = context.info.compute_units * context.profile.weigh_groups_per_unit
        self._weigh.launch_groups(min(most, -(-count // at_once)), *arguments)


_EXTEND_LISTS_FILE = "extend_lists.cl"
_PIECE = 8192
"""Pairs that a work group takes at once; same value as in the kernels."""
_BYTES_OF_LIST = 8 * 256
"""Local memory per link besides the base: positions of the other lists of a block of rows."""
_PARAMETERS = {
    "count_listed": "QbbQQbb",
    "append_listed": "QbbQQbbQb",
    "weigh_listed": "QbbQQbb",
}


class ListKernels:
    """Counts and appends the pairs of steps with plain lists.

    Args:
        context: A device that is not a CPU.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._find = get_kernel(context, _EXTEND_LISTS_FILE, "find_rows", "QbQQb")
        self._kernels = {
            name: get_kernel(
                context, _EXTEND_LISTS_FILE, name, f"{STEP_PARAMETERS}{HUB_PARAMETERS}b{parameters}"
            )
            for name, parameters in _PARAMETERS.items()
        }
        self._append = get_kernel(
            context, _EXTEND_LISTS_FILE, "append_weighted", f"{STEP_PARAMETERS}QQbbQb"
        )

    def group_count(self, pairs: int) -> int:
        """Work groups of a launch; the length of its ``totals``."""
        most = self._context.info.compute_units * self._context.profile.list_groups_per_unit
        return min(-(-pairs // _PIECE), most)

    def count(self, workspace: Workspace, window: PairWindow, totals: DeviceArray) -> None:
        """Adds the number of a window's pairs that pass to ``totals``, one ``uint64`` per group.

        In all methods, the window may end after the last pair, and the workspace provides an array
        that lives as long as the launch.
        """
        self._launch("count_listed", workspace, window, (totals,))

    def append(
        self, workspace: Workspace, window: PairWindow, extended: Table, appended: DeviceArray
    ) -> None:
        """Appends a row for each pair of a window that passes.

        ``appended``: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        output = (extended.values, extended.column_stride, appended)
        self._launch("append_listed", workspace, window, output)

    def weigh(self, workspace: Workspace, window: PairWindow, counts: DeviceArray) -> None:
        """Adds each row's number of passing pairs in a window to ``counts``, ``uint32[rows]``."""
        self._launch("weigh_listed", workspace, window, (counts,))

    def append_weighted(
        self,
        arrays: StepArrays,
        table: Table,
        rows: tuple[int, int],
        counts: DeviceArray,
        extended: Table,
        appended: DeviceArray,
    ) -> None:
        """Appends the rows with a count above 0, with the count in the node's column.

        Args:
            arrays: Arrays of the step.
            table: The partial embeddings.
            rows: First row and the one after the last.
            counts: Counts of all rows.
            extended: Table to which rows are appended; it must have space for all.
            appended: ``uint32[1]``, the number of rows in ``extended``, updated.
        """
        self._append.launch_groups(
            self.group_count(rows[1] - rows[0]),
            *arrays.arguments(table),
            *rows,
            counts,
            extended.values,
            extended.column_stride,
            appended,
        )

    def _launch(
        self, name: str, workspace: Workspace, window: PairWindow, output: tuple[Any, ...]
    ) -> None:
        arrays, table, pairs, *bounds = window
        pieces = -(-window.pair_count // _PIECE)
        first_rows = workspace.allocate(pieces + 1, np.uint32, "first rows of pieces")
        self._find(pieces + 1, table.row_count, pairs.sums, *bounds, first_rows)
        self._kernels[name].launch_groups(
            self.group_count(window.pair_count),
            *arrays.arguments(table),
            *arrays.hubs.arguments,
            cl.LocalMemory(_BYTES_OF_LIST * max(1, arrays.link_count - 1)),
            table.row_count,
            pairs.sums,
            pairs.bases,
            *bounds,
            first_rows,
            *output,
        )
        workspace.release(first_rows)


_MAX_TASK_ROWS = 256
_MAX_TASK_WORK = 1 << 24
"""An item finishes its task before it checks whether it has done enough work."""


@value(frozen=True, slots=True, eq=False)
class Tasks:
    """Rows that work items take from a counter, and their memory.

    Args:
        rows: First row and the one after the last.
        counters: ``uint32[2]``, the numbers of rows appended and of tasks taken.
        scratch: ``uint32[items * levels * words]``, zero before and after; one level for each link
            of the step but the last. With one link there is a level of cached counts per node.
        words: Words of a level; with one link the number of nodes, or 0.
        max_work: Maximum number of neighbours that an item reads in one launch.
        totals: ``uint64``, one per item.
        items: The number of items that there is memory for.
        row_work: Maximum number of neighbours that an item reads for one row.
    """

    rows: tuple[int, int]
    counters: DeviceArray
    scratch: DeviceArray
    words: int
    max_work: int
    totals: DeviceArray
    items: int
    row_work: int = 1


class MarkKernels:
    """Intersects lists by marks (a sparse accumulator)."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._intersect = get_kernel(
            context, "extend_marks.cl", "intersect_rows", f"{STEP_PARAMETERS}IQQIQIbQbQbb"
        )

    @property
    def item_count(self) -> int:
        """The number of work items that intersect."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def task_rows(self, rows: int, row_work: int = 1) -> int:
        """Rows of a task: few enough that all items have work and finish a task soon."""
        return max(
            1, min(_MAX_TASK_ROWS, rows // (16 * self.item_count), _MAX_TASK_WORK // row_work)
        )

    def intersect(
        self,
        arrays: StepArrays,
        table: Table,
        tasks: Tasks,
        extended: Table | None,
        *,
        weighs: bool = False,
    ) -> None:
        """Takes tasks; appends rows, or counts them into ``totals`` if ``extended`` is None.

        ``weighs``: True to append each row that has new rows once, with their number.
        """
        self._intersect.launch_groups(
            tasks.items,
            *arrays.arguments(table),
            arrays.end_count,
            *tasks.rows,
            self.task_rows(tasks.rows[1] - tasks.rows[0], tasks.row_work),
            tasks.max_work,
            int(weighs),
            tasks.scratch,
            tasks.words,
            None if extended is None else extended.values,
            0 if extended is None else extended.column_stride,
            tasks.counters,
            tasks.totals,
        )
