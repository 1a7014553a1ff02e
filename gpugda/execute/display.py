"""Displays expressions of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.query.render import expression_text
from gpugda.query.shapes import rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["text_of"]


def text_of(
    expression: ast.Expression,
    *,
    keys: Sequence[ast.Expression] = (),
    aggregates: Sequence[ast.Expression] = (),
    columns: Sequence[str] = (),
) -> str:
    """An expression as Cypher, with references replaced by what they refer to."""

    def meant(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, KeyReference):
            return keys[part.position]
        if isinstance(part, AggregateReference):
            return aggregates[part.position]
        if isinstance(part, ColumnReference):
            return ast.Variable(part.span, columns[part.position])
        return None

    return expression_text(rewrite(expression, meant)).replace("\0", "_")
