"""Memory that the steps of ``extend`` need, so that a limit is met or refused at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.errors import MemoryLimitError
from gpugda.match.launch_size import first_window

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Embeddings
    from gpugda.match.extend.encode import JoinSetup
    from gpugda.match.extend.step import ExtendStep


__all__ = ["WindowSizes", "check_room", "min_bytes", "retried", "rows_within"]

_BYTES_TO_EXTEND = 4 + 8 + 1 + 1
"""Per row of a table to be extended: length, prefix sum, base, and a share of its blocks."""
_ARRAYS = 6
"""Arrays per step: a table, and what is needed to extend it."""
_REUSE_FACTOR = 2
"""A reused array may be twice as long as requested."""


def rows_within(size: int, width: int, *, is_last: bool = False) -> int:
    """Rows of ``width`` columns that fit into ``size`` bytes with what extends them; at least 1.

    Nothing extends the rows of the last step.
    """
    row_bytes = max(1, 4 * width + (0 if is_last else _BYTES_TO_EXTEND))
    return max(1, (size - _ARRAYS * SMALLEST_BYTES) // row_bytes)


def min_bytes(steps: Sequence[ExtendStep]) -> int:
    """Bytes with which all steps can proceed one row, or the rows of one pair, at a time."""
    # Called for each small query: avoids a call for each step.
    rows = [each.max_rows * (4 * len(each.variables) + _BYTES_TO_EXTEND) for each in steps]
    return _REUSE_FACTOR * len(steps) * (_ARRAYS * SMALLEST_BYTES + max(rows)) if rows else 0


def check_room(workspace: Workspace, steps: Sequence[ExtendStep], more: int = 0) -> None:
    """Refuses a limit that is too small before the join starts.

    Args:
        workspace: The query's workspace.
        steps: The steps of the join.
        more: Bytes that are allocated before the first step.

    Raises:
        MemoryLimitError: The steps do not fit.
    """
    least = min_bytes(steps) + more
    workspace.make_room(least)
    if workspace.available < least:
        limit = workspace.budget.limit_bytes
        raise MemoryLimitError(
            f"joining row by row needs {least:,} bytes, but {limit - workspace.available:,} of the "
            f"memory limit of {limit:,} bytes are taken"
        )


def retried(
    found: Iterator[Embeddings], give_way: Callable[[MemoryLimitError], None] | None = None
) -> Generator[Embeddings, None, bool]:
    """Passes on what is found. Returns False if memory ran out before the first item.

    Args:
        found: Once an item was passed on, nothing is tried again.
        give_way: Frees memory before the next try, or raises the error that it is given.

    Raises:
        MemoryLimitError: Memory ran out after an item was passed on.
    """
    is_begun = False
    try:
        for each in found:
            is_begun = True
            yield each
    except MemoryLimitError as error:
        if is_begun:
            raise
        if give_way is not None:
            give_way(error)
        return False
    return True


def _as_many_as_fit(number: int) -> int | None:
    return None


class WindowSizes:
    """Window sizes, which grow from window to window within the available memory.

    Args:
        setup: The join.
    """

    def __init__(self, setup: JoinSetup) -> None:
        self._run = setup.run
        self._steps = setup.steps
        self._limits = setup.limits
        self._progress = setup.run.report.progress
        self._grown = [setup.limits.first_window] * len(setup.steps)
        self._after_last = 0
        self._most_of: Callable[[int], int | None] = _as_many_as_fit

    def within(self, most_of: Callable[[int], int | None]) -> None:
        """Replaces the row limit of steps for which ``most_of`` returns a number."""
        self._most_of = most_of

    def reserve_steps(self, steps: int) -> None:
        """Reserves memory for this many further steps that continue from the last step's rows."""
        self._after_last = steps

    def expect_few(self, enough: int) -> None:
        """Starts small: the caller stops after about this many rows."""
        self._grown = [first_window(enough, self._limits.first_window)] * len(self._steps)

    def expect_all(self) -> None:
        """Starts at the size for callers that read all rows."""
        first = min(self._limits.first_count_window, self._limits.largest_window)
        self._grown = [first] * len(self._steps)

    def most(self, number: int) -> int:
        """A step's share of the memory in rows, at most the current size of its window."""
        return self._most(number, self._grown[number])

    def _most(self, number: int, window: int) -> int:
        is_last = number == len(self._steps) + self._after_last - 1
        width = len(self._steps[number].variables)
        share = self._run.workspace.available // (len(self._steps) + self._after_last - number)
        longest = self._run.graph.context.info.max_allocation_bytes // max(4 * width, 8)
        rows = self._most_of(number)
        if rows is None:
            rows = rows_within(share, width, is_last=is_last)
        return max(1, min(window, longest, rows))

    def max_at_once(self) -> int:
        """Rows that any step may make without measuring first how many there could be.

        If there are several steps, this is the size of the second window, even if a caller needs
        few rows: computing these rows takes less time than the launches of a first window per step.
        """
        windows = self._grown if len(self._grown) == 1 else [*map(self._after, self._grown)]
        few, steps = self._limits.few_rows, len(self._steps) + self._after_last
        widest = 4 * max([len(each.variables) for each in self._steps])
        longest = self._run.graph.context.info.max_allocation_bytes // max(widest, 8)
        # Nearly always each step has room for them, even if all are as wide as the widest.
        if (
            self._most_of is _as_many_as_fit
            and few <= min(*windows, longest)
            and few <= rows_within(self._run.workspace.available // steps, widest // 4)
        ):
            return few
        return min(few, *[self._most(*each) for each in enumerate(windows)])

    def next(self, number: int) -> int:
        """As `most`; also lets the next window have up to twice as many rows."""
        window, limits = self.most(number), self._limits
        is_last = number == len(self._steps) - 1
        largest = limits.largest_last_window if is_last else limits.largest_window
        self._grown[number] = min(self._after(self._grown[number]), largest)
        return window

    def slices(
        self, number: int, total: int, of: tuple[int, int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """Yields the windows of ``total`` rows.

        ``of``: for the progress, the rows that went before and those of the whole step.
        """
        before, whole = (0, total) if of is None else of
        low = 0
        while low < total:
            self._run.check_deadline()
            high = min(low + self.next(number), total)
            self.enter(number, before + low, before + high, whole)
            yield low, high
            low = high

    def pace(self, number: int, started: float) -> None:
        """Shrinks windows if a step, or the caller, takes too long for one."""
        longest = self._run.graph.context.profile.launch_seconds
        if number and time.perf_counter() - started > longest:
            # Windows of the previous step double each time: this halves them.
            smaller = self._grown[number - 1] // 4
            self._grown[number - 1] = max(self._limits.smallest_window, smaller)

    def enter(self, number: int, first: int, last: int, total: int) -> None:
        """Tells the progress which part of its work a step begins."""
        if self._progress is not None:
            self._progress.enter(number, first, last, total)

    def leave(self, number: int) -> None:
        """Tells the progress that the part is complete."""
        if self._progress is not None:
            self._progress.leave(number)

    def _after(self, rows: int) -> int:
        """The size after a window of ``rows``; grows slowly at first, as a caller may stop."""
        first = self._limits.first_window
        return min(8 * rows, first) if rows < first else 2 * rows
