"""Joins a subtable with a query node, segment by segment (the paper's algorithms 3, 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.launch.gsi_join import Places, Rows, StepArrays, TaskList, node_join_words
from gpugda_strategies.launch.sgsi_join import Filled, LongRows, RowLists
from gpugda_strategies.sgsi.balance import INTERVALS, Limits, choose_limits, given_limits
from gpugda_strategies.sgsi.column_tests import column_tests, passing

from gpugda.device.launch.join import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.gsi_join import GsiJoin, ListArrays
    from gpugda_strategies.launch.sgsi_join import SgsiJoin
    from gpugda_strategies.sgsi.candidates import HostCandidates
    from gpugda_strategies.sgsi.column_tests import ColumnTest
    from gpugda_strategies.sgsi.loader import SegmentLoader
    from gpugda_strategies.sgsi.memory import MemoryPlan
    from gpugda_strategies.sgsi.options import SgsiOptions
    from gpugda_strategies.sgsi.scratch import Scratch
    from gpugda_strategies.sgsi.segments import Segments
    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.fetching import HostTable
    from gpugda.match.run import Run

__all__ = ["Found", "JoinKernels", "SegmentJoin", "Sources"]

_PARTS = 16
"""Work groups that share one of the longest rows."""
_ROWS_FOR_HISTOGRAM = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class JoinKernels:
    """The launchers: those of GSI, which fill places, and those of SGSI."""

    gsi: GsiJoin
    sgsi: SgsiJoin


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What a join reads.

    Args:
        candidates: Candidates of the query nodes.
        segments: Segments of each link.
        loader: Loads them to the device.
    """

    candidates: HostCandidates
    segments: Mapping[Link, Segments]
    loader: SegmentLoader


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a step found for some rows of a subtable, on the device.

    Args:
        total: Number of new rows.
        table: The subtable; the column of the first link is the first one of ``columns``.
        columns: Room for two columns of the subtable.
        first: The first of these rows.
        filled: Their places.
        left: Bitmap of the places that remain, and prefix sums of its bits.
        nodes: Node per place.
        relationships: Relationship per place, None if not needed.
    """

    total: int
    table: HostTable
    columns: DeviceArray
    first: int
    filled: Filled
    left: tuple[DeviceArray, DeviceArray]
    nodes: DeviceArray
    relationships: DeviceArray | None


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Rows of a subtable whose places are allocated together, and the segments they need."""

    columns: DeviceArray
    host: HostTable
    first: int
    count: int
    total: int
    sums: DeviceArray | None
    numbers: Sequence[int]
    limits: Limits

    @property
    def rows(self) -> Rows:
        table = Table(self.columns, self.host.row_count, 2)
        return Rows(table, self.first, self.count)

    @property
    def aside(self) -> int:
        """Offset of the second column for these rows."""
        return self.host.row_count + self.first


