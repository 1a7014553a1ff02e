"""What the aggregates of a query ask of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["arguments_of", "counts", "counts_unread", "takes_weights"]

_ANY_ORDER: Final = frozenset({"min", "max", "sum", "avg"})


def counts(call: ast.Expression) -> bool:
    """Is it a number of rows or of values?"""
    return isinstance(call, ast.CountStar) or (
        isinstance(call, ast.FunctionCall) and call.name.lower() == "count"
    )


def counts_unread(call: ast.Expression, read: Container[str]) -> bool:
    """Does it count rows, as nobody reads what is counted: of a pattern, and so never null?"""
    if not isinstance(call, ast.FunctionCall):
        return isinstance(call, ast.CountStar)
    if call.distinct or not counts(call):
        return False
    (counted,) = call.arguments
    return isinstance(counted, ast.Variable) and counted.name not in read


def takes_weights(call: ast.Expression) -> bool:
    """Is it made of different values, and how many rows have each?"""
    if counts(call):
        return True
    if not isinstance(call, ast.FunctionCall):
        return False
    return call.distinct or call.name.lower() in _ANY_ORDER


def arguments_of(call: ast.Expression) -> tuple[ast.Expression, ...]:
    """None of ``count(*)``."""
    return call.arguments if isinstance(call, ast.FunctionCall) else ()
