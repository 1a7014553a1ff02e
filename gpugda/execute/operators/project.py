"""Computes columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.batch import Batch
from gpugda.execute.display import text_of
from gpugda.execute.nan_identity import creates_nans, evaluate_owned
from gpugda.execute.operator import Operator
from gpugda.execute.operators.aggregate import Aggregate
from gpugda.execute.operators.slice import Slice
from gpugda.query.ast import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.operands import Operand
    from gpugda.query.query_graph import OutputColumn

__all__ = ["Project"]


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
        self._owners = child.distinct_variables()
        self.columns = (*before, *own)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            made = self._made(batch, context)
            if batch.weights is not None and self._creates_nans(made):
                batch = batch.expanded()
                made = self._made(batch, context)
            before = {**batch.columns} if self.keeps else batch.carried
            hidden = {name: batch.columns[name] for name in self.hidden if name in batch.columns}
            columns = {**before, **made} if self.keeps else {**made, **before}
            there = self._named.union(before.keys() - made.keys())
            distinct = batch.distinct and there.issuperset(batch.columns)
            yield Batch(batch.row_count, columns, batch.weights, hidden=hidden, distinct=distinct)

    def _made(self, batch: Batch, context: ExecutionContext) -> dict[str, Operand]:
        environment = context.environment(batch)
        return {
            item.name: evaluate_owned(item.expression, environment, self._owners)
            for item in self.items
        }

    def distinct_variables(self) -> frozenset[str]:
        """Those of its input, under their new names."""
        kept = (
            {name: name for name in self._owners.intersection(self.columns)} if self.keeps else {}
        )
        kept |= {name: each.name for name, each in self._passed.items()}
        return frozenset(name for name, before in kept.items() if before in self._owners)

    def _creates_nans(self, made: dict[str, Operand]) -> bool:
        """True if a row creates a NaN: equal rows with a weight would create several."""
        return any(creates_nans(each.expression, made[each.name]) for each in self.items)

    def expected_rows(self) -> float | None:
        """The estimate of its input."""
        return self.children[0].expected_rows()

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
