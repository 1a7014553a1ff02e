"""``value IS :: type``."""

from __future__ import annotations

from typing import Any, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.query import ast
from gpugda.values import kind_of

__all__ = ["is_of_type"]

_KINDS: Final = {
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DURATION": "duration",
    "FLOAT": "float",
    "INTEGER": "integer",
    "LOCAL DATETIME": "localdatetime",
    "LOCAL TIME": "localtime",
    "MAP": "map",
    "NODE": "node",
    "PATH": "path",
    "POINT": "point",
    "RELATIONSHIP": "relationship",
    "STRING": "string",
    "ZONED DATETIME": "datetime",
    "ZONED TIME": "time",
}
_STORED: Final = TEMPORAL | {"boolean", "duration", "float", "integer", "point", "string"}


def is_of_type(item: Any, wanted: ast.CypherType) -> bool:
    """True if the value has the type. Null has every type except NOT NULL ones and NOTHING.

    Raises:
        UnsupportedQueryError: No supported value can have this type, such as a vector.
    """
    if isinstance(wanted, ast.UnionType):
        return any(is_of_type(item, each) for each in wanted.alternatives)
    if isinstance(wanted, ast.ListType):
        return _is_list_of(item, wanted)
    if isinstance(wanted, ast.SimpleType):
        return _is_simple(item, wanted)
    message = "whether a value is a vector is not supported by this engine"
    raise UnsupportedQueryError(message, construct="type predicate with VECTOR")


def _is_list_of(item: Any, wanted: ast.ListType) -> bool:
    if item is None:
        return not wanted.not_null
    if kind_of_value(item) != "list":
        return False
    element = wanted.element
    # Neo4j accepts null even for elements of type ANY NOT NULL.
    if isinstance(element, ast.SimpleType) and element.name == "ANY":
        return True
    return all(is_of_type(each, element) for each in item)


def _is_simple(item: Any, wanted: ast.SimpleType) -> bool:
    if wanted.name == "NOTHING":
        return False
    if item is None:
        return not wanted.not_null
    if wanted.name in ("ANY", "NULL"):
        return wanted.name == "ANY"
    if wanted.name == "PROPERTY VALUE":
        return _is_stored(item)
    kind = _KINDS.get(wanted.name)
    if kind is None:
        message = f"whether a value is {wanted.name} is not supported by this engine"
        raise UnsupportedQueryError(message, construct=f"type predicate with {wanted.name}")
    return kind_of_value(item) == kind


def _is_stored(item: Any) -> bool:
    kind = kind_of_value(item)
    if kind != "list":
        return kind in _STORED
    # Integers and floats may be mixed in one list.
    return len(set(map(kind_of, item))) <= 1 and _STORED.issuperset(map(kind_of_value, item))
