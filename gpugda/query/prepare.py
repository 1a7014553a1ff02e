"""Query text to analysed query, or to why there is none, kept by text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.garbage import collection_paused
from gpugda.query.analyse import analyse
from gpugda.query.parser import parse
from gpugda.query.statement import Statement, statement_of
from gpugda.query.unsupported import check_supported

if TYPE_CHECKING:
    from gpugda.query import ast
    from gpugda.query.query_graph import Query

__all__ = ["QUERIES_KEPT", "check_compiles", "prepare"]

QUERIES_KEPT: Final = 512

_queries: Final[LruCache[str, Query | Statement | QueryError]] = LruCache(QUERIES_KEPT)
_refusals: Final[LruCache[tuple[str, int], QueryError | None]] = LruCache(QUERIES_KEPT)
"""Why a text would not compile where the server's own version is this one; None where it would."""


def prepare(text: str) -> Query | Statement:
    """Reads and checks a query, or gives what was made of the same text before.

    Raises:
        CypherSyntaxError: It is no Cypher, or Neo4j would refuse to compile it.
        UnsupportedQueryError: It holds a construct that is not answered here.
    """
    found = _queries.get(text, lambda: _prepare(text))
    if isinstance(found, QueryError):
        raise copy(found)  # not the one that others may be looking at, with where it was raised
    return found


@collection_paused()
def _prepare(text: str) -> Query | Statement | QueryError:
    # What is refused here, the database answers, and would be read in vain each time it is asked.
    try:
        tree = parse(text)
        try:
            check_supported(tree)
        except UnsupportedQueryError:
            from gpugda.query.scopes import check_query  # most texts come without it

            # Without a prefix the server's own version holds: what the newest knows may be right.
            check_query(tree, version=25)
            return statement_of(tree)
        return analyse(tree)
    except QueryError as error:
        return copy(error)


def check_compiles(statement: Statement, version: int) -> None:
    """As `check_query`, once for a text and the server's own version of Cypher.

    Raises:
        CypherSyntaxError: See `check_query`.
    """
    key = statement.text, version
    found = _refusals.get(key, lambda: _refusal(statement.tree, version))
    if found is not None:
        raise copy(found)


def _refusal(tree: ast.Query, version: int) -> QueryError | None:
    from gpugda.query.scopes import check_query

    try:
        check_query(tree, version)
    except QueryError as error:
        return copy(error)
    return None
