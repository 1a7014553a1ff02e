"""The base class of operators, the nodes of the tree that runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gpugda.execute.batch import Batch
from gpugda.execute.context import Measured
from gpugda.expressions.operands import Constant
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.query.render import expression_text
from gpugda.query.shapes import rewrite

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext


__all__ = ["Operator", "text_of"]


def text_of(
    expression: ast.Expression,
    *,
    keys: Sequence[ast.Expression] = (),
    aggregates: Sequence[ast.Expression] = (),
    columns: Sequence[str] = (),
) -> str:
    """An expression as Cypher, with references replaced by what they refer to."""

    def meant(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, KeyReference):
            return keys[part.position]
        if isinstance(part, AggregateReference):
            return aggregates[part.position]
        if isinstance(part, ColumnReference):
            return ast.Variable(part.span, columns[part.position])
        return None

    return expression_text(rewrite(expression, meant)).replace("\0", "_")


class Operator(ABC):
    """Produces batches of rows on demand; closing its generator early releases all inputs.

    Attributes:
        children: The operators that provide its input rows.
        columns: Names of its output columns, in order.
        adds_no_rows: True if each output row is a row of its only child, and none comes twice.
    """

    children: tuple[Operator, ...] = ()
    columns: tuple[str, ...] = ()
    adds_no_rows = False

    def distinct_variables(self) -> frozenset[str]:
        """Names of nodes and relationships that are certainly distinct over all rows."""
        return self.children[0].distinct_variables() if self.adds_no_rows else frozenset()

    def choose(self, graph: DataGraph, strategy: str) -> None:
        """Chooses, here and in all inputs, between plan alternatives for the graph."""
        for child in self.children:
            child.choose(graph, strategy)

    def batches(self, context: ExecutionContext) -> Generator[Batch]:
        """Yields the rows; records row count and time in the context."""
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
        """An empty batch with its columns."""
        return Batch(0, {name: Constant(None) for name in self.columns})

    @abstractmethod
    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        """Yields the rows."""

    @abstractmethod
    def describe(self) -> str:
        """Describes the operator in one line."""
