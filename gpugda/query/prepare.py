"""Query text to analysed query, or to why there is none, kept by text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.garbage import collection_paused
from gpugda.query.analyse import analyse
from gpugda.query.parser import parse
from gpugda.query.scopes import check_query
from gpugda.query.statement import Statement, statement_of
from gpugda.query.unsupported import check_supported

if TYPE_CHECKING:
    from gpugda.query.query_graph import Query

__all__ = ["QUERIES_KEPT", "prepare"]

QUERIES_KEPT: Final = 512

_queries: Final[LruCache[str, Query | Statement | QueryError]] = LruCache(QUERIES_KEPT)


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
            # Without a prefix the server's own version holds: what the newest knows may be right.
            check_query(tree, version=25)
            return statement_of(tree)
        return analyse(tree)
    except QueryError as error:
        return copy(error)
