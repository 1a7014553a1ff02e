"""The loop of every join: extends partial embeddings step by step, window by window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WindowedJoin"]


class _Table(Protocol):
    @property
    def row_count(self) -> int: ...


T = TypeVar("T", bound=_Table)


class WindowedJoin(ABC, Generic[T]):
    """Extends windows of partial embeddings; a subclass makes the windows of a step.

    Args:
        steps: The number of steps.

    Attributes:
        rows: Number of rows that each step has made.
        windows: Number of windows that each step has made.
    """

    def __init__(self, steps: int) -> None:
        self.rows = [0] * steps
        self.windows = [0] * steps

    @abstractmethod
    def made(self, number: int, table: T) -> Iterator[T]:
        """Yields the windows of rows that a step makes from a table.

        Continues when all later steps of a window are done: then its memory is free again.
        """

    @abstractmethod
    def totals(self, number: int, table: T) -> Iterator[int]:
        """Yields partial numbers of the rows that the last step would make from a table."""

    def complete(self, table: T) -> Iterator[T]:
        """Yields a table of full embeddings."""
        yield table

    def rows_from(self, number: int, table: T) -> Iterator[T | None]:
        """Yields the full embeddings of a table, from a step on; None when others may launch."""
        if number == len(self.rows):
            yield from self.complete(table)
            return
        for window in self.noted(number, table):
            if number + 1 < len(self.rows):
                yield None
            yield from self.rows_from(number + 1, window)

    def counts_from(self, number: int, table: T) -> Iterator[int]:
        """Yields partial numbers of the full embeddings; the last step makes no rows."""
        if number == len(self.rows):
            yield table.row_count
        elif number == len(self.rows) - 1:
            for total in self.totals(number, table):
                self.rows[number] += total
                yield total
        else:
            for window in self.noted(number, table):
                yield 0
                yield from self.counts_from(number + 1, window)

    def noted(self, number: int, table: T) -> Iterator[T]:
        """As `made`; adds to the numbers of rows and windows."""
        for window in self.made(number, table):
            self.rows[number] += window.row_count
            self.windows[number] += 1
            yield window
