"""Parses and checks query texts; results and errors are cached by text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Final

from gpugda.caching import LruCache
from gpugda.errors import CypherTypeError, QueryError
from gpugda.query import ast
from gpugda.query.check.queries import check_query
from gpugda.query.check.scope import ANY, BOOLEAN, INTEGER, LIST, STRING, TypeSet, list_of, of
from gpugda.query.parser import parse
from gpugda.query.statement import Statement, statement_of
from gpugda.query.walk import walk
from gpugda.values import ByteArray, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QUERIES_KEPT", "check_compiles", "check_parameters", "prepare"]

QUERIES_KEPT: Final = 512

_Types = tuple[tuple[str, TypeSet], ...]
"""The types of parameters by name."""
_TYPES: Final = {
    "boolean": BOOLEAN,
    "number": INTEGER,
    "string": STRING,
    "list": LIST,
    "map": of("Map", "Node", "Relationship"),
    "date": of("Date"),
    "time": of("Time"),
    "localtime": of("LocalTime"),
    "datetime": of("DateTime"),
    "localdatetime": of("LocalDateTime"),
    "duration": of("Duration"),
    "point": of("Point"),
}
"""The type of a parameter of each kind of value. A map may be sent for an entity."""

_queries: Final[LruCache[str, Statement | QueryError]] = LruCache(QUERIES_KEPT)
_refusals: Final[LruCache[tuple[str, int], QueryError | None]] = LruCache(QUERIES_KEPT)
"""Compile error of a text under this server version; None if it compiles."""
_mismatches: Final[LruCache[tuple[str, _Types], QueryError | None]] = LruCache(QUERIES_KEPT)
"""Compile error of a text with parameters of these types; None if it compiles."""


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


def check_parameters(tree: ast.Query, values: Mapping[str, Any]) -> None:
    """Checks the types of parameters where Neo4j does: while it compiles the query.

    Args:
        tree: A query that compiles with parameters of unknown types.
        values: Its parameters, as expressions read them.

    Raises:
        CypherTypeError: A parameter, or what is computed from it, is of a wrong type.
    """
    types = tuple((name, _type_of(value)) for name, value in values.items())
    if all(kind is ANY for _, kind in types):
        return
    found = _mismatches.get((tree.text, types), lambda: _mismatch(tree, dict(types)))
    if found is not None:
        raise copy(found)


def _type_of(value: Any) -> TypeSet:
    # Neo4j does not know the types of floats and bytes, and of elements only that all are texts.
    if value is None or isinstance(value, float | ByteArray):
        return ANY
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return list_of(STRING)
    return _TYPES[kind_of(value)]


def _mismatch(tree: ast.Query, types: Mapping[str, TypeSet]) -> QueryError | None:
    try:
        check_query(tree, 25, parameters=types)
    except QueryError as error:
        message = error.message
        for node in walk(tree):
            if isinstance(node, ast.Parameter) and node.span == error.span:
                message = message.replace("mismatch:", f"mismatch for parameter '{node.name}':")
        return CypherTypeError(message, tree.text, error.span)
    return None


def _refusal(tree: ast.Query, version: int) -> QueryError | None:
    try:
        check_query(tree, version)
    except QueryError as error:
        return copy(error)
    return None
