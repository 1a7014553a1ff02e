"""A join over a data graph that is on the device in parts: step by step, segment by segment.

Rows that a step makes wait on the host, or on disk, until the step is done or they are as many as
shall wait. Then the next step takes them segment by segment, so that each segment is sent once for
all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.device.graph.segment_views import Wanted
from gpugda.match.extend.join import ExtendWindows
from gpugda.match.extend.memory import rows_within
from gpugda.match.extend.segments.batches import Batch, Sorter
from gpugda.match.launch_size import first_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.graph.segments import Part, Segments
    from gpugda.device.launch.extend import Link
    from gpugda.device.launch.join import Table
    from gpugda.match.extend.join_setup import JoinSetup
    from gpugda.match.extend.segments.waiting import WaitingRows

__all__ = ["SegmentedWindows"]

_GROWTH = 8
_SHARE_FOR_SORTING, _SHARE_FOR_COUNTING = 0.6, 0.85
"""Of the free memory: where rows are counted, none are made of them."""
_SORTED_BYTES = 8
"""Of a row and a column: before and after they are sorted."""


class SegmentedWindows(ExtendWindows):
    """As `ExtendWindows`, with at most `MOST_PARTS` links a step.

    Args: as `ExtendWindows`, and

        views: What of the data graph is on the device.
        waiting: How many rows wait, and where.
    """

    def __init__(self, setup: JoinSetup, views: SegmentViews, waiting: WaitingRows) -> None:
        super().__init__(replace(setup, words=setup.words.looking_at(views.arguments)))
        run, steps = setup.run, setup.steps
        self.views = self._seen = views
        segments = views.segments
        self._sequences = [_Sequence(segments, step.device_links) for step in steps]
        bounds = run.workspace.upload(segments.bounds, "bounds of segments")
        self._sorters = [
            Sorter(run, segments, [link.column for link in step.device_links[:1]], bounds)
            for step in steps
        ]
        # By the segment of a second link rows are sorted when those of the first one are there.
        self._seconds = [
            Sorter(run, segments, [link.column for link in step.device_links[1:]], bounds)
            for step in steps
        ]
        self._waiting = waiting
        self._most_rows = [0] * len(steps)

    @property
    def spilled_bytes(self) -> int:
        """See `ExtendWindows.spilled_bytes`."""
        return self._waiting.written

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `ExtendWindows.tables`; where few rows suffice, few wait."""
        if enough is not None:
            few = first_window(enough, self._limits.first_window)
            self._most_rows = [few] * len(self._steps)
        return super().tables(enough)

    def count_all(self, *, at_once: bool) -> None:
        """See `ExtendWindows.count_all`; parts are always waited for."""
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
        """The rows of the last step that come of a batch, or how many; None in between."""
        if number == len(self._steps) - 1:
            yield from self._counted(batch) if counts else self._extended(number, batch)
            return
        following = self._empty(number + 1)
        for table in self._extended(number, batch):
            self._add(number + 1, following, table)
            yield None
            if self._is_full(number + 1, following):
                yield from self._joined(number + 1, following, counts=counts)
                following.drop(self._waiting)
                following = self._empty(number + 1)
        if following.row_count:
            yield from self._joined(number + 1, following, counts=counts)
        following.drop(self._waiting)

    def _add(self, number: int, batch: Batch, table: Table) -> None:
        self._sorters[number].add(batch, table)
        batch.spill_much(self._run, self._waiting)

    def _empty(self, number: int) -> Batch:
        width = len(self._steps[number - 1].variables)
        return Batch(width, self._sorters[number].key_count)

    def _is_full(self, number: int, batch: Batch) -> bool:
        few = self._most_rows[number]
        if few and batch.row_count >= few:
            self._most_rows[number] = few * _GROWTH
            return True
        return self._waiting.is_full(batch.nbytes)

    def _extended(self, number: int, batch: Batch) -> Iterator[Table]:
        for wanted, table in self._seen_tables(number, batch):
            for extended in self._tables.tables(number, table):
                self.rows[number] += extended.row_count
                self.windows[number] += 1
                yield extended
                self._sizes.leave(number)
                # Other steps may have needed other parts meanwhile.
                self._seen.acquire(wanted)

    def _counted(self, batch: Batch) -> Iterator[int]:
        number = len(self._steps) - 1
        for _, table in self._seen_tables(number, batch, _SHARE_FOR_COUNTING):
            total = self._tables.count(number, table)
            self.rows[number] += total
            yield total

    def _seen_tables(
        self, number: int, batch: Batch, share: float = _SHARE_FOR_SORTING
    ) -> Iterator[tuple[Wanted, Table]]:
        """The rows of a batch, together with the parts that they need; ``share``: where sorted."""
        if len(self._steps[number].device_links) > 1:
            yield from self._paired_tables(number, batch, share)
            return
        sequence = self._sequences[number].of(batch.keys(), self._seen)
        for place, (key, wanted) in enumerate(sequence):
            coming = sequence[place + 1][1] if place + 1 < len(sequence) else None
            self._run.check_deadline()
            for table in batch.tables(self._run, key, self._most_waiting(number)):
                self._seen.acquire(wanted, coming)
                yield wanted, table

    def _paired_tables(
        self, number: int, batch: Batch, share: float
    ) -> Iterator[tuple[Wanted, Table]]:
        """The same of a step with two links."""
        sequence, second = self._sequences[number], self._seconds[number]
        backwards, firsts = False, batch.keys()
        self._tables.prepare(number)
        for first in firsts:
            for waiting in batch.tables(self._run, first, self._most_paired(number, share)):
                # The last second part is the next first one.
                backwards = not backwards
                for key, following, table in second.split(waiting, backwards=backwards):
                    self._run.check_deadline()
                    coming = [] if following is None else sequence.wanted((first, following))
                    parts = sequence.wanted((first, key))
                    for wanted, after in zip(parts, [*parts[1:], *coming[:1], None], strict=False):
                        self._seen.acquire(wanted, after)
                        yield wanted, table

    def _most_paired(self, number: int, share: float) -> int:
        """The same where they are sorted there: they are there twice, and go on in small parts."""
        width = len(self._steps[number - 1].variables) if number else 0
        room = self._run.workspace.available * share
        rows = int(room / (len(self._steps) - number)) // (_SORTED_BYTES * max(1, width))
        return max(1, min(self._limits.largest_window, rows))

    def _most_waiting(self, number: int) -> int:
        """Rows that are sent to the device at once."""
        width = len(self._steps[number - 1].variables) if number else 0
        share = self._run.workspace.available // (2 * (len(self._steps) - number))
        return min(self._limits.largest_window, rows_within(share, width, is_last=False))


class _Sequence:
    """In which order a step takes the rows of a batch, and which parts it needs for them."""

    def __init__(self, segments: Segments, links: Sequence[Link]) -> None:
        self._segments = segments
        self._links = links

    def of(self, keys: Sequence[int], views: SegmentViews) -> list[tuple[int, Wanted]]:
        """Segments with the parts that are needed at one time for them, of one link at most."""
        if not self._links:
            return [(key, Wanted()) for key in keys]
        held = views.held()
        ordered = sorted(keys, key=lambda key: key not in held)
        return [(key, wanted) for key in ordered for wanted in self.wanted((key,))]

    def wanted(self, segments: Sequence[int]) -> list[Wanted]:
        """Once, but for pieces of long rows: these that can lead to the same node together."""
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
