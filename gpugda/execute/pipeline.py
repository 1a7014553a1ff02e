"""The operator tree of a query, and its execution."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from gpugda.caching import LruCache
from gpugda.deadline import check_deadline
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.execute.batch import joined
from gpugda.execute.context import ExecutionContext, Measured
from gpugda.execute.lower import lower
from gpugda.execute.memory import ResultMemory
from gpugda.execute.operators.match import PatternOperator
from gpugda.execute.result_table import ResultTable
from gpugda.expressions.context import one_statement
from gpugda.expressions.functions import find_aggregate, find_function
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.plan.building.build import build_query
from gpugda.plan.cost import CPU_DEVICE, LOCAL_SERVER
from gpugda.plan.facts import Facts
from gpugda.plan.operator_tree import OperatorNode
from gpugda.plan.optimizer import optimise
from gpugda.plan.plan_basis import PlanBasis
from gpugda.query import ast
from gpugda.query.prepare import check_parameters
from gpugda.query.walk import walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.execute.operator import Operator
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.exchange import Exchange
    from gpugda.match.matcher import Matcher
    from gpugda.plan.cost import DeviceRates, ServerRates
    from gpugda.plan.physical import Physical, PhysicalPlan
    from gpugda.plan.plan import Plan
    from gpugda.query.query_graph import Query
    from gpugda.query.reads import KindAndName
    from gpugda.query.statement import Statement
    from gpugda.types import Span

__all__ = [
    "KeptPhysical",
    "Pipeline",
    "QueryPlan",
    "make_pipeline",
    "one_pattern",
    "plan_of",
]

_PRICED: Final = 8
"""Physical plans kept for a query alone: for other rates, or other sizes of its parameters."""


@value(frozen=True, slots=True, eq=False)
class Pipeline:
    """The operators of a query.

    Args:
        query: The query.
        root: The root operator.
        columns: Names of its output columns, in order.
        one_pattern: The query, if it is one pattern with one projection.
        subqueries: Operators of subqueries in expressions, filled during runs.
    """

    query: Statement
    root: Operator
    columns: tuple[str, ...]
    one_pattern: Query | None = None
    subqueries: dict[object, Any] = field(default_factory=dict)

    def run(
        self,
        graph: DataGraph,
        strategy: Matcher,
        values: Mapping[str, Any],
        report: StrategyReport,
        deadline: float | None = None,
        exchange: Exchange | None = None,
    ) -> ResultTable:
        """Computes all rows. Fills ``report`` with stage times and steps.

        Args:
            graph: The data graph.
            strategy: The matcher on the graph's device.
            values: Parameter values by name.
            report: Filled during the run.
            deadline: Time of ``time.monotonic``.
            exchange: Divides patterns between several places; None if there is only one.

        Raises:
            CypherTypeError: An operation is not defined for the type of a value.
            DeviceError: The device failed.
            MemoryLimitError: The query does not fit in the memory limit.
            ParameterMissingError: A parameter has no value.
            QueryTimeoutError: The deadline passed.
        """
        started, before = time.perf_counter(), sum(report.timings.values())
        context = self._context(graph, strategy, values, report, deadline, exchange)
        room = ResultMemory(copied=False)
        batches: list[Batch] = []
        with one_statement(), closing(self.root.batches(context)) as found:
            for batch in found:
                batches.append(batch.expanded())
                room.add(batches[-1])
        rows = joined(batches, self.columns)
        columns = tuple(as_column(rows.columns[n], rows.row_count) for n in self.columns)
        self._tell(report, context, values)
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
        exchange: Exchange | None,
    ) -> ExecutionContext:
        text = self.query.text
        parameters = Parameters(values, text)
        used = sorted(self.query.parameters)
        known = {name: self._parameter(name, parameters) for name in used if name in values}
        check_parameters(self.query.tree, known)
        for name in used:
            self._parameter(name, parameters)
        for name in values:
            parameters.get(name)  # the driver refuses such values even if the query has no use
        context = ExecutionContext(
            graph,
            strategy,
            values,
            parameters,
            text,
            report,
            deadline,
            one_pattern=self.one_pattern is not None,
            exchange=exchange,
        )
        if context.one_pattern:  # has no subqueries in expressions
            return context
        from gpugda.execute.subqueries import Subqueries  # not needed by most short queries

        return replace(context, subqueries=Subqueries(context, self.subqueries, self.query.version))

    def _parameter(self, name: str, parameters: Parameters) -> Any:
        try:
            return parameters.get(name)
        except QueryError:
            return parameters.get(name, _span_of(name, self.query))  # the same, with a position

    def _tell(
        self, report: StrategyReport, context: ExecutionContext, values: Mapping[str, Any]
    ) -> None:
        measured = context.measured
        for each in measured.values():
            if each.report is report:  # break the reference cycle, so both are freed at once
                each.report = report.copy()
        of = self.root, context.graph, context.strategy.name
        report.operators = tree = partial(_measured_tree, *of, values, measured)
        if self.one_pattern is not None:
            return
        for each in measured.values():
            if each.report is not None:
                report.memory.note(each.report.memory.bytes)
        report.steps.add_later(lambda: str(tree()).splitlines())


def make_pipeline(statement: Statement) -> Pipeline:
    """The operator tree of a query.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    _check_functions(statement)
    try:
        made = build_query(statement.tree, has_subqueries=statement.has_subqueries)
        root, one = lower(optimise(made.tree, Facts()), made.columns, statement.text)
    except RecursionError:
        message = "a query with this many clauses is not supported by this engine"
        raise UnsupportedQueryError(message, construct="too many clauses") from None
    return Pipeline(statement, root, made.columns, one)


