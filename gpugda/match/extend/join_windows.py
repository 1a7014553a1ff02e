"""Extends partial embeddings step by step, depth first, in windows that fit the memory."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.device.launch.join import Table
from gpugda.device.launch.small_queries import SmallJoin
from gpugda.match.extend.memory import WindowSizes, min_bytes
from gpugda.match.extend.step_tables import StepTables
from gpugda.match.windowed_join import WindowedJoin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.small_queries import SmallJoined
    from gpugda.match.extend.encode import JoinSetup
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.special.cycles import CycleCount
    from gpugda.match.special.single_walks import SingleWalkCount


__all__ = ["ExtendWindows", "join_at_once", "last_table"]

_MAX_WORDS = 1 << 14
"""Maximum words of a candidate bitmap, which is scanned once per row that it multiplies."""
_MIN_STEPS = 1
"""If no more steps than these are complete, the attempt costs more than the launches it saves."""
_MEMORY_FACTOR = 4
"""The free memory must be this many times what is needed, to stay away from the limit."""


def join_at_once(setup: JoinSetup, max_rows: int, *, only_counts: bool) -> SmallJoined | None:
    """Joins the first steps, or all if their rows are few. None if it is not worth trying.

    Args:
        setup: The join; its limits bound the rows and the lookups of each step.
        max_rows: Maximum number of rows of a step.
        only_counts: True if the rows of the last step are only counted.
    """
    run, words, limits = setup.run, setup.words, setup.limits
    joined, arrays = words.together
    capacity = min(max_rows, limits.max_at_once)
    if words.outgrew_small_join or (len(joined) == 1 and not run.graph.context.is_cpu):
        return None
    if joined[0].max_rows > capacity or arrays.filter.words > _MAX_WORDS:
        return None
    needed = 2 * 4 * capacity * max(each.width for each in joined) + min_bytes(setup.steps)
    if needed * _MEMORY_FACTOR > run.workspace.available:
        return None
    found = SmallJoin(run.graph.context).join(
        run.workspace,
        arrays,
        joined,
        only_counts=only_counts,
        max_looks=limits.entries_at_once,
        capacity=capacity,
    )
    if len(found.rows) <= _MIN_STEPS and len(found.rows) < len(setup.steps):
        # The next run does not try again. A smaller capacity is no evidence for that.
        words.outgrew_small_join = capacity == limits.max_at_once
    return found


def last_table(steps: Sequence[ExtendStep], joined: SmallJoined) -> Table:
    """The table of rows of the last complete step."""
    done = len(joined.rows)
    width = len(steps[done - 1].variables) if done else 0
    rows = joined.rows[-1] if done else 1
    return Table(joined.values, rows, width, joined.capacity) if width else Table(None, rows, 0)


class ExtendWindows(WindowedJoin[Table]):
    """Runs the steps of a join.

    Args:
        setup: The join.

    Attributes:
        counted_without_rows: True if everything was counted without making rows.
        is_complete: True if all rows were made or counted; set by the owner.
        counted: The count, if it was computed before it was requested.
        views: The segments of the data graph on the device; None if all of it is there.
    """

    def __init__(self, setup: JoinSetup) -> None:
        super().__init__(len(setup.steps))
        self._setup = setup
        self._run = setup.run
        self._limits = setup.limits
        self._steps = setup.steps
        self._sizes = WindowSizes(setup)
        self.counted_without_rows = False
        self.is_complete = False
        self.counted: int | None = None
        self.views: SegmentViews | None = None

    def reserve_steps(self, steps: int) -> None:
        """Reserves memory for this many further steps that continue from the rows."""
        self._sizes.reserve_steps(steps)

    @property
    def spilled_bytes(self) -> int:
        """Bytes of rows that were spilled to disk while waiting for segments."""
        return 0

    @property
    def by_pairs(self) -> list[bool]:
        """For each step, True if it went pair by pair on a device that prefers rows."""
        made = vars(self).get("_tables")
        return [False] * len(self._steps) if made is None else made.by_pairs

    @cached_property
    def _tables(self) -> StepTables:
        return StepTables(self._setup, self._sizes)  # not made for a join that runs at once

    @property
    def pending_bytes(self) -> int:
        """Bytes allocated with the first step's tables, if these are not made yet."""
        return (
            0 if "_tables" in vars(self) else StepTables.min_bytes(self._setup.kernels.extensions)
        )

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """Yields tables of full embeddings. Each is valid until the next one is requested.

        Yields None between tables when others may launch. If about ``enough`` rows suffice, the
        first tables are small.
        """
        if enough is not None:
            self._sizes.expect_few(enough)
        yield from self._extend_all()

    def count_all(self, *, at_once: bool) -> None:
        """Counts before the count is requested; ``at_once``: only if that needs no waiting."""
        if not at_once:
            self.counted = sum(self.counts())
            return
        self._sizes.expect_all()
        joined = self._join_at_once(only_counts=True)
        if joined is not None and len(joined.rows) == len(self._steps):
            self.counted = sum(self._count_rest(joined))
        elif joined is not None:
            self._run.workspace.release(joined.values)

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; the last step makes no rows."""
        if self.counted is not None:
            yield self.counted
            return
        cycle = self._cycle_count()
        self.counted_without_rows = cycle is not None
        if cycle is not None:
            self.rows[-1] = cycle.count(self._tables.totals, self._limits.item_work)
            yield self.rows[-1]
            return
        self._sizes.expect_all()
        joined = self._join_at_once(only_counts=True)
        if joined is None:
            yield from self.counts_from(0, Table(None, 1, 0))
        else:
            yield from self._count_rest(joined)

    def _cycle_count(self) -> CycleCount | SingleWalkCount | None:
        cycle = self._steps[-1].cycle
        if cycle is None:
            return None
        from gpugda.match.special.cycles import CycleCount  # few joins are of cycles

        return CycleCount.of(self._run, cycle, self._setup.candidates)

    def _count_rest(self, joined: SmallJoined) -> Iterator[int]:
        """The count of a join at once, or counts continued from its last complete step."""
        if len(joined.rows) == len(self._steps):
            self.rows[-1] = joined.total
            yield joined.total
        else:
            yield from self.counts_from(len(joined.rows), last_table(self._steps, joined))
        self._run.workspace.release(joined.values)

    def cores(self) -> Iterator[Table | None]:
        """As `tables`, for a caller that reads all of them on the device."""
        self._sizes.expect_all()
        yield from self._extend_all()

    def _extend_all(self) -> Iterator[Table | None]:
        joined = self._join_at_once(only_counts=False)
        if joined is None:
            yield from self.rows_from(0, Table(None, 1, 0))
            return
        table = last_table(self._steps, joined)
        if table.row_count:
            yield from self.rows_from(len(joined.rows), table)
        self._run.workspace.release(joined.values)

    def _join_at_once(self, *, only_counts: bool) -> SmallJoined | None:
        """Runs the first steps, or all of them, without synchronisation, if they are small."""
        self._run.check_deadline()
        joined = join_at_once(self._setup, self._sizes.max_at_once(), only_counts=only_counts)
        if joined is not None:
            for number, rows in enumerate(joined.rows):
                self.rows[number] = rows
                self.windows[number] = 1
                self._sizes.enter(number, 0, 1, 1)
        return joined

    def made(self, number: int, table: Table) -> Iterator[Table]:
        """See `WindowedJoin.made`."""
        for extended in self._tables.tables(number, table):
            yield extended
            self._sizes.leave(number)

    def totals(self, number: int, table: Table) -> Iterator[int]:
        """See `WindowedJoin.totals`."""
        started = time.perf_counter()
        total = self._tables.count(number, table)
        self._sizes.pace(number, started)
        yield total

    def complete(self, table: Table) -> Iterator[Table]:
        """See `WindowedJoin.complete`: windows shrink if the caller takes long for one."""
        started = time.perf_counter()
        yield table
        self._sizes.pace(len(self._steps), started)
