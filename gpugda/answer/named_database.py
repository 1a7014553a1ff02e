"""``USE name``: refuses queries that name a database other than the connected one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast

if TYPE_CHECKING:
    from gpugda.query.statement import Statement

__all__ = ["refuse_other_databases"]


def refuse_other_databases(query: Statement, database: str = "") -> None:
    """Checks that each USE names this database; an embedded graph has no name.

    Raises:
        UnsupportedQueryError: A USE names another database, or computes a name.
    """
    for clause in query.uses:
        graph = clause.graph
        # Database names are case-insensitive.
        if isinstance(graph, ast.Variable) and database and graph.name.lower() == database.lower():
            continue
        message = "USE of another database is not supported by this engine"
        raise UnsupportedQueryError(message, query.text, clause.span, construct="USE")