def one_pattern(statement: Statement) -> Query | None:
    """The query as one pattern with one projection; None if it is more.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    return make_pipeline(statement).one_pattern


def _check_functions(statement: Statement) -> None:
    for call in statement.calls:
        name = call.name.lower()
        if find_aggregate(name) is None and name != "exists" and find_function(name, 25) is None:
            construct = f"function {call.name}()"
            message = f"{construct} is not supported by this engine"
            raise UnsupportedQueryError(message, statement.text, call.span, construct=construct)


def _span_of(parameter: str, query: Statement) -> Span | None:
    """Position of the first use of a parameter."""
    nodes = walk(query.tree)
    spans = (n.span for n in nodes if isinstance(n, ast.Parameter) and n.name == parameter)
    return next(spans, None)


@dataclass(slots=True, eq=False)
class KeptPhysical:
    """A physical plan, and the facts that it rests on; later states use it while they hold."""

    plan: tuple[PlanBasis, PhysicalPlan] | None = None


@value(frozen=True, slots=True, eq=False)
class QueryPlan:
    """How a query is answered on one data graph.

    Args:
        pipeline: Its operators.
        graph: The data graph.
        strategy: Name of the strategy that matches its patterns.
        patterns: The plan of each of its patterns.
        names: Names in the query that the graph may not know; computed by its first run.
        kept: Physical plans; states of a graph share them.
    """

    pipeline: Pipeline
    graph: DataGraph
    strategy: str
    patterns: tuple[Plan, ...]
    names: LruCache[None, Collection[KindAndName]] = field(default_factory=lambda: LruCache(1))
    kept: LruCache[object, KeptPhysical] = field(default_factory=lambda: LruCache(_PRICED))

    @property
    def pattern(self) -> Plan:
        """The plan of its only pattern."""
        (plan,) = self.patterns
        return plan

    @property
    def shape(self) -> tuple[int, int]:
        """Query nodes and relationships of its largest pattern."""
        graphs = [plan.bound.query.graph for plan in self.patterns]
        sizes = [(len(each.nodes), len(each.relationships)) for each in graphs]
        return max(sizes, key=lambda size: size[1], default=(0, 0))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the user, each once."""
        return tuple(dict.fromkeys(line for plan in self.patterns for line in plan.warnings))

    @property
    def declined(self) -> str:
        """Why the strategy cannot answer; empty if it can."""
        return next((plan.declined for plan in self.patterns if plan.declined), "")

    def physical(
        self,
        device: DeviceRates = CPU_DEVICE,
        server: ServerRates = LOCAL_SERVER,
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> PhysicalPlan:
        """The operators with expected rows and costs, at these rates and parameters."""
        from gpugda.execute.sizing import parameter_sizes, physical_plan  # runs need neither

        sizes = parameter_sizes(values)
        key = self.pipeline.query.text, self.strategy, device, server, frozenset(sizes.items())
        kept = self.kept.get(key, KeptPhysical)
        found = kept.plan
        if found is None or not found[0].holds_for(self.graph):
            of = self.pipeline.root, self.graph, self.strategy
            found = PlanBasis.of(self.graph), physical_plan(*of, device, server, sizes)
            kept.plan = found
        return found[1]


def plan_of(
    query: Statement,
    graph: DataGraph,
    strategy: str,
    pipeline: Pipeline | None = None,
    kept: LruCache[object, KeptPhysical] | None = None,
) -> QueryPlan:
    """The plan of a query.

    Args:
        query: The query.
        graph: The data graph.
        strategy: Name of the strategy.
        pipeline: The operators of the query, if they were made for another state of the graph.
        kept: Physical plans of earlier states of the graph.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    pipeline = pipeline or make_pipeline(query)
    pipeline.root.choose(graph, strategy)
    plans = [operator.plan_on(graph, strategy) for operator in _patterns(pipeline.root)]
    made = QueryPlan(pipeline, graph, strategy, tuple(plans))
    return made if kept is None else replace(made, kept=kept)


def _patterns(operator: Operator) -> Iterator[PatternOperator]:
    if isinstance(operator, PatternOperator):
        yield operator
    for child in operator.children:
        yield from _patterns(child)


def _measured_tree(
    root: Operator,
    graph: DataGraph,
    strategy: str,
    values: Mapping[str, Any],
    measured: Mapping[int, Measured],
) -> OperatorNode:
    from gpugda.execute.sizing import parameter_sizes, sized  # runs need neither

    return _node(root, sized(root, graph, strategy, parameter_sizes(values)).physical, measured)


def _node(operator: Operator, physical: Physical, measured: Mapping[int, Measured]) -> OperatorNode:
    pairs = zip(operator.children, physical.children, strict=True)
    children = tuple(_node(child, below, measured) for child, below in pairs)
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
    return OperatorNode(physical.what, physical.rows, rows, seconds, steps, children, taken)
