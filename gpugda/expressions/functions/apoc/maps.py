"""``apoc.map.*`` and ``apoc.convert.*``."""

from __future__ import annotations

from typing import Any

from gpugda.expressions.functions.apoc.plain import apoc, plain_list, refuse

__all__ = ["FUNCTIONS"]


def _map(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        refuse(name)
    return dict(given)


def _key(name: str, given: Any) -> str:
    if not isinstance(given, str):
        refuse(name)
    return given


def _merge(name: str, first: Any, second: Any) -> dict[str, Any]:
    return _map(name, first or {}) | _map(name, second or {})


def _from_pairs(name: str, pairs: Any) -> dict[str, Any]:
    if not isinstance(pairs, list):
        refuse(name)
    if any(not isinstance(pair, list) or len(pair) != 2 or None in pair for pair in pairs):
        refuse(name)
    return {_key(name, key): item for key, item in pairs}


def _from_lists(name: str, keys: Any, items: Any) -> dict[str, Any]:
    if not isinstance(items, list) or len(plain_list(name, keys, ("string",))) != len(items):
        refuse(name)
    return dict(zip(keys, items, strict=True))


def _from_values(name: str, items: Any) -> dict[str, Any]:
    if not isinstance(items, list) or len(items) % 2:
        refuse(name)
    return _from_lists(name, items[::2], items[1::2])


def _set_key(name: str, given: Any, key: Any, item: Any) -> dict[str, Any]:
    return _map(name, given) | {_key(name, key): item}


def _remove_key(name: str, given: Any, key: Any) -> dict[str, Any]:
    return _remove_keys(name, given, [key])


def _remove_keys(name: str, given: Any, keys: Any) -> dict[str, Any]:
    taken = set(plain_list(name, keys, ("string",)))
    return {key: item for key, item in _map(name, given).items() if key not in taken}


def _submap(name: str, given: Any, keys: Any) -> dict[str, Any]:
    found = dict(zip(keys, _values(name, given, keys), strict=True))
    return found


def _values(name: str, given: Any, keys: Any) -> list[Any]:
    known = _map(name, given)
    if any(key not in known for key in plain_list(name, keys, ("string",))):
        refuse(name)
    return [known[key] for key in keys]


def _get(name: str, given: Any, key: Any, default: Any = ...) -> Any:
    known = _map(name, given)
    if _key(name, key) in known:
        return known[key]
    return refuse(name) if default is ... else default


def _to_list(name: str, given: Any) -> Any:
    if given is None or isinstance(given, list):
        return given
    return plain_list(name, [given])


def _to_map(name: str, given: Any) -> Any:
    return None if given is None else _map(name, given)


FUNCTIONS = (
    apoc("apoc.map.merge", "map, map -> map", _merge, nulls=True),
    apoc("apoc.map.fromPairs", "list -> map", _from_pairs),
    apoc("apoc.map.fromLists", "list, list -> map", _from_lists),
    apoc("apoc.map.fromValues", "list -> map", _from_values),
    apoc("apoc.map.setKey", "map, string, any -> map", _set_key),
    apoc("apoc.map.setEntry", "map, string, any -> map", _set_key),
    apoc("apoc.map.removeKey", "map, string -> map", _remove_key),
    apoc("apoc.map.removeKeys", "map, list -> map", _remove_keys),
    apoc("apoc.map.submap", "map, list -> map", _submap),
    apoc("apoc.map.values", "map, list -> list", _values),
    apoc("apoc.map.mget", "map, list -> list", _values),
    apoc("apoc.map.get", "map, string, any -> any", _get, 1),
    apoc("apoc.convert.toList", "any -> list", _to_list, nulls=True),
    apoc("apoc.convert.toMap", "any -> map", _to_map, nulls=True),
)
