"""Parses and analyses query texts; results and errors are cached by text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.query.analyse import analyse
from gpugda.query.check.queries import check_query
from gpugda.query.constructs import check_supported
from gpugda.query.parser import parse
from gpugda.query.statement import Statement, statement_of

if TYPE_CHECKING:
    from gpugda.query import ast
    from gpugda.query.query_graph import Query

__all__ = ["QUERIES_KEPT", "check_compiles", "prepare"]

QUERIES_KEPT: Final = 512

_queries: Final[LruCache[str, Query | Statement | QueryError]] = LruCache(QUERIES_KEPT)
_refusals: Final[LruCache[tuple[str, int], QueryError | None]] = LruCache(QUERIES_KEPT)
"""Compile error of a text under this server version; None if it compiles."""


def prepare(text: str) -> Query | Statement:
    """Parses and checks a query, or returns the cached result for the same text.

    Raises:
        CypherSyntaxError: It is not Cypher, or Neo4j would refuse to compile it.
        UnsupportedQueryError: It has an unsupported construct.
    """
    found = _queries.get(text, lambda: _prepare(text))
    if isinstance(found, QueryError):
        raise copy(found)  # a copy, as other threads may hold the cached one with its traceback
    return found


def _prepare(text: str) -> Query | Statement | QueryError:
    # Errors are cached, too: the database answers such texts, and they would be parsed each time.
    try:
        tree = parse(text)
        # Without a prefix the server's default version applies; the newest accepts the most.
        check_query(tree, version=25)
        try:
            check_supported(tree)
        except UnsupportedQueryError:
            return statement_of(tree)
        return analyse(tree)
    except QueryError as error:
        return copy(error)


def check_compiles(statement: Statement, version: int) -> None:
    """Like `check_query`, but cached per text and server version of Cypher.

    Raises:
        CypherSyntaxError: See `check_query`.
    """
    key = statement.text, version
    found = _refusals.get(key, lambda: _refusal(statement.tree, version))
    if found is not None:
        raise copy(found)


def _refusal(tree: ast.Query, version: int) -> QueryError | None:
    try:
        check_query(tree, version)
    except QueryError as error:
        return copy(error)
    return None
