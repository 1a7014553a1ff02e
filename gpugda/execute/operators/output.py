"""A projection of one pattern: counts, groups and top rows come from the join itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.batch import Batch
from gpugda.execute.gpu import run_on_device
from gpugda.execute.operator import Operator
from gpugda.plan.bind import bind
from gpugda.plan.matching_order import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.plan import Plan
    from gpugda.query.query_graph import Query

__all__ = ["Output"]


class Output(Operator):
    """The rows of a query of one pattern and one projection."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.columns = tuple(column.name for column in query.columns)
        self._plan: tuple[object, str, Plan] | None = None

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        table = run_on_device(
            self.plan(context),
            context.graph,
            context.strategy,
            context.values,
            context.report_of(self),
            context.deadline,
        )
        yield Batch(table.row_count, dict(zip(table.names, table.columns, strict=True)))

    def plan(self, context: ExecutionContext) -> Plan:
        """How the pattern is matched; kept for the next run on the same graph."""
        graph, name = context.graph, context.strategy.name
        if self._plan is None or self._plan[0] is not graph or self._plan[1] != name:
            plan = make_plan(bind(self.query, graph), graph.statistics, name)
            self._plan = (graph, name, plan)
        return self._plan[2]

    def describe(self) -> str:
        """With the pattern."""
        lines = self.query.graph.to_cypher().splitlines()
        return " ".join(line for line in lines if not line.startswith("RETURN"))
