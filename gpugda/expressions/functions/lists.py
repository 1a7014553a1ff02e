"""List functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, CypherExecutionError
from gpugda.expressions.checks import check_items, list_of, whole
from gpugda.expressions.functions.registry import CYPHER_25, Function, signature
from gpugda.expressions.kinds import kind_of_value
from gpugda.values import group_key, order_key

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FUNCTIONS", "unique"]

_LARGEST_LIST = 2**31 - 1


def _head(items: Any) -> Any:
    found = list_of("head()", items)
    return found[0] if found else None


def _last(items: Any) -> Any:
    found = list_of("last()", items)
    return found[-1] if found else None


def _tail(items: Any) -> list[Any]:
    # Neo4j treats a value that is no list as a one-element list here, so its tail is empty.
    return list(items)[1:] if kind_of_value(items) == "list" else []


def _range(start: Any, end: Any, step: Any = 1) -> list[int]:
    first, last, by = (whole("range()", given) for given in (start, end, step))
    if by == 0:
        raise CypherArgumentError("the step of range() cannot be zero")
    found = range(first, last + (1 if by > 0 else -1), by)
    if max((last - first) // by + 1, 0) > _LARGEST_LIST:
        raise CypherExecutionError(f"range({first}, {last}, {by}) is too long for a list")
    check_items(len(found))
    return list(found)


# ------------------------------------------------------------------ coll.* in Cypher 25
def unique(items: list[Any]) -> Iterator[Any]:
    """Yields each distinct value at its first position; nulls are equal."""
    seen = set()
    for item in items:
        key = group_key(item)
        if key not in seen:
            seen.add(key)
            yield item


def _distinct(items: Any) -> list[Any]:
    return list(unique(list_of("coll.distinct()", items)))


def _flatten(items: Any, depth: Any = 1) -> list[Any]:
    levels = whole("coll.flatten()", depth)
    if levels < 0:
        raise CypherArgumentError("the depth of coll.flatten() cannot be negative")
    found = list_of("coll.flatten()", items)
    while levels and any(isinstance(item, list) for item in found):
        parts = [item if isinstance(item, list) else [item] for item in found]
        found = [item for part in parts for item in part]
        levels -= 1
    return found


def _index_of(items: Any, wanted: Any) -> int | None:
    if items is None or wanted is None:
        return None
    keys = [group_key(item) for item in list_of("coll.indexOf()", items)]
    key = group_key(wanted)
    return keys.index(key) if key in keys else -1


def _insert(items: Any, index: Any, item: Any) -> list[Any] | None:
    if items is None or index is None:
        return None
    found, place = list_of("coll.insert()", items), whole("coll.insert()", index)
    if not 0 <= place <= len(found):
        raise CypherArgumentError(f"coll.insert(): index {place} is out of range")
    return [*found[:place], item, *found[place:]]


def _remove(items: Any, index: Any) -> list[Any]:
    found, place = list_of("coll.remove()", items), whole("coll.remove()", index)
    if not 0 <= place < len(found):
        raise CypherArgumentError(f"coll.remove(): index {place} is out of range")
    return [*found[:place], *found[place + 1 :]]


def _extreme(items: Any, name: str, *, largest: bool) -> Any:
    # Null is the largest value here, unlike in aggregates.
    found = list_of(name, items)
    return (max if largest else min)(found, key=order_key) if found else None


def _sort(items: Any) -> list[Any]:
    return sorted(list_of("coll.sort()", items), key=order_key)


FUNCTIONS: tuple[Function, ...] = (
    Function("head", signature("list -> any"), _head),
    Function("last", signature("list -> any"), _last),
    Function("tail", signature("list -> list"), _tail),
    Function(
        "range",
        signature("integer, integer, integer -> list", 1),
        _range,
        null_in_null_out=False,
    ),
    Function("coll.distinct", signature("list -> list"), _distinct, cypher_versions=CYPHER_25),
    Function(
        "coll.flatten",
        signature("list, integer -> list", 1),
        _flatten,
        cypher_versions=CYPHER_25,
    ),
    Function(
        "coll.indexOf",
        signature("list, any -> integer"),
        _index_of,
        null_in_null_out=False,
        cypher_versions=CYPHER_25,
    ),
    Function(
        "coll.insert",
        signature("list, integer, any -> list"),
        _insert,
        null_in_null_out=False,
        cypher_versions=CYPHER_25,
    ),
    Function(
        "coll.max",
        signature("list -> any"),
        lambda items: _extreme(items, "coll.max()", largest=True),
        cypher_versions=CYPHER_25,
    ),
    Function(
        "coll.min",
        signature("list -> any"),
        lambda items: _extreme(items, "coll.min()", largest=False),
        cypher_versions=CYPHER_25,
    ),
    Function("coll.remove", signature("list, integer -> list"), _remove, cypher_versions=CYPHER_25),
    Function("coll.sort", signature("list -> list"), _sort, cypher_versions=CYPHER_25),
)
