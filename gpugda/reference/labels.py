"""Label expressions on the labels of a node or the type of a relationship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.checks import check_token_name
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["has_labels"]


def has_labels(
    labels: Sequence[str],
    wanted: ast.LabelExpression | None,
    value: Callable[[ast.Expression], Any],
) -> bool:
    """True if a node's labels, or a relationship's type, satisfy a label expression.

    Args:
        labels: The labels, or the type as the only entry.
        wanted: The expression; None is always satisfied.
        value: Evaluates the expression in ``$(…)``.

    Raises:
        CypherTypeError: That expression is neither a name nor a list of names.
        UnsupportedQueryError: One of the strings is not a valid name.
    """
    if wanted is None:
        return True
    if isinstance(wanted, ast.LabelName):
        return wanted.name in labels
    if isinstance(wanted, ast.LabelWildcard):
        return len(labels) > 0
    if isinstance(wanted, ast.LabelNot):
        return not has_labels(labels, wanted.operand, value)
    if isinstance(wanted, ast.LabelAnd):
        return all(has_labels(labels, operand, value) for operand in wanted.operands)
    if isinstance(wanted, ast.LabelOr):
        return any(has_labels(labels, operand, value) for operand in wanted.operands)
    assert isinstance(wanted, ast.LabelDynamic)
    names = _names(value(wanted.expression))
    present = [name in labels for name in names]
    return any(present) if wanted.any else all(present)


def _names(given: Any) -> list[str]:
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names):
        raise CypherTypeError(f"labels and types must be strings, not {given!r}")
    for name in names:
        check_token_name(name)
    return names
