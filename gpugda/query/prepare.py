"""Parses and checks query texts; results and errors are cached by text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.errors import QueryError
from gpugda.query.check.queries import check_query
from gpugda.query.parser import parse
from gpugda.query.statement import Statement, statement_of
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.query import ast

__all__ = ["QUERIES_KEPT", "check_compiles", "prepare"]

QUERIES_KEPT: Final = 512

_queries: Final[LruCache[str, Statement | QueryError]] = LruCache(QUERIES_KEPT)
_refusals: Final[LruCache[tuple[str, int], QueryError | None]] = LruCache(QUERIES_KEPT)
"""Compile error of a text under this server version; None if it compiles."""


def prepare(text: str) -> Statement:
    """Parses and checks a query, or returns the cached result for the same text.

    Raises:
        CypherSyntaxError: It is not Cypher, or Neo4j would refuse to compile it.
        UnsupportedQueryError: It is more than reading, or nested too deeply.
    """
    found = _queries.get(text, lambda: _prepare(text))
    if isinstance(found, QueryError):
        raise copy(found)  # a copy, as other threads may hold the cached one with its traceback
    return found


def _prepare(text: str) -> Statement | QueryError:
    # Errors are cached, too: the database answers such texts, and they would be parsed each time.
    try:
        tree = parse(text)
        nodes = tuple(walk(tree))
        # Without a prefix the server's default version applies; the newest accepts the most.
        check_query(tree, 25, nodes)
        return statement_of(tree, nodes)
    except QueryError as error:
        return copy(error)


def check_compiles(statement: Statement, version: int) -> None:
    """Like `check_query`, but cached per text and server version of Cypher.

    Raises:
        CypherSyntaxError: See `check_query`.
    """
    if statement.is_of_all_versions:
        return
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
