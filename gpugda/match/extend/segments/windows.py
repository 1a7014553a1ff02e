"""A join over a segmented data graph: step by step, and segment by segment within a step.

Rows that a step makes wait on the host, or on disk, until the step is complete or enough of them
wait. Then the next step takes them segment by segment, so that each segment is sent once for all of
them. If the next step follows a link of the same node, its rows need the same segment: they stay on
the device and continue at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gpugda.device.graph.segment_views import MAX_PARTS, Wanted
from gpugda.match.extend.join_windows import ExtendWindows
from gpugda.match.extend.memory import rows_within
from gpugda.match.extend.segments.waiting import Batch, Sorter
from gpugda.match.launch_size import first_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.graph.segments import Part, Segments
    from gpugda.device.launch.extend import Link
    from gpugda.device.launch.join import Table
    from gpugda.match.extend.encode import JoinSetup
    from gpugda.match.extend.segments.waiting import WaitingRows
    from gpugda.match.extend.step import ExtendStep

    _Loaded = tuple[int, Wanted, Table]
    """The segment of a step's first link, the segment parts on the device, and the rows."""

__all__ = ["SegmentedWindows"]

_GROWTH = 8
_SHARE_FOR_SORTING, _SHARE_FOR_COUNTING = 0.6, 0.85
"""Shares of the free memory; a counting step makes no rows, and so leaves more for sorting."""
_SORTED_BYTES = 8
"""Bytes per row and column while rows are sorted: before and after."""


