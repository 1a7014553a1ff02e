"""A join whose rows stay on the device, in windows that fit the memory."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from gpugda.device.launch.join import Table
from gpugda.match.launch_size import LaunchSize, first_window
from gpugda.match.windowed_join import WindowedJoin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.plan.variables import Variable

__all__ = ["DeviceWindows", "Source"]

_FIRST_WINDOW = 1 << 18
"""Rows of the first window: a caller that needs few rows must not wait for many."""
_FIRST_COUNT_WINDOW = 1 << 15
_LARGEST_WINDOW = 1 << 24
_LARGEST_LAST_WINDOW = 1 << 22
_LONGEST_SECONDS = 0.2
"""Seconds per window above which windows shrink: deadlines and others wait for its end."""


class _Step(Protocol):
    @property
    def variables(self) -> Sequence[Variable]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What a step found for a table, or for a part of it.

    Args:
        total: The number of new rows.
        write: Writes a window of them to a table.
        release: Frees what was found.
    """

    total: int
    write: Callable[[tuple[int, int], Table], None]
    release: Callable[[], None] = lambda: None


class DeviceWindows(WindowedJoin[Table]):
    """Extends windows of rows step by step; a subclass finds the rows of a step.

    Args:
        run: The query's run.
        steps: The steps, at least one.
        words: The encoding of each step for its kernel.

    Attributes:
        bytes_to_extend: Bytes that a row takes while the next step extends it.
    """

    bytes_to_extend: ClassVar[int]

    def __init__(self, run: Run, steps: Sequence[_Step], words: Sequence[Sequence[int]]) -> None:
        super().__init__(len(steps))
        self._run = run
        self._columns = [each.variables for each in steps]
        self._places = np.cumsum([0, *map(len, words)]).tolist()
        encoded = np.array([word for each in words for word in each], dtype=np.uint32)
        self._words = run.workspace.upload(encoded, "steps of the join")
        self._sizes = self._launch_sizes(_FIRST_WINDOW)

    @abstractmethod
    def sources(self, number: int, table: Table) -> Iterator[Source]:
        """Yields what a step finds for a table, part by part."""

    def starts(self) -> Iterator[tuple[int, Table]]:
        """Yields initial tables, each with the number of the step that extends it."""
        yield 0, Table(None, 1, 0)

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of the last table hold."""
        return self._columns[-1]

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `Cursor.tables`."""
        first = _FIRST_WINDOW if enough is None else first_window(enough, _FIRST_WINDOW)
        self._sizes = self._launch_sizes(first)
        for number, table in self.starts():
            yield from self.rows_from(number, table)

    def counts(self, first: int | None = None) -> Iterator[int]:
        """See `Cursor.counts`; ``first``: rows of the first window."""
        self._sizes = self._launch_sizes(first or _FIRST_COUNT_WINDOW)
        for number, table in self.starts():
            yield from self.counts_from(number, table)

    def made(self, number: int, table: Table) -> Iterator[Table]:
        """See `WindowedJoin.made`."""
        workspace, width = self._run.workspace, len(self._columns[number])
        for source in self.sources(number, table):
            low = 0
            while low < source.total:
                self._run.check_deadline()
                started = time.perf_counter()
                high = min(low + self._window(number), source.total)
                values = None
                if width:
                    size = (high - low) * width
                    values = workspace.allocate(size, np.uint32, "partial embeddings")
                    source.write((low, high), Table(values, high - low, width))
                yield Table(values, high - low, width)
                workspace.release(values)
                self.record(number, high - low, time.perf_counter() - started)
                low = high
            source.release()

    def totals(self, number: int, table: Table) -> Iterator[int]:
        """See `WindowedJoin.totals`."""
        for source in self.sources(number, table):
            source.release()
            yield source.total

    def record(self, number: int, size: int, seconds: float) -> None:
        """Records how long a step's window took, with all later steps; the last one's may grow."""
        self._sizes[number].record(size, 0.0 if number == len(self.rows) - 1 else seconds)

    def share(self, number: int) -> int:
        """Bytes that a step may take for its rows, and again for what it finds."""
        return self._run.workspace.available // (2 * (len(self.rows) - number))

    def step_words(self, number: int) -> tuple[DeviceArray, int]:
        """The array that encodes a step, and where."""
        return self._words, self._places[number]

    def _launch_sizes(self, first: int) -> list[LaunchSize]:
        most = [_LARGEST_WINDOW] * (len(self.rows) - 1) + [_LARGEST_LAST_WINDOW]
        return [LaunchSize(first, each, _LONGEST_SECONDS) for each in most]

    def _window(self, number: int) -> int:
        """Maximum rows of a step's window: its share of the memory, at most the grown size."""
        width = len(self._columns[number])
        row_bytes = 4 * width + (self.bytes_to_extend if number < len(self.rows) - 1 else 0)
        longest = self._run.graph.context.info.max_allocation_bytes // max(4 * width, 8)
        return max(
            1, min(self._sizes[number].size, longest, self.share(number) // max(row_bytes, 1))
        )
