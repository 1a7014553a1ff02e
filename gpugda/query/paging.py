"""Errors for invalid row counts in SKIP and LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, CypherSyntaxError, CypherTypeError
from gpugda.query.ast import Parameter

if TYPE_CHECKING:
    from gpugda.errors import QueryError
    from gpugda.query.ast import Expression

__all__ = ["paging_error"]


def paging_error(clause: str, value: Any, text: str, expression: Expression) -> QueryError:
    """The error for a value that is not a non-negative integer; Neo4j's class of error.

    Args:
        clause: ``SKIP`` or ``LIMIT``.
        value: The value of the expression.
        text: The whole query text.
        expression: The expression.
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
