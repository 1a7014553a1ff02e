"""What an operator is: a node of the tree that runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gpugda.execute.context import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext

__all__ = ["Operator"]


class Operator(ABC):
    """Gives batches of rows when it is pulled; what leaves early frees everything below.

    Attributes:
        children: The operators whose rows it takes.
        columns: Names of the columns that it gives, in order.
    """

    children: tuple[Operator, ...] = ()
    columns: tuple[str, ...] = ()
    estimate: float | None = None

    def batches(self, context: ExecutionContext) -> Iterator[Batch]:
        """The rows; how many there were and how long they took is noted in the context."""
        measured = context.measured.setdefault(id(self), Measured())
        made = self._batches(context)
        try:
            while True:
                started = time.perf_counter()
                batch = next(made, None)
                measured.seconds += time.perf_counter() - started
                if batch is None:
                    return
                context.check()
                measured.rows += batch.row_count
                yield batch
        finally:
            close = getattr(made, "close", None)
            if close is not None:
                close()

    @abstractmethod
    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        """The rows."""

    @abstractmethod
    def describe(self) -> str:
        """What it does, in one line."""