class SegmentJoin:
    """Finds what extends the rows of a table.

    Args:
        run: The query's run.
        sources: What the join reads.
        kernels: The launchers.
        scratch: The arrays.
        plan: Sizes that fit.
        options: Techniques to use.
    """

    def __init__(
        self,
        run: Run,
        sources: Sources,
        kernels: JoinKernels,
        scratch: Scratch,
        plan: MemoryPlan,
        options: SgsiOptions,
    ) -> None:
        self._run = run
        self._sources = sources
        self._kernels = kernels
        self._scratch = scratch
        self._plan = plan
        self._options = options
        self._candidates_of: int | None = None
        self._balances = options.lists.load_balance and run.graph.context.profile.group_size > 1

    def found(self, step: NodeStep, table: HostTable) -> Iterator[Found]:
        """Yields the results for a table, subtable by subtable; each is valid until the next.

        Raises:
            MemoryLimitError: An array does not fit on the device.
        """
        place_bytes = _place_bytes(step, len(table.columns), makes_rows=True)
        for part in self._subtables(step, table):
            yield from self._subtable(step, part, place_bytes)

    def counted(self, step: NodeStep, table: HostTable) -> Iterator[int]:
        """Yields counts of new rows, to be summed; uses places only if links are intersected.

        Raises:
            MemoryLimitError: An array does not fit on the device.
        """
        place_bytes = _place_bytes(step, len(table.columns), makes_rows=False)
        for part in self._subtables(step, table):
            fused, others = _fused(column_tests(step.tests, part), step)
            if len(step.links) == 1 and not others:
                yield self._count(step, part, fused)
            else:
                for found in self._subtable(step, part, place_bytes):
                    yield found.total

    def _subtables(self, step: NodeStep, table: HostTable) -> Iterator[HostTable]:
        most = self._plan.rows
        for first in range(0, table.row_count, most):
            part = table.part(first, min(first + most, table.row_count))
            part = passing(step.tests, part)
            if part.row_count:
                yield part

    def _count(self, step: NodeStep, part: HostTable, tests: Sequence[ColumnTest]) -> int:
        """The number of entries in the lists of the only link that extend rows."""
        link, count = step.links[0], part.row_count
        columns = self._written(link, part, (0, count))
        numbers: Sequence[int] = self._sources.segments[link].needed(part.columns[link.column])
        limits = given_limits(self._options.lists)
        if self._balances and self._options.histogram:
            rows = Rows(Table(columns, count, 2), 0, count)
            totals, numbers = self._measured(link, rows, numbers)
            limits = self._limits(totals, count)
        counts = self._scratch.filled("counts", count)
        piece = _Piece(columns, part, 0, count, 0, None, numbers, limits)
        self._first_link(step, piece, tests, Places(None, None, counts, appends=True))
        sums = self._scratch.sums(counts, 0, count)
        total = self._last(sums, count)
        self._scratch.release(sums)
        return total

    # ------------------------------------------------------------------ pieces that fit
    def _subtable(self, step: NodeStep, part: HostTable, place_bytes: int) -> Iterator[Found]:
        link, count = step.links[0], part.row_count
        columns = self._written(link, part, (0, count))
        needed = self._sources.segments[link].needed(part.columns[link.column])
        totals, numbers = self._measured(link, Rows(Table(columns, count, 2), 0, count), needed)
        limits = self._limits(totals, count)
        sums = self._scratch.sums(totals, 0, count)
        total = self._last(sums, count)
        most = self._scratch.places_of(place_bytes)
        if total <= most:
            yield from self._joined(
                step, _Piece(columns, part, 0, count, total, sums, numbers, limits)
            )
            return
        host = self._run.workspace.download(sums, 0, count + 1)
        self._scratch.release(sums)
        for first, last in pairwise(_cuts(host, most)):
            self._run.check_deadline()
            # Later steps used these arrays meanwhile, if tables on the host are short.
            self._scratch.places_of(place_bytes)
            own = int(host[last] - host[first])
            if own > most:
                yield from self._long_row(step, part, first, numbers, limits, place_bytes)
                continue
            columns = self._written(link, part, (first, last))
            totals = self._scratch.of_rows("totals", last - first)
            lengths = np.diff(host[first : last + 1]).astype(np.uint32)
            self._run.workspace.write(totals, lengths)
            sums = self._scratch.sums(totals, 0, last - first)
            yield from self._joined(
                step, _Piece(columns, part, first, last - first, own, sums, numbers, limits)
            )

    def _long_row(
        self,
        step: NodeStep,
        part: HostTable,
        row: int,
        numbers: Sequence[int],
        limits: Limits,
        place_bytes: int,
    ) -> Iterator[Found]:
        """Extends a row with more entries than there are places, segment by segment."""
        for number in numbers:
            self._scratch.places_of(place_bytes)
            columns = self._written(step.links[0], part, (row, row + 1))
            rows = Rows(Table(columns, part.row_count, 2), row, 1)
            totals, hit = self._measured(step.links[0], rows, [number])
            if hit:
                sums = self._scratch.sums(totals, 0, 1)
                total = self._last(sums, 1)
                piece = _Piece(columns, part, row, 1, total, sums, hit, limits)
                yield from self._joined(step, piece)

    def _written(self, link: Link, part: HostTable, rows: tuple[int, int]) -> DeviceArray:
        """Uploads the columns of a link for some rows: its bound end, and the other if bound."""
        columns, (first, last) = self._scratch.of_rows("columns", 2 * part.row_count), rows
        self._run.workspace.write(columns, part.columns[link.column][first:last], first)
        if link.other is not None:
            values = part.columns[link.other][first:last]
            self._run.workspace.write(columns, values, part.row_count + first)
        return columns

    def _measured(
        self, link: Link, rows: Rows, numbers: Sequence[int]
    ) -> tuple[DeviceArray, list[int]]:
        """The number of entries per row in these segments, and the segments that have any."""
        segments, loader = self._sources.segments[link], self._sources.loader
        totals = self._scratch.filled("totals", rows.count)
        flags = self._scratch.filled("flags", rows.count, np.int32)
        hits = self._scratch.filled_words("segments with entries", max(len(segments.parts), 1))
        parts = () if link.other is None else ("neighbours",)
        columns = (0, None if link.other is None else 1)
        for number, lists in loader.each(segments, numbers, parts=parts):
            self._run.check_deadline()
            self._kernels.sgsi.measure(rows, columns, lists, flags, totals, (hits, number))
        found = self._run.workspace.download(hits, 0, len(segments.parts)) if numbers else ()
        return totals, [number for number in numbers if found[number]]

    def _limits(self, totals: DeviceArray, count: int) -> Limits:
        limits = given_limits(self._options.lists)
        if not (self._balances and self._options.histogram) or count < _ROWS_FOR_HISTOGRAM:
            return limits
        intervals = self._scratch.filled_words("histogram", INTERVALS)
        self._kernels.sgsi.count_lengths(totals, count, intervals)
        rows = self._run.workspace.download(intervals, 0, INTERVALS).astype(np.int64)
        rows[0] = count - rows.sum()
        return choose_limits(rows, self._run.graph.context.info.compute_units)

    def _last(self, sums: DeviceArray, count: int) -> int:
        return int(self._run.workspace.download(sums, count, 1)[0])

    # ------------------------------------------------------------------ places that remain
    def _joined(self, step: NodeStep, piece: _Piece) -> Iterator[Found]:
        if not piece.total or piece.sums is None:
            self._scratch.release(piece.sums)
            return
        total, count = piece.total, piece.count
        rows = piece.host.part(piece.first, piece.first + count)
        fused, others = _fused(column_tests(step.tests, rows), step)
        asks = step.added[1] is not None or any(not each.of_node for each in others)
        nodes = self._scratch.of_places("nodes", total)
        second = self._scratch.of_places("relationships", total) if asks else None
        levels = None
        if len(step.links) > 1 or others:
            levels = self._scratch.of_places("levels", total, np.uint16)
            self._run.workspace.fill(levels, 0)
        counts = self._scratch.filled("counts", count)
        self._first_link(step, piece, fused, Places(piece.sums, nodes, counts, 0, second, True))
        filled = Filled(piece.sums, count, total, counts, levels)
        level = 0
        for link in step.links[1:]:
            self._next_link(link, piece, filled, nodes, level)
            level += 1
        for test in others:
            self._run.workspace.write(piece.columns, test.values, piece.aside)
            values = nodes if test.of_node or second is None else second
            column = (piece.columns, piece.aside)
            self._kernels.sgsi.mark_passing(column, filled, values, level, equal=test.equal)
            level += 1
        left = self._left(filled, level)
        found = self._last(left[1], -(-total // 32))
        yield Found(found, piece.host, piece.columns, piece.first, filled, left, nodes, second)
        self._scratch.release(left[1], piece.sums)

    def _left(self, filled: Filled, level: int) -> tuple[DeviceArray, DeviceArray]:
        words = -(-filled.total // 32)
        left = self._scratch.of_places("places that are left", words)
        self._kernels.sgsi.mark_left(filled, level, left)
        return left, self._scratch.sums(left, 0, words, of_bits=True)

    def _first_link(
        self, step: NodeStep, piece: _Piece, tests: Sequence[ColumnTest], places: Places
    ) -> None:
        link, closes = step.links[0], step.kind is JoinKind.CLOSE
        for test in tests:
            if test.column != link.column:
                self._run.workspace.write(piece.columns, test.values, piece.aside)
        words = self._scratch.upload(_words(tests, link), "tests of a step")
        options = self._options.lists
        bits = self._bits(step)
        arrays = StepArrays(
            (bits, 0),
            (bits, 0, 0),
            (words, 0),
            closes,
            True,
            options.duplicate_removal,
        )
        found = self._row_lists(piece.count)
        parts = ["neighbours"]
        if places.second is not None or any(not each.of_node for each in tests):
            parts.append("relationships")
        segments, loader = self._sources.segments[link], self._sources.loader
        columns = (0, None if link.other is None else 1)
        for _, lists in loader.each(segments, piece.numbers, parts=parts):
            self._run.check_deadline()
            long = self._long_rows(piece, lists)
            self._kernels.sgsi.bound(piece.rows, columns, lists, found, long)
            self._append(piece, lists, found, arrays, places, long)
        self._scratch.release(words)

    def _append(
        self,
        piece: _Piece,
        lists: ListArrays,
        found: RowLists,
        arrays: StepArrays,
        places: Places,
        long: LongRows | None,
    ) -> None:
        limits: tuple[int | None, int | None] = (None, None)
        if self._balances:
            limits = (piece.limits.group_from, piece.limits.share_from)
        bounds = (found.begins, found.lengths)
        join = self._kernels.gsi.join_first
        join(piece.rows, lists, bounds, arrays, places, limits)
        if long is None:
            return
        numbers = self._run.workspace.download(long.numbers, 0, 2)
        listed, longest = (int(each) for each in numbers)
        if listed:
            tasks = TaskList(long.rows, 0, listed, 1)
            join(piece.rows, lists, bounds, arrays, places, limits, tasks)
        if longest:
            tasks = TaskList(long.rows, piece.count - longest, longest, _PARTS)
            join(piece.rows, lists, bounds, arrays, places, limits, tasks)

    def _next_link(
        self, link: Link, piece: _Piece, filled: Filled, nodes: DeviceArray, level: int
    ) -> None:
        column = piece.host.columns[link.column][piece.first : piece.first + piece.count]
        self._run.workspace.write(piece.columns, column, piece.aside)
        found = self._row_lists(piece.count)
        segments, loader = self._sources.segments[link], self._sources.loader
        for _, lists in loader.each(segments, segments.needed(column), parts=("neighbours",)):
            self._run.check_deadline()
            self._kernels.sgsi.bound(piece.rows, (1, None), lists, found, None)
            self._kernels.sgsi.mark_members(found, lists, filled, nodes, level)

    # ------------------------------------------------------------------ arrays
    def _row_lists(self, count: int) -> RowLists:
        return RowLists(
            self._scratch.filled("flags", count, np.int32),
            self._scratch.of_rows("begins", count),
            self._scratch.of_rows("lengths", count),
        )

    def _long_rows(self, piece: _Piece, lists: ListArrays) -> LongRows | None:
        limits = piece.limits
        if not self._balances or lists.longest <= min(limits.group_from, limits.launch_from):
            return None
        rows = self._scratch.of_rows("long rows", piece.count)
        numbers = self._scratch.filled_words("numbers of long rows", 2)
        return LongRows(limits.group_from, limits.launch_from, rows, numbers)

    def _bits(self, step: NodeStep) -> DeviceArray:
        """The candidates of the added node; a closing step does not read them."""
        bits = self._sources.candidates.bits
        words = self._scratch.filled_words("candidates", max(len(bits[0]), 1), fresh=False)
        if step.kind is JoinKind.JOIN and self._candidates_of != step.position:
            self._run.workspace.write(words, bits[step.position])
            self._candidates_of = step.position
        return words


def _place_bytes(step: NodeStep, width: int, *, makes_rows: bool) -> int:
    """Bytes of a place: those of the paper, and levels, relationships, new rows if needed."""
    asks = step.added[1] is not None or any(max(test[:2]) > width for test in step.tests)
    has_levels = len(step.links) > 1 or bool(step.tests)
    return 6 + 4 * asks + 2 * has_levels + 8 * makes_rows


def _fused(
    tests: Sequence[ColumnTest], step: NodeStep
) -> tuple[list[ColumnTest], list[ColumnTest]]:
    """Splits tests into those that entries pass at once (link's column, one other) and others."""
    fused: list[ColumnTest] = []
    others: list[ColumnTest] = []
    has_room = step.links[0].other is None
    for test in tests:
        if test.column == step.links[0].column:
            fused.append(test)
        elif has_room:
            fused.append(test)
            has_room = False
        else:
            others.append(test)
    return fused, others


def _words(tests: Sequence[ColumnTest], link: Link) -> NDArray[np.uint32]:
    """Encodes tests for ``node_join.h``, for a table of two columns: the link's, and another."""
    found = [
        (int(test.column != link.column), 2 if test.of_node else 3, test.equal, None, None)
        for test in tests
    ]
    return np.array(node_join_words((), found), dtype=np.uint32)


def _cuts(sums: NDArray[np.uint64], most: int) -> list[int]:
    """First rows of pieces that have at most ``most`` places, or that are one row."""
    firsts, rows = [0], len(sums) - 1
    while firsts[-1] < rows:
        last = int(np.searchsorted(sums, sums[firsts[-1]] + np.uint64(most), side="right")) - 1
        firsts.append(max(last, firsts[-1] + 1))
    return firsts
