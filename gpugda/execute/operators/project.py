"""Computes columns: of expressions, and paths of node and relationship columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import Batch, in_pieces
from gpugda.execute.operator import Operator, text_of
from gpugda.execute.operators.aggregate import Aggregate
from gpugda.execute.operators.slice import Slice
from gpugda.execute.seeds import entity_column
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.lists import path_column
from gpugda.expressions.operands import as_column
from gpugda.query.ast import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.operands import Operand
    from gpugda.query.query_graph import OutputColumn


__all__ = ["BindPath", "Project"]


class Project(Operator):
    """Replaces or extends the columns of rows.

    Args:
        child: Input rows.
        items: The computed columns.
        keeps: True if the input's columns are kept.
        hidden: Names of input columns that sort keys still read.
    """

    def __init__(
        self,
        child: Operator,
        items: tuple[OutputColumn, ...],
        *,
        keeps: bool = False,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.children = (child,)
        self.items = items
        self.keeps = keeps
        self.hidden = hidden
        own = tuple(item.name for item in items)
        before = tuple(n for n in child.columns if n not in own) if keeps else ()
        self._passed = {i.name: i.expression for i in items if isinstance(i.expression, Variable)}
        self._named = {each.name for each in self._passed.values()}
        self.columns = (*before, *own)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            made = self._made(batch, context)
            before = {**batch.columns} if self.keeps else batch.carried
            hidden = {name: batch.columns[name] for name in self.hidden if name in batch.columns}
            columns = {**before, **made} if self.keeps else {**made, **before}
            there = self._named.union(before.keys() - made.keys())
            distinct = batch.distinct and there.issuperset(batch.columns)
            yield Batch(batch.row_count, columns, batch.weights, hidden=hidden, distinct=distinct)

    def _made(self, batch: Batch, context: ExecutionContext) -> dict[str, Operand]:
        environment = context.environment(batch)
        return {item.name: evaluate_operand(item.expression, environment) for item in self.items}

    def distinct_variables(self) -> frozenset[str]:
        """Those of its input, under their new names."""
        below = self.children[0].distinct_variables()
        kept = below.intersection(self.columns) if self.keeps else frozenset()
        named = {name for name, each in self._passed.items() if each.name in below}
        return kept.difference(item.name for item in self.items) | named

    def describe(self) -> str:
        """Describes the columns."""
        return f"project {', '.join(map(self._shown, self.items)) or 'no columns'}"

    def _shown(self, item: OutputColumn) -> str:
        child = self.children[0]
        if isinstance(child, Slice):
            (child,) = child.children
        keys = child.keys if isinstance(child, Aggregate) else ()
        aggregates = child.aggregates if isinstance(child, Aggregate) else ()
        text = text_of(item.expression, keys=keys, aggregates=aggregates)
        return text if text == item.name else f"{text} AS {item.name}"


class BindPath(Operator):
    """Adds a column of paths; a path is null if any of its parts is."""

    def __init__(self, child: Operator, name: str, start: str, steps: tuple[str, ...]) -> None:
        self.children = (child,)
        self.columns = (*child.columns, name)
        self.name = name
        self.start = start
        self.steps = steps

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in in_pieces(self.children[0].batches(context), context.enough):
            start = entity_column(batch.columns[self.start], batch.row_count, is_node=True)
            steps = [as_column(batch.columns[name], batch.row_count) for name in self.steps]
            known = [each.valid for each in (start, *steps) if each.valid is not None]
            valid = np.logical_and.reduce(known) if known else None
            made = path_column(context.graph, start.values, steps, valid)
            yield batch.adding({self.name: made})

    def describe(self) -> str:
        """Describes the column."""
        return f"path {self.name}"
