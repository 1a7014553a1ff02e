"""The parser: Cypher text to syntax tree."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gpugda.query import ast
from gpugda.query.check.options import check_options
from gpugda.query.cursor import Cursor, Grammar, too_deep
from gpugda.query.parse_clauses import read_subquery, read_union
from gpugda.query.parse_expressions import read_expression
from gpugda.query.parse_patterns import read_path, read_shortest_path
from gpugda.types import Span

__all__ = ["parse", "tree_of"]

_GRAMMAR: Final = Grammar(read_expression, read_path, read_shortest_path, read_subquery)
_VERSIONS: Final = {"5": 5, "25": 25}
_PREFIX: Final = "ArgumentError"
"""What Neo4j calls an error in what stands before a query."""


def parse(text: str) -> ast.Query:
    """Parses one Cypher query.

    Covers the whole reading language of Cypher 5 and 25, and enough of the rest to name it.

    Args:
        text: One statement, with or without a final semicolon.

    Raises:
        CypherSyntaxError: The text is not Cypher; the error has the place.
        UnsupportedQueryError: It is nested too deeply to be parsed.
    """
    cursor = Cursor(text, _GRAMMAR)
    try:
        return _query(cursor)
    except RecursionError:
        # The nesting limit is meant for brackets and usual callers. Subqueries use more stack per
        # level, and some callers have already used most of it.
        raise too_deep(cursor) from None


@lru_cache(maxsize=8)
def tree_of(text: str) -> ast.Query:
    """Like `parse`, but cached for several analyses of a text after the query was answered.

    Answering a query rarely needs its tree again, and the garbage collector would scan cached
    trees while later queries are parsed.
    """
    return parse(text)


def _query(cursor: Cursor) -> ast.Query:
    version: int | None = None
    options: list[tuple[str, str]] = []
    mode: str | None = None
    while cursor.kind in ("CYPHER", "EXPLAIN", "PROFILE"):
        kind = cursor.kind
        if kind != "CYPHER" and mode not in (None, kind):
            cursor.fail("EXPLAIN and PROFILE cannot be combined", kind=_PREFIX)
        cursor.advance()
        if kind == "CYPHER":
            version = _version(cursor, version)
            options += _options(cursor)
        else:
            mode = kind
    if options:
        check_options(options, cursor.text, cursor.span_since(0))
    if cursor.kind == "end":
        cursor.fail("there is no query here: expected a clause such as MATCH or RETURN")
    parts, unions, union_all = read_union(cursor)
    if cursor.accept(";") and cursor.kind != "end":
        cursor.fail("only one statement can be run at a time: nothing may follow the semicolon")
    if cursor.kind != "end":
        cursor.unexpected("a clause or the end of the query")
    span = Span(0, len(cursor.text))
    return ast.Query(span, cursor.text, parts, unions, version, tuple(options), mode, union_all)


def _version(cursor: Cursor, before: int | None) -> int | None:
    """The version after CYPHER, if there is one; else the one of an earlier prefix."""
    if cursor.kind != "number":
        return before
    version = _VERSIONS.get(cursor.piece())
    if version is None:
        message = f"Cypher {cursor.piece()} is not known: CYPHER 5 and CYPHER 25 are"
        cursor.fail(message, kind=_PREFIX)
    if before not in (None, version):
        cursor.fail("two Cypher versions cannot be combined", kind=_PREFIX)
    cursor.advance()
    return version


def _options(cursor: Cursor) -> list[tuple[str, str]]:
    options = []
    while cursor.is_word() and cursor.ahead() == "=":
        name = cursor.advance()[1]
        cursor.advance()
        if not cursor.is_word() and cursor.kind not in ("number", "string"):
            cursor.unexpected("the option's value")
        options.append((name, cursor.advance()[1]))
    return options
