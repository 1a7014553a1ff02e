"""A query of several clauses: its syntax tree, and what everybody asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.parameter_types import typed_parameters
from gpugda.query.query_graph import OutputColumn
from gpugda.query.walk import children, walk
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query.query_graph import TypedParameter

__all__ = ["Statement", "statement_of"]

_MOST_LEVELS: Final = 200


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
        uses: The USE clauses: who answers has to be the database that they name.
    """

    text: str
    tree: ast.Query
    columns: tuple[OutputColumn, ...]
    parameters: frozenset[str] = frozenset()
    typed_parameters: tuple[TypedParameter, ...] = ()
    mode: str | None = None
    version: int | None = None
    limit: ast.Expression | None = None
    uses: tuple[ast.Use, ...] = ()


def statement_of(tree: ast.Query) -> Statement:
    """A parsed query as a statement.

    Raises:
        UnsupportedQueryError: It writes, calls a procedure or reads a file.
    """
    for node in walk(tree):
        if isinstance(node, ast.OtherClause | ast.CallProcedure | ast.LoadCsv):
            construct = _construct(node)
            message = f"{construct} is not supported by this engine"
            raise UnsupportedQueryError(message, tree.text, node.span, construct=construct)
    _check_depth(tree)
    last = tree.parts[0].clauses[-1]
    projection = last.projection if isinstance(last, ast.Return) else None
    items = () if projection is None else projection.items
    return Statement(
        text=tree.text,
        tree=tree,
        columns=tuple(OutputColumn(item.name, item.expression) for item in items),
        parameters=frozenset(n.name for n in walk(tree) if isinstance(n, ast.Parameter)),
        typed_parameters=tuple(typed_parameters(walk(tree))),
        mode=tree.mode,
        version=tree.version,
        limit=None if projection is None or len(tree.parts) > 1 else projection.limit,
        uses=tuple(node for node in walk(tree) if isinstance(node, ast.Use)),
    )


def _check_depth(tree: ast.Query) -> None:
    """Refuses what is nested deeper than those who go through it go.

    Raises:
        UnsupportedQueryError: A sum of hundreds of terms, for example.
    """
    level: list[ast.Node] = [tree]
    for _ in range(_MOST_LEVELS):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    message = f"an expression of more than {_MOST_LEVELS} levels is not supported by this engine"
    raise UnsupportedQueryError(message, tree.text, level[0].span, construct="a long expression")


def _construct(node: ast.Clause) -> str:
    if isinstance(node, ast.OtherClause):
        return node.construct
    if isinstance(node, ast.CallProcedure):
        return "CALL of a procedure"
    return "LOAD CSV"
