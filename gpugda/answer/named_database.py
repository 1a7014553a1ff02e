"""``USE name``: refuses queries that name a database other than the connected one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.statement import Statement

if TYPE_CHECKING:
    from gpugda.query.query_graph import Query

__all__ = ["refuse_other_databases"]


def refuse_other_databases(query: Query | Statement, database: str = "") -> None:
    """Checks that each USE names this database; an embedded graph has no name.

    Raises:
        UnsupportedQueryError: A USE names another database, or computes a name.
    """
    if not isinstance(query, Statement):
        return
    for clause in query.uses:
        graph = clause.graph
        # Database names are case-insensitive.
        if isinstance(graph, ast.Variable) and database and graph.name.lower() == database.lower():
            continue
        message = "USE of another database is not supported by this engine"
        raise UnsupportedQueryError(message, query.text, clause.span, construct="USE")
