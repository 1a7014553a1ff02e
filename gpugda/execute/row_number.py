"""The numbers of rows that SKIP and LIMIT name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import CypherTypeError
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import value_at

if TYPE_CHECKING:
    from gpugda.expressions.parameters import Parameters
    from gpugda.query.ast import Expression

__all__ = ["row_number"]


def row_number(
    clause: str, expression: Expression | None, parameters: Parameters, text: str
) -> int | None:
    """What follows SKIP or LIMIT; None where the clause is not there.

    Raises:
        CypherTypeError: It is no integer from 0.
    """
    if expression is None:
        return None
    number = value_at(evaluate_operand(expression, Environment(1, parameters, text)), 0)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    shown = "null" if number is None else str(number)
    raise CypherTypeError(
        f"{clause}: Invalid input. '{shown}' is not a valid value. Must be a non-negative integer.",
        text,
        expression.span,
    )
