"""The operator tree of a query, and its execution."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_deadline
from gpugda.errors import QueryError
from gpugda.execute.batch import joined
from gpugda.execute.context import ExecutionContext, Measured
from gpugda.execute.lower_query import lower_query
from gpugda.execute.memory import ResultMemory
from gpugda.execute.operators.pattern import PatternOperator
from gpugda.execute.result_table import ResultTable
from gpugda.expressions.context import one_statement
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.operator_tree import OperatorNode
from gpugda.query import ast
from gpugda.query.query_graph import Query, QueryGraph, nodes_of
from gpugda.query.statement import Statement
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.execute.operator import Operator
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan
    from gpugda.types import Span

__all__ = ["Pipeline", "make_pipeline", "plan_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """The operators of a query.

    Args:
        query: The query.
        root: The root operator.
        columns: Names of its output columns, in order.
        subqueries: Operators of subqueries in expressions, filled during runs.
    """

    query: Query | Statement
    root: Operator
    columns: tuple[str, ...]
    subqueries: dict[object, Any] = field(default_factory=dict)

    def run(
        self,
        graph: DataGraph,
        strategy: Matcher,
        values: Mapping[str, Any],
        report: StrategyReport,
        deadline: float | None = None,
    ) -> ResultTable:
        """Computes all rows. Fills ``report`` with stage times and steps.

        Args:
            graph: The data graph.
            strategy: The matcher on the graph's device.
            values: Parameter values by name.
            report: Filled during the run.
            deadline: Time of ``time.monotonic``.

        Raises:
            CypherTypeError: An operation is not defined for the type of a value.
            DeviceError: The device failed.
            MemoryLimitError: The query does not fit in the memory limit.
            ParameterMissingError: A parameter has no value.
            QueryTimeoutError: The deadline passed.
        """
        started, before = time.perf_counter(), sum(report.timings.values())
        context = self._context(graph, strategy, values, report, deadline)
        room = ResultMemory(copied=False)
        batches: list[Batch] = []
        with one_statement(), closing(self.root.batches(context)) as found:
            for batch in found:
                batches.append(batch.expanded())
                room.add(batches[-1])
        rows = joined(batches, self.columns)
        columns = tuple(as_column(rows.columns[n], rows.row_count) for n in self.columns)
        self._tell(report, context.measured)
        taken = time.perf_counter() - started - (sum(report.timings.values()) - before)
        report.timings["tail"] = report.timings.get("tail", 0.0) + max(0.0, taken)
        check_deadline(deadline)
        return ResultTable(self.columns, columns, rows.row_count, graph)

    def _context(
        self,
        graph: DataGraph,
        strategy: Matcher,
        values: Mapping[str, Any],
        report: StrategyReport,
        deadline: float | None,
    ) -> ExecutionContext:
        text = self.query.text
        parameters = Parameters(values, text)
        for typed in self.query.typed_parameters:
            parameters.check_type(typed)
        for name in sorted(self.query.parameters):
            try:
                parameters.get(name)
            except QueryError:
                parameters.get(name, _span_of(name, self.query))  # the same error with a position
        for name in values:
            parameters.get(name)  # the driver refuses such values even if the query has no use
        if isinstance(self.query, Query):  # has no subqueries in expressions
            return ExecutionContext(
                graph, strategy, values, parameters, text, report, deadline, one_pattern=True
            )
        context = ExecutionContext(graph, strategy, values, parameters, text, report, deadline)
        from gpugda.execute.subqueries import Subqueries  # as in `make_pipeline`

        return replace(context, subqueries=Subqueries(context, self.subqueries, self.query.version))

    def _tell(self, report: StrategyReport, measured: Mapping[int, Measured]) -> None:
        for each in measured.values():
            if each.report is report:  # break the reference cycle, so both are freed at once
                each.report = report.copy()
        report.operators = partial(self.tree, measured)
        if isinstance(self.query, Query):
            return
        for each in measured.values():
            if each.report is not None:
                report.memory.note(each.report.memory.bytes)
        report.steps.add_later(lambda: str(self.tree(measured)).splitlines())

    def tree(self, measured: Mapping[int, Measured] | None = None) -> OperatorNode:
        """The operator tree, with measurements if it ran."""
        return _node(self.root, measured or {})

    @property
    def pattern_count(self) -> int:
        """Number of operators that match a pattern."""
        return sum(1 for _ in _patterns(self.root))


def make_pipeline(statement: Query | Statement) -> Pipeline:
    """The operator tree of a query.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    if isinstance(statement, Query):
        columns = tuple(column.name for column in statement.columns)
        return Pipeline(statement, lower_query(statement), columns)
    from gpugda.execute.lower_statement import lower_statement  # most of the operators

    root, columns = lower_statement(statement)
    return Pipeline(statement, root, columns)


def _span_of(parameter: str, query: Query | Statement) -> Span | None:
    """Position of the first use of a parameter."""
    nodes = walk(query.tree) if isinstance(query, Statement) else nodes_of(query)
    spans = (n.span for n in nodes if isinstance(n, ast.Parameter) and n.name == parameter)
    return next(spans, None)


def plan_of(
    query: Query | Statement, graph: DataGraph, strategy: str, pipeline: Pipeline | None = None
) -> Plan:
    """The plan of the most expensive pattern by estimate, with the operators of the query.

    Args:
        query: The query.
        graph: The data graph.
        strategy: Name of the strategy.
        pipeline: The operators of the query, if they were made for another state of the graph.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    pipeline = pipeline or make_pipeline(query)
    pipeline.root.choose(graph, strategy)
    plans = [operator.plan_on(graph, strategy) for operator in _patterns(pipeline.root)]
    if not plans:
        empty = Query(query.text, QueryGraph((), ()), ())
        plans = [plan_pattern(bind(empty, graph), graph.statistics, strategy, Count())]
    if len(plans) == 1:
        return replace(plans[0], pipeline=pipeline)
    main = max(plans, key=lambda plan: sum(step.cardinality for step in plan.steps))
    warnings = tuple(dict.fromkeys(line for plan in plans for line in plan.warnings))
    declined = next((plan.declined for plan in plans if plan.declined), "")
    return replace(main, pipeline=pipeline, warnings=warnings, declined=declined)


def _patterns(operator: Operator) -> Iterator[PatternOperator]:
    if isinstance(operator, PatternOperator):
        yield operator
    for child in operator.children:
        yield from _patterns(child)


def _node(operator: Operator, measured: Mapping[int, Measured]) -> OperatorNode:
    children = tuple(_node(child, measured) for child in operator.children)
    found = measured.get(id(operator))
    rows: int | None = None
    seconds: float | None = None
    steps: tuple[str, ...] = ()
    taken: int | None = None
    if found is not None:
        inputs = [measured[id(c)].seconds for c in operator.children if id(c) in measured]
        rows, seconds = found.rows, max(0.0, found.seconds - sum(inputs))
        if found.report is not None:
            steps, taken = tuple(found.report.steps), found.report.memory.bytes
    return OperatorNode(
        operator.describe(), operator.expected_rows(), rows, seconds, steps, children, taken
    )
