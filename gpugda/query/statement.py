"""A query of several clauses: its syntax tree, and what everybody asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query import ast
    from gpugda.query.query_graph import OutputColumn, TypedParameter

__all__ = ["Statement"]


@value(frozen=True, slots=True)
class Statement:
    """A checked query that is more than MATCH and RETURN.

    Args:
        text: As the user wrote it.
        tree: Its syntax tree.
        columns: What it returns; the expressions are those of the first part of a UNION.
        parameters: Names of all parameters in the text.
        typed_parameters: Parameters that stand where only some types may.
        mode: ``EXPLAIN``, ``PROFILE`` or None.
        version: Cypher version the text asks for, or None.
        limit: What LIMIT says at the end, or None.
    """

    text: str
    tree: ast.Query
    columns: tuple[OutputColumn, ...]
    parameters: frozenset[str] = frozenset()
    typed_parameters: tuple[TypedParameter, ...] = ()
    mode: str | None = None
    version: int | None = None
    limit: ast.Expression | None = None