class SegmentedWindows(ExtendWindows):
    """As `ExtendWindows`, with at most `MAX_PARTS` links per step.

    Args: as `ExtendWindows`, and
        views: The segments of the data graph on the device.
        waiting: Limits and location of waiting rows.
    """

    def __init__(self, setup: JoinSetup, views: SegmentViews, waiting: WaitingRows) -> None:
        super().__init__(replace(setup, words=setup.words.reading(views.arguments)))
        run, steps = setup.run, setup.steps
        self.views = self._seen = views
        segments = views.segments
        self._shares_segment, links = _ordered_links(steps)
        self._sequences = [_Sequence(segments, each) for each in links]
        bounds = run.workspace.upload(segments.bounds, "bounds of segments")
        self._sorters = [
            Sorter(run, segments, [link.column for link in each[:1]], bounds) for each in links
        ]
        # Rows are sorted by a second link's segment once those of the first link are on the device.
        self._seconds = [
            Sorter(run, segments, [link.column for link in each[1:]], bounds) for each in links
        ]
        self._backwards = [False] * len(steps)
        self._waiting = waiting
        self._max_rows = [0] * len(steps)
        self._sizes.within(self._max_resident)

    @property
    def spilled_bytes(self) -> int:
        """See `ExtendWindows.spilled_bytes`."""
        return self._waiting.written

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `ExtendWindows.tables`; if few rows suffice, few wait."""
        if enough is not None:
            few = first_window(enough, self._limits.first_window)
            self._max_rows = [few] * len(self._steps)
        return super().tables(enough)

    def count_all(self, *, at_once: bool) -> None:
        """See `ExtendWindows.count_all`; segments always need waiting."""
        if not at_once:
            super().count_all(at_once=False)

    def counts(self) -> Iterator[int]:
        """See `ExtendWindows.counts`."""
        if self.counted is not None:
            yield self.counted
            return
        self._sizes.expect_all()
        for made in self._joined(0, Batch.single(), counts=True):
            yield made if isinstance(made, int) else 0

    def _extend_all(self) -> Iterator[Table | None]:
        for made in self._joined(0, Batch.single(), counts=False):
            assert not isinstance(made, int)
            yield made

    # ------------------------------------------------------------------ step by step
    def _joined(self, number: int, batch: Batch, *, counts: bool) -> Iterator[Table | int | None]:
        """Yields the last step's rows for a batch, or their counts; None in between."""
        is_counted = counts and number == len(self._steps) - 1
        share = _SHARE_FOR_COUNTING if is_counted else _SHARE_FOR_SORTING
        yield from self._continued(number, self._loaded_tables(number, batch, share), counts=counts)

    def _continued(
        self, number: int, loaded: Iterator[_Loaded], *, counts: bool
    ) -> Iterator[Table | int | None]:
        """The same for tables whose segments are on the device."""
        if number == len(self._steps) - 1:
            yield from self._counted(loaded) if counts else self._last_rows(number, loaded)
        elif self._shares_segment[number + 1]:
            self._tables.prepare(number + 1)
            # One generator for all tables: their extensions wait for segments until there are many.
            extended = self._extended(number, loaded)
            staying = (
                each
                for first, table in extended
                for each in self._resident_tables(number + 1, first, table)
            )
            yield from self._continued(number + 1, staying, counts=counts)
        else:
            yield from self._after_waiting(
                number + 1, self._extended(number, loaded), counts=counts
            )

    def _last_rows(self, number: int, loaded: Iterator[_Loaded]) -> Iterator[Table]:
        for _, table in self._extended(number, loaded):
            yield table

    def _after_waiting(
        self, number: int, tables: Iterator[tuple[int, Table]], *, counts: bool
    ) -> Iterator[Table | int | None]:
        """Yields the results for a step's rows, which wait until there are enough of them."""
        waiting = self._empty(number)
        for _, table in tables:
            self._add(number, waiting, table)
            yield None
            if self._is_full(number, waiting):
                yield from self._joined(number, waiting, counts=counts)
                waiting.drop(self._waiting)
                waiting = self._empty(number)
        if waiting.row_count:
            yield from self._joined(number, waiting, counts=counts)
        waiting.drop(self._waiting)

    def _add(self, number: int, batch: Batch, table: Table) -> None:
        self._sorters[number].add(batch, table)
        batch.spill_excess(self._run, self._waiting)

    def _empty(self, number: int) -> Batch:
        width = len(self._steps[number - 1].variables)
        return Batch(width, self._sorters[number].key_count)

    def _is_full(self, number: int, batch: Batch) -> bool:
        few = self._max_rows[number]
        if few and batch.row_count >= few:
            self._max_rows[number] = few * _GROWTH
            return True
        return self._waiting.is_full(batch.nbytes)

    def _extended(self, number: int, loaded: Iterator[_Loaded]) -> Iterator[tuple[int, Table]]:
        """Yields a step's rows, and the segment of its first link that they come from."""
        for first, wanted, table in loaded:
            for extended in self.noted(number, table):
                yield first, extended
                # Other steps may have replaced the segments meanwhile.
                self._seen.acquire(wanted, alone=True)

    def _counted(self, loaded: Iterator[_Loaded]) -> Iterator[int]:
        number = len(self._steps) - 1
        for _, _, table in loaded:
            total = self._tables.count(number, table)
            self.rows[number] += total
            yield total

    def _loaded_tables(self, number: int, batch: Batch, share: float) -> Iterator[_Loaded]:
        """Yields a batch's rows with the segments they need; ``share``: of memory, for sorting."""
        if len(self._steps[number].device_links) > 1:
            self._tables.prepare(number)
            firsts = batch.keys()
            for first in firsts:
                for table in batch.tables(self._run, first, self._max_paired(number, share)):
                    yield from self._paired_tables(number, first, table)
            return
        sequence = self._sequences[number].of(batch.keys(), self._seen)
        for place, (key, wanted) in enumerate(sequence):
            coming = sequence[place + 1][1] if place + 1 < len(sequence) else None
            self._run.check_deadline()
            for table in batch.tables(self._run, key, self._max_waiting(number)):
                self._seen.acquire(wanted, coming, alone=True)
                yield key, wanted, table

    def _resident_tables(self, number: int, first: int, table: Table) -> Iterator[_Loaded]:
        """Yields rows on the device, whose first link's segment is known, with their segments."""
        if len(self._steps[number].device_links) > 1:
            yield from self._paired_tables(number, first, table)
            return
        for wanted in self._sequences[number].wanted((first,)):
            self._run.check_deadline()
            self._seen.acquire(wanted, alone=True)
            yield first, wanted, table

    def _paired_tables(self, number: int, first: int, table: Table) -> Iterator[_Loaded]:
        """The same for a step with two links."""
        sequence, second = self._sequences[number], self._seconds[number]
        # The order alternates, so that the last second segment is the next first one.
        self._backwards[number] = backwards = not self._backwards[number]
        most = partial(self._max_waiting, number)
        for key, following, part in second.split(table, most, backwards=backwards):
            self._run.check_deadline()
            coming = [] if following is None else sequence.wanted((first, following))
            parts = sequence.wanted((first, key))
            for wanted, after in zip(parts, [*parts[1:], *coming[:1], None], strict=False):
                self._seen.acquire(wanted, after, alone=True)
                yield first, wanted, part

    def _max_resident(self, number: int) -> int | None:
        """Maximum rows of a table that continues at once and is sorted for it; otherwise None."""
        following = number + 1
        if following >= len(self._steps) or not self._shares_segment[following]:
            return None
        if len(self._steps[following].device_links) < MAX_PARTS:
            return None
        is_last = following == len(self._steps) - 1
        return self._max_paired(following, _SHARE_FOR_COUNTING if is_last else _SHARE_FOR_SORTING)

    def _max_paired(self, number: int, share: float) -> int:
        """Maximum rows if they are sorted on the device, which holds them twice meanwhile."""
        width = len(self._steps[number - 1].variables) if number else 0
        # Their extensions continue, or wait on the host: all later steps share one half.
        room = self._run.workspace.available * share / min(2, len(self._steps) - number)
        rows = int(room) // (_SORTED_BYTES * max(1, width))
        return max(1, min(self._limits.largest_window, rows))

    def _max_waiting(self, number: int) -> int:
        """Maximum rows that are sent to the device at once."""
        width = len(self._steps[number - 1].variables) if number else 0
        share = self._run.workspace.available // (2 * (len(self._steps) - number))
        return min(self._limits.largest_window, rows_within(share, width, is_last=False))


