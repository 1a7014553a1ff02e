"""What an operator is: a node of the tree that runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gpugda.execute.batch import Batch
from gpugda.execute.context import Measured
from gpugda.expressions.operands import Constant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext

__all__ = ["Operator"]


class Operator(ABC):
    """Gives batches of rows when it is pulled; what leaves early frees everything below.

    Attributes:
        children: The operators whose rows it takes.
        columns: Names of the columns that it gives, in order.
        adds_no_rows: Is each row that it gives one of its only child's, and no two the same one?
    """

    children: tuple[Operator, ...] = ()
    columns: tuple[str, ...] = ()
    adds_no_rows = False

    def once_each(self) -> frozenset[str]:
        """Nodes and relationships of which surely no two rows hold the same, by name."""
        return self.children[0].once_each() if self.adds_no_rows else frozenset()

    def expected_rows(self) -> float | None:
        """Rows that it is expected to give; None where nobody knows."""
        return None

    def choose(self, graph: DataGraph, strategy: str) -> None:
        """What it or what is below it does in one of two ways is done as fits the graph."""
        for child in self.children:
            child.choose(graph, strategy)

    def batches(self, context: ExecutionContext) -> Generator[Batch]:
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

    def nothing(self) -> Batch:
        """No rows of it, for whoever reads none."""
        return Batch(0, {name: Constant(None) for name in self.columns})

    @abstractmethod
    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        """The rows."""

    @abstractmethod
    def describe(self) -> str:
        """What it does, in one line."""
