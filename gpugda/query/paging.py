"""What is no number of rows for SKIP or LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, CypherSyntaxError, CypherTypeError
from gpugda.query.ast import Parameter

if TYPE_CHECKING:
    from gpugda.errors import QueryError
    from gpugda.query.ast import Expression

__all__ = ["paging_error"]


def paging_error(clause: str, value: Any, text: str, expression: Expression) -> QueryError:
    """The error for a value that is no integer from 0; its kind is Neo4j's.

    Args:
        clause: ``SKIP`` or ``LIMIT``.
        value: What the expression gives.
        text: The whole query.
        expression: What was written.
    """
    shown = "null" if value is None else str(value)
    message = (
        f"{clause}: Invalid input. '{shown}' is not a valid value. Must be a non-negative integer."
    )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return CypherArgumentError(message, text, expression.span)
    if value is not None and isinstance(expression, Parameter):
        return CypherSyntaxError(message, text, expression.span)
    return CypherTypeError(message, text, expression.span)