def _ordered_links(steps: Sequence[ExtendStep]) -> tuple[list[bool], list[list[Link]]]:
    """Which steps follow a link of the previous step's node, and their links, that link first."""
    stays, links = [], []
    before: int | None = None
    for step in steps:
        ends = list(step.bound_ends[: len(step.device_links)])
        shared = ends.index(before) if before in ends else 0
        stays.append(before in ends)
        links.append([*step.device_links[shared:], *step.device_links[:shared]])
        before = ends[shared] if ends else None
    return stays, links


class _Sequence:
    """The order in which a step takes a batch's rows, and the segments it needs for them."""

    def __init__(self, segments: Segments, links: Sequence[Link]) -> None:
        self._segments = segments
        self._links = links

    def of(self, keys: Sequence[int], views: SegmentViews) -> list[tuple[int, Wanted]]:
        """Keys with the segments needed at a time, for at most one link; loaded ones first."""
        if not self._links:
            return [(key, Wanted()) for key in keys]
        held = views.held()
        ordered = sorted(keys, key=lambda key: key not in held)
        return [(key, wanted) for key in ordered for wanted in self.wanted((key,))]

    def wanted(self, segments: Sequence[int]) -> list[Wanted]:
        """The combinations of parts to load: one, or for long rows those whose pieces may meet."""
        chosen: list[tuple[Part, ...]] = [()]
        for segment in segments:
            chosen = [
                (*before, part)
                for before in chosen
                for part in self._segments.parts(segment)
                if all(self._go_together(part, each) for each in before)
            ]
        return [self._by_direction(each) for each in chosen]

    def _go_together(self, part: Part, other: Part) -> bool:
        if part.segment == other.segment:
            return part == other
        return self._segments.may_meet(part, other)

    def _by_direction(self, parts: Sequence[Part]) -> Wanted:
        linked = list(zip(parts, self._links, strict=True))
        outgoing = {part for part, link in linked if link.outgoing}
        incoming = {part for part, link in linked if link.incoming}
        return Wanted(tuple(sorted(outgoing)), tuple(sorted(incoming)))
