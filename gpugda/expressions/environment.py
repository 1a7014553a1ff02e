"""Binds names in expressions to columns."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Column
    from gpugda.expressions.operands import Operand
    from gpugda.expressions.parameters import Parameters
    from gpugda.query.ast import Expression

__all__ = ["Environment", "SubqueryRunner"]


class SubqueryRunner(Protocol):
    """Evaluates patterns and subqueries in expressions."""

    def run(self, node: Expression, environment: Environment) -> Operand:
        """The value of a subquery or pattern in each row of an environment."""


@value(frozen=True, slots=True, eq=False)
class Environment:
    """The bindings of names in an expression, for a set of rows.

    Args:
        row_count: Number of rows.
        parameters: The query's parameters.
        text: Query text, for error messages.
        graph: Graph of the nodes and relationships in variables; None if there are none.
        variables: Column of each variable.
        keys: Column of each grouping key.
        aggregates: Column of each aggregate.
        outputs: Column of each returned column.
        everything: True if the variables hold all nodes (or relationships) in order, so that
            property columns need no gather.
        cache: Results computed once per dictionary, kept from one batch to the next.
        subqueries: Runs subqueries and patterns; None if there are none.
    """

    row_count: int
    parameters: Parameters
    text: str
    graph: DataGraph | None = None
    variables: Mapping[str, Column] = field(default_factory=dict[str, Any])
    keys: Sequence[Operand] = ()
    aggregates: Sequence[Operand] = ()
    outputs: Sequence[Operand] = ()
    everything: bool = False
    cache: dict[Any, Any] = field(default_factory=dict[Any, Any])
    subqueries: SubqueryRunner | None = None

    def has_all(self, subject: Column) -> bool:
        """True if a column holds all nodes (or relationships) in order: that of a variable.

        Others do not, such as ``startNode(r)``, or a CASE whose results are the variable.
        """
        return self.everything and any(subject is each for each in self.variables.values())
