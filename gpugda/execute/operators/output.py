"""A projection of one pattern: counts, groups and top rows come from the join itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.batch import Batch
from gpugda.execute.gpu import run_on_device
from gpugda.execute.needs import need_of
from gpugda.execute.operators.pattern import PatternOperator, pattern_text
from gpugda.plan.planned_operators import expected_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan
    from gpugda.query.query_graph import Query

__all__ = ["Output"]


class Output(PatternOperator):
    """The rows of a query of one pattern and one projection."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self.columns = tuple(column.name for column in query.columns)

    @property
    def query(self) -> Query:
        """With its projection."""
        return self._query

    def expected_rows(self, plan: Plan) -> float | None:
        """Of its projection."""
        return expected_rows(plan)

    def need(self, bound: BoundQuery) -> Need:
        """Counts, groups or rows."""
        return need_of(self._query, bound)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        table = run_on_device(
            self.plan_on(context.graph, context.strategy.name),
            context.graph,
            context.strategy,
            context.values,
            context.report_of(self),
            context.deadline,
        )
        yield Batch(table.row_count, dict(zip(table.names, table.columns, strict=True)))

    def describe(self) -> str:
        """With the pattern."""
        return pattern_text(self.query.graph)
