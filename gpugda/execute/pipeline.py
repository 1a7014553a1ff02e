"""A query's operators, and one run of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpugda.errors import UnsupportedQueryError
from gpugda.execute.batch import joined
from gpugda.execute.context import ExecutionContext, Measured
from gpugda.execute.lower import lower
from gpugda.execute.operators.pattern import PatternOperator
from gpugda.execute.result_table import ResultTable
from gpugda.execute.subqueries import Subqueries
from gpugda.expressions.context import one_statement
from gpugda.expressions.functions import find_aggregate, find_function
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.build import build_query
from gpugda.plan.operator_tree import OperatorNode
from gpugda.query import ast
from gpugda.query.query_graph import Query, QueryGraph
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.operator import Operator
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan
    from gpugda.query.statement import Statement

__all__ = ["Pipeline", "make_pipeline", "plan_of_statement"]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """The operators of a query on one data graph; kept with the graph.

    Args:
        statement: The query.
        root: Gives its rows.
        columns: Their columns, in order.
        subqueries: Operators of subqueries in expressions, filled while running.
        expected: Rows expected of operators that match patterns.
    """

    statement: Statement
    root: Operator
    columns: tuple[str, ...]
    subqueries: dict[object, Any] = field(default_factory=dict)
    expected: dict[int, float] = field(default_factory=dict)

    def run(
        self,
        graph: DataGraph,
        strategy: Matcher,
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
        for typed in self.statement.typed_parameters:
            parameters.check_type(typed)
        for name in sorted(self.statement.parameters):
            parameters.get(name)
        context = ExecutionContext(graph, strategy, values, parameters, text, report, deadline)
        runner = Subqueries(context, self.subqueries)
        context = runner.context = replace(context, subqueries=runner)
        with one_statement():
            batches = [batch.expanded() for batch in self.root.batches(context)]
        found = joined(batches, self.columns)
        for measured in context.measured.values():
            if measured.report is not None:
                report.memory.note(measured.report.memory.bytes)
        report.operators = tree = self.tree(context.measured)
        report.steps.add_later(lambda: str(tree).splitlines())
        columns = tuple(as_column(found.columns[n], found.row_count) for n in self.columns)
        return ResultTable(self.columns, columns, found.row_count, graph)

    def tree(self, measured: Mapping[int, Measured] | None = None) -> OperatorNode:
        """The operators, with what was measured if they ran."""
        return _node(self.root, measured or {}, self.expected)

    def described(self) -> tuple[str, ...]:
        """The tree in lines, inputs below what reads them."""
        return tuple(str(self.tree()).splitlines())


def make_pipeline(statement: Statement) -> Pipeline:
    """The operators of a query.

    Raises:
        UnsupportedQueryError: It holds a construct that is not answered here.
    """
    _check_functions(statement)
    made = build_query(statement.tree)
    return Pipeline(statement, lower(made.tree, made.columns, statement.text), made.columns)


def _check_functions(statement: Statement) -> None:
    for node in walk(statement.tree):
        if not isinstance(node, ast.FunctionCall):
            continue
        known = find_function(node.name, 25) or find_aggregate(node.name)
        if known is None and node.name.lower() != "exists":
            construct = f"function {node.name}()"
            message = f"{construct} is not supported by this engine"
            raise UnsupportedQueryError(message, statement.text, node.span, construct=construct)


def plan_of_statement(statement: Statement, graph: DataGraph, strategy: str) -> Plan:
    """The plan of the pattern that is expected to cost most, with the operators of the query.

    Raises:
        UnsupportedQueryError: It holds a construct that is not answered here.
    """
    pipeline = make_pipeline(statement)
    plans = []
    for operator in _patterns(pipeline.root):
        plans.append(operator.plan_on(graph, strategy))
        rows = operator.expected_rows(plans[-1])
        if rows is not None:
            pipeline.expected[id(operator)] = rows
    empty = Query(statement.text, QueryGraph((), ()), ())
    if not plans:
        plans = [plan_pattern(bind(empty, graph), graph.statistics, strategy, Count())]
    main = max(plans, key=lambda plan: sum(step.cardinality for step in plan.steps))
    warnings = tuple(dict.fromkeys(line for plan in plans for line in plan.warnings))
    declined = next((plan.declined for plan in plans if plan.declined), "")
    return replace(main, pipeline=pipeline, warnings=warnings, declined=declined)


def _patterns(operator: Operator) -> Iterator[PatternOperator]:
    if isinstance(operator, PatternOperator):
        yield operator
    for child in operator.children:
        yield from _patterns(child)


def _node(
    operator: Operator, measured: Mapping[int, Measured], expected: Mapping[int, float]
) -> OperatorNode:
    children = tuple(_node(child, measured, expected) for child in operator.children)
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
        operator.describe(), expected.get(id(operator)), rows, seconds, steps, children, taken
    )
