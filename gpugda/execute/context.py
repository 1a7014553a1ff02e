"""What operators need while they run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_deadline
from gpugda.expressions.environment import Environment
from gpugda.expressions.operands import as_column
from gpugda.match.embeddings import StrategyReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.columns import Column
    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.expressions.environment import SubqueryRunner
    from gpugda.expressions.operands import Operand
    from gpugda.expressions.parameters import Parameters
    from gpugda.match.matcher import Matcher

__all__ = ["ExecutionContext", "Measured"]


@dataclass(slots=True)
class Measured:
    """What an operator did.

    Args:
        rows: Rows that it gave.
        seconds: Time that it took, with that of its inputs.
        report: What the device did for it.
    """

    rows: int = 0
    seconds: float = 0.0
    report: StrategyReport | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExecutionContext:
    """One run of a query.

    Args:
        graph: The data graph.
        strategy: How patterns are joined.
        values: Of the query's parameters, as the user gave them.
        parameters: The same, converted.
        text: The query, for errors.
        report: Filled while running.
        deadline: Time of ``time.monotonic`` at which to give up.
        argument: Rows of the operator around a subquery.
        measured: By operator.
        cache: What was computed per dictionary.
        subqueries: Runs the subqueries in expressions.
        enough: After about so many rows whoever pulls leaves; None where all are needed.
        one_pattern: Whether the only thing to report is what one pattern does.
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

    def within(self, argument: Batch) -> ExecutionContext:
        """The context of a subquery."""
        return replace(self, argument=argument, enough=None)

    def for_some(self, rows: int | None) -> ExecutionContext:
        """The same where about so many rows suffice; None where all are needed."""
        return self if self.enough == rows else replace(self, enough=rows)

    def report_of(self, operator: object) -> StrategyReport:
        """Where the device tells what it does for an operator."""
        measured = self.measured.setdefault(id(operator), Measured())
        if measured.report is None:
            report = self.report
            measured.report = (
                report
                if self.one_pattern
                else StrategyReport(report.timings, progress=report.progress)
            )
        return measured.report

    def check(self) -> None:
        """Raises where the time is up."""
        check_deadline(self.deadline)

    def environment(self, batch: Batch, outputs: Any = ()) -> Environment:
        """What the names in expressions stand for, in some rows."""
        names = {**batch.hidden, **batch.columns} if not outputs else batch.hidden
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
    """Operands by name, each made a column when it is first asked for."""

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
        """All of them, as columns."""
        return [(name, self[name]) for name in self._operands]
