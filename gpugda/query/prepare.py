"""Query text to analysed query, kept by text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache
from gpugda.query.analyse import analyse
from gpugda.query.parser import parse
from gpugda.query.unsupported import check_supported

if TYPE_CHECKING:
    from gpugda.query.query_graph import Query

__all__ = ["QUERIES_KEPT", "prepare"]

QUERIES_KEPT: Final = 512

_queries: Final[LruCache[str, Query]] = LruCache(QUERIES_KEPT)


def prepare(text: str) -> Query:
    """Reads and checks a query, or gives what was made of the same text before.

    Raises:
        CypherSyntaxError: It is no Cypher, or Neo4j would refuse to compile it.
        UnsupportedQueryError: It holds a construct that is not answered here.
    """
    return _queries.get(text, lambda: _prepare(text))


def _prepare(text: str) -> Query:
    tree = parse(text)
    check_supported(tree)
    return analyse(tree)
