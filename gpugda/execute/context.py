"""Run-time context of operators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_deadline
from gpugda.expressions.environment import Environment
from gpugda.expressions.operands import as_column
from gpugda.match.embeddings import StrategyReport
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Column
    from gpugda.execute.batch import Batch
    from gpugda.expressions.environment import SubqueryRunner
    from gpugda.expressions.operands import Operand
    from gpugda.expressions.parameters import Parameters
    from gpugda.match.exchange import Exchange
    from gpugda.match.matcher import Matcher

__all__ = ["ExecutionContext", "Measured"]


@dataclass(slots=True)
class Measured:
    """Measurements of an operator.

    Args:
        rows: Number of rows it returned.
        seconds: Time it took, including its inputs.
        report: What the device did for it.
    """

    rows: int = 0
    seconds: float = 0.0
    report: StrategyReport | None = None


@value(frozen=True, slots=True, eq=False)
class ExecutionContext:
    """The context of one run of a query.

    Args:
        graph: The data graph.
        strategy: The matcher that joins patterns.
        values: Parameter values as given by the user.
        parameters: The same, converted.
        text: Query text, for errors.
        report: Filled during the run.
        deadline: Time of ``time.monotonic`` at which the run is given up.
        argument: Rows of the operator around a subquery.
        measured: Measurements by ``id`` of the operator.
        cache: Results computed once per dictionary.
        subqueries: Runs subqueries in expressions.
        enough: Approximate number of rows the consumer needs; None for all.
        one_pattern: True if the steps of a single pattern are all there is to report.
        exchange: Divides patterns between several places; None if there is only one.
    """

    graph: DataGraph
    strategy: Matcher
    values: Mapping[str, Any]
    parameters: Parameters
    text: str
    report: StrategyReport
    deadline: float | None = None
    argument: Batch | None = None
    measured: dict[int, Measured] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict)
    subqueries: SubqueryRunner | None = None
    enough: int | None = None
    one_pattern: bool = False
    exchange: Exchange | None = None

    def within(self, argument: Batch) -> ExecutionContext:
        """The context of a subquery with this argument."""
        return replace(self, argument=argument, enough=None)

    def needing(self, rows: int | None) -> ExecutionContext:
        """The same context, for a consumer that needs about ``rows`` rows; None for all."""
        return self if self.enough == rows else replace(self, enough=rows)

    def report_of(self, operator: object) -> StrategyReport:
        """The report in which the device records its work for an operator."""
        measured = self.measured.setdefault(id(operator), Measured())
        if measured.report is None:
            report = self.report
            measured.report = (
                report
                if self.one_pattern
                else StrategyReport(report.timings, progress=report.progress)
            )
        return measured.report

    @property
    def runner(self) -> Matcher | Exchange:
        """What finds the embeddings of a pattern. The first few rows come from a single place."""
        return self.strategy if self.exchange is None or self.enough is not None else self.exchange

    def check(self) -> None:
        """Raises if the deadline has passed."""
        check_deadline(self.deadline)

    def environment(self, batch: Batch, outputs: Any = ()) -> Environment:
        """Binds the names in expressions to the columns of a batch."""
        names = {**batch.hidden, **batch.columns}
        return Environment(
            batch.row_count,
            self.parameters,
            self.text,
            self.graph,
            _Columns(names, batch.row_count),
            keys=batch.keys,
            aggregates=batch.aggregates,
            outputs=outputs,
            cache=self.cache,
            subqueries=self.subqueries,
        )


class _Columns(dict[str, "Column"]):
    """Operands by name; each is converted to a column at first access."""

    def __init__(self, operands: Mapping[str, Operand], row_count: int) -> None:
        super().__init__()
        self._operands = operands
        self._row_count = row_count

    def __missing__(self, name: str) -> Column:
        column = self[name] = as_column(self._operands[name], self._row_count)
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._operands

    def __iter__(self) -> Any:
        return iter(self._operands)

    def items(self) -> Any:
        """All operands, as columns."""
        return [(name, self[name]) for name in self._operands]
