"""Values of SKIP and LIMIT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import value_at
from gpugda.query.constructs import paging_error
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.parameters import Parameters
    from gpugda.query.ast import Expression

__all__ = ["RowBounds", "row_number"]


@value(frozen=True, slots=True)
class RowBounds:
    """The expressions of SKIP and LIMIT.

    Args:
        skip: Of SKIP; None if there is none.
        limit: Of LIMIT; None if there is none.
        apart: True if ``LIMIT 0`` does not read the rows of ORDER BY below.
        whole: True if the skipped rows are returned, too.
    """

    skip: Expression | None
    limit: Expression | None
    apart: bool = False
    whole: bool = False

    def values(self, context: ExecutionContext) -> tuple[int, int | None]:
        """Number of rows to skip and most rows to return; None for no limit.

        Raises:
            QueryError: A value is not a non-negative integer.
        """
        skip = row_number("SKIP", self.skip, context.parameters, context.text)
        limit = row_number("LIMIT", self.limit, context.parameters, context.text)
        if self.whole:
            return 0, None if limit is None else (skip or 0) + limit
        return skip or 0, limit

    @property
    def reached(self) -> RowBounds | None:
        """The bounds of the rows that have to be read; None if these are all."""
        return None if self.limit is None else replace(self, whole=True)

    def stop(self, context: ExecutionContext) -> int | None:
        """Number of rows that suffice; None if all are needed."""
        skip, limit = self.values(context)
        return None if limit is None else skip + limit


def row_number(
    clause: str, expression: Expression | None, parameters: Parameters, text: str
) -> int | None:
    """The value of SKIP or LIMIT; None if the clause is absent.

    Raises:
        QueryError: The value is not a non-negative integer.
    """
    if expression is None:
        return None
    number = value_at(evaluate_operand(expression, Environment(1, parameters, text)), 0)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise paging_error(clause, number, text, expression)
