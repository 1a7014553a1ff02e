"""Extends partial embeddings node by node; launcher of ``extend.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.device.launch.hub_bitmaps import NO_HUBS
from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.hub_bitmaps import HubBitmaps
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.program import Kernel

__all__ = [
    "STEP_PARAMETERS",
    "Extension",
    "ExtensionKernels",
    "KeyTest",
    "Link",
    "LinkFlags",
    "PairWindow",
    "Pairs",
    "StepArrays",
    "Test",
    "extension_words",
]

_FILE = "extend.cl"
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True, eq=False)
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
        self._measure = get_kernel(context, _FILE, "measure_extensions", f"{STEP_PARAMETERS}Qbb")
        self._extend = get_kernel(context, _FILE, "extend_pairs", f"{STEP_PARAMETERS}QbbQQIbQb")
        self._count = get_kernel(context, _FILE, "count_pairs", f"{STEP_PARAMETERS}QbbQQIb")
        self._test = get_kernel(context, _FILE, "test_rows", f"{STEP_PARAMETERS}Qb")

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
