"""What the names in an expression stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.columns import Column
    from gpugda.data.data_graph import DataGraph
    from gpugda.expressions.operands import Operand
    from gpugda.expressions.parameters import Parameters
    from gpugda.query.ast import Expression

__all__ = ["Environment", "SubqueryRunner"]


class SubqueryRunner(Protocol):
    """Matches the patterns and runs the subqueries that stand in expressions."""

    def run(self, node: Expression, environment: Environment) -> Operand:
        """The value of a subquery or pattern in every row of an environment."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What the names in an expression stand for, in some rows.

    Args:
        row_count: Number of rows.
        parameters: The query's parameters.
        text: The query, for error messages.
        graph: Whose nodes and relationships the variables hold; None where there are no variables.
        variables: Column of kind NODE or RELATIONSHIP per pattern variable.
        keys: Per grouping key.
        aggregates: Per aggregate.
        outputs: Per returned column.
        everything: Whether the variables hold all nodes (or relationships) in their order, so that
            property columns can be taken as they are.
        cache: What was computed per dictionary, kept from one chunk of rows to the next.
        subqueries: Runs subqueries and patterns; None where there can be none.
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
