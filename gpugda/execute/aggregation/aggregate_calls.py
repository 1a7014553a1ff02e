"""Properties of aggregate calls that decide which columns and weights their input must provide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["arguments_of", "counts", "counts_unread", "takes_weights"]

_ANY_ORDER: Final = frozenset({"min", "max", "sum", "avg"})


def counts(call: ast.Expression) -> bool:
    """True if the call counts rows or values."""
    return isinstance(call, ast.CountStar) or (
        isinstance(call, ast.FunctionCall) and call.name.lower() == "count"
    )


def counts_unread(call: ast.Expression, read: Container[str]) -> bool:
    """True if the call counts rows: ``count(*)``, or ``count(x)`` of a pattern variable not read.

    A pattern variable is never null, so counting it counts rows.
    """
    if not isinstance(call, ast.FunctionCall):
        return isinstance(call, ast.CountStar)
    if call.distinct or not counts(call):
        return False
    (counted,) = call.arguments
    return isinstance(counted, ast.Variable) and counted.name not in read


def takes_weights(call: ast.Expression) -> bool:
    """True if distinct values and their multiplicities suffice to compute the aggregate."""
    if counts(call):
        return True
    if not isinstance(call, ast.FunctionCall):
        return False
    return call.distinct or call.name.lower() in _ANY_ORDER


def arguments_of(call: ast.Expression) -> tuple[ast.Expression, ...]:
    """The arguments of a call; empty for ``count(*)``."""
    return call.arguments if isinstance(call, ast.FunctionCall) else ()
