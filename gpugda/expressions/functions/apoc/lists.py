"""``apoc.coll.*``."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from gpugda.expressions.functions.apoc.plain import apoc, keys_of, plain_list, refuse
from gpugda.expressions.functions.lists import unique
from gpugda.expressions.numbers import added

__all__ = ["FUNCTIONS"]

_NUMBERS = ("integer", "float")


def _one_kind(name: str, given: Any) -> list[Any]:
    """A list of numbers only or of ASCII strings only, whose order is unambiguous."""
    items = plain_list(name, given, (*_NUMBERS, "string"))
    texts = [isinstance(item, str) for item in items]
    if (items and any(texts) != all(texts)) or not all(str(item).isascii() for item in items):
        refuse(name)
    return items


def _to_set(name: str, items: Any) -> list[Any]:
    return list(unique(plain_list(name, items)))


def _sum(name: str, items: Any) -> float | None:
    numbers = plain_list(name, items, _NUMBERS)
    return added(map(float, numbers)) if numbers else None


def _avg(name: str, items: Any) -> float | None:
    total = _sum(name, items)
    return None if total is None else total / len(items)


def _max(name: str, items: Any) -> Any:
    return max(_one_kind(name, items), default=None)


def _min(name: str, items: Any) -> Any:
    return min(_one_kind(name, items), default=None)


def _sort(name: str, items: Any) -> list[Any]:
    found = _one_kind(name, items)
    if len({type(item) for item in found}) > 1:
        refuse(name)
    return sorted(found)


def _contains(name: str, items: Any, item: Any) -> bool:
    return keys_of(plain_list(name, [item]))[0] in keys_of(plain_list(name, items))


def _contains_all(name: str, items: Any, wanted: Any) -> bool:
    return set(keys_of(plain_list(name, wanted))) <= set(keys_of(plain_list(name, items)))


def _index_of(name: str, items: Any, item: Any) -> int:
    keys, key = keys_of(plain_list(name, items)), keys_of(plain_list(name, [item]))[0]
    return keys.index(key) if key in keys else -1


def _union_all(name: str, first: Any, second: Any) -> list[Any]:
    return [*plain_list(name, first), *plain_list(name, second)]


def _remove_all(name: str, first: Any, second: Any) -> list[Any]:
    taken = set(keys_of(plain_list(name, second)))
    items = plain_list(name, first)
    return [item for item, key in zip(items, keys_of(items), strict=True) if key not in taken]


def _pairs(name: str, items: Any) -> list[Any]:
    found = plain_list(name, items)
    return [list(pair) for pair in zip_longest(found, found[1:])]


def _pairs_min(name: str, items: Any) -> list[Any]:
    return _pairs(name, items)[:-1]


def _zip(name: str, first: Any, second: Any) -> list[Any]:
    a, b = plain_list(name, first), plain_list(name, second)
    if len(b) > len(a):
        refuse(name)
    return [list(pair) for pair in zip_longest(a, b)]


def _flatten(name: str, items: Any) -> list[Any]:
    """Flattens one level of lists of plain values; deeper lists are refused."""
    if not isinstance(items, list):
        refuse(name)
    parts = [each if isinstance(each, list) else [each] for each in items]
    return [item for part in parts for item in plain_list(name, part)]


def _different(name: str, items: Any) -> bool:
    keys = keys_of(plain_list(name, items))
    return len(set(keys)) == len(keys)


def _occurrences(name: str, items: Any, item: Any) -> int:
    return keys_of(plain_list(name, items)).count(keys_of(plain_list(name, [item]))[0])


FUNCTIONS = (
    apoc("apoc.coll.toSet", "list -> list", _to_set),
    apoc("apoc.coll.sum", "list -> float", _sum),
    apoc("apoc.coll.avg", "list -> float", _avg),
    apoc("apoc.coll.max", "list -> any", _max),
    apoc("apoc.coll.min", "list -> any", _min),
    apoc("apoc.coll.sort", "list -> list", _sort),
    apoc("apoc.coll.contains", "list, any -> boolean", _contains),
    apoc("apoc.coll.containsAll", "list, list -> boolean", _contains_all),
    apoc("apoc.coll.indexOf", "list, any -> integer", _index_of),
    apoc("apoc.coll.unionAll", "list, list -> list", _union_all),
    apoc("apoc.coll.removeAll", "list, list -> list", _remove_all),
    apoc("apoc.coll.pairs", "list -> list", _pairs),
    apoc("apoc.coll.pairsMin", "list -> list", _pairs_min),
    apoc("apoc.coll.zip", "list, list -> list", _zip),
    apoc("apoc.coll.flatten", "list -> list", _flatten),
    apoc("apoc.coll.different", "list -> boolean", _different),
    apoc("apoc.coll.occurrences", "list, any -> integer", _occurrences),
    apoc("apoc.convert.toSet", "any -> list", _to_set),
)
