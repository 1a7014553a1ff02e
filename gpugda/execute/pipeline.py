"""A query's operators, and one run of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpugda.execute.batch import joined
from gpugda.execute.context import ExecutionContext, Measured
from gpugda.execute.lower import lower
from gpugda.execute.result_table import ResultTable
from gpugda.execute.subqueries import Subqueries
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.plan.build import build_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.operator import Operator
    from gpugda.match.embeddings import Strategy, StrategyReport
    from gpugda.query.statement import Statement

__all__ = ["Pipeline", "make_pipeline"]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """The operators of a query on one data graph; kept with the graph.

    Args:
        statement: The query.
        root: Gives its rows.
        columns: Their columns, in order.
        subqueries: Operators of subqueries in expressions, filled while running.
    """

    statement: Statement
    root: Operator
    columns: tuple[str, ...]
    subqueries: dict[object, Any] = field(default_factory=dict)

    def run(
        self,
        graph: DataGraph,
        strategy: Strategy,
        values: Mapping[str, Any],
        report: StrategyReport,
        deadline: float | None = None,
    ) -> ResultTable:
        """All rows.

        Raises:
            As `gpugda.execute.gpu.run_on_device`.
        """
        text = self.statement.text
        parameters = Parameters(values, text)
        for name in sorted(self.statement.parameters):
            parameters.get(name)
        context = ExecutionContext(graph, strategy, values, parameters, text, report, deadline)
        runner = Subqueries(context, self.subqueries)
        context = runner.context = replace(context, subqueries=runner)
        batches = [batch.expanded() for batch in self.root.batches(context)]
        found = joined(batches, self.columns)
        for line in self.described(context.measured):
            report.steps.append(line)
        columns = tuple(as_column(found.columns[n], found.row_count) for n in self.columns)
        return ResultTable(self.columns, columns, found.row_count, graph)

    def described(self, measured: Mapping[int, Measured] | None = None) -> tuple[str, ...]:
        """The tree in lines, inputs below what reads them; with what was measured."""
        return tuple(_lines(self.root, measured or {}, 0))


def make_pipeline(statement: Statement) -> Pipeline:
    """The operators of a query.

    Raises:
        UnsupportedQueryError: It holds a construct that is not answered here.
    """
    made = build_query(statement.tree)
    return Pipeline(statement, lower(made.tree, made.columns, statement.text), made.columns)


def _lines(operator: Operator, measured: Mapping[int, Measured], depth: int) -> list[str]:
    line = "  " * depth + operator.describe()
    found = measured.get(id(operator))
    if found is not None:
        line += f": {found.rows:,} rows, {found.seconds * 1000:,.1f} ms"
    lines = [line]
    for child in operator.children:
        lines += _lines(child, measured, depth + 1)
    return lines
