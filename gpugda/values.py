"""The semantics of Cypher's operators on single values.

This is the only place that defines Neo4j's rules for null, numbers, texts, lists and temporal
values. Values are Python's: ``None`` for null, ``bool``, ``int`` (64 bit), ``float``, ``str``,
``list``, ``dict``, and neo4j's temporal and spatial types. A truth value of three-valued logic is
``True``, ``False`` or ``None``.

One rule differs from Neo4j deliberately: ``<`` and ``>`` compare an integer beyond 2^53 and a float
exactly, where Neo4j's result depends on how its version of Java prints the float.
"""

from __future__ import annotations

import math
from typing import Any

from gpugda.text_order import StoredText, refuse_if_orders_differ, text_key

__all__ = [
    "ByteArray",
    "Entity",
    "Path",
    "and_",
    "describe",
    "equals",
    "greater",
    "group_key",
    "is_in",
    "is_nan",
    "is_number",
    "kind_of",
    "less",
    "not_",
    "or_",
    "order_key",
    "truth_of",
    "xor_",
]


class Entity:
    """A node or relationship of the data graph as a plain value: its kind and its dense index."""

    __slots__ = ("index", "is_node")

    def __init__(self, is_node: bool, index: int) -> None:
        self.is_node = is_node
        self.index = index

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Entity)
            and self.is_node == other.is_node
            and self.index == other.index
        )

    def __hash__(self) -> int:
        return hash((self.is_node, self.index))

    def __repr__(self) -> str:
        return f"{'node' if self.is_node else 'relationship'} {self.index}"


class ByteArray(list[int]):
    """Bytes: a list of integers from -128 to 127, but for users, who get the bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        super().__init__(memoryview(data).cast("b"))
        self.data = data


class Path:
    """A path: nodes and relationships in order of traversal, one node more than relationships."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes: tuple[Entity, ...], relationships: tuple[Entity, ...] = ()) -> None:
        self.nodes = nodes
        self.relationships = relationships

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The elements of the path, alternating: ``[node, relationship, node, …]``."""
        steps = zip(self.relationships, self.nodes[1:], strict=True)
        return (self.nodes[0], *(entity for step in steps for entity in step))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.entities == other.entities

    def __hash__(self) -> int:
        return hash(self.entities)

    def __repr__(self) -> str:
        return f"path {', '.join(map(repr, self.entities))}"


_LARGEST_INTEGER = 2**63 - 1

# ------------------------------------------------------------------ kinds
_KIND_ORDER = {
    "map": 0,
    "node": 1,
    "relationship": 2,
    "list": 3,
    "path": 4,
    "point": 5,
    "datetime": 6,
    "localdatetime": 7,
    "date": 8,
    "time": 9,
    "localtime": 10,
    "duration": 11,
    "string": 12,
    "boolean": 13,
    "number": 14,
    "null": 15,
}

_PLAIN_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    StoredText: "string",
    list: "list",
    tuple: "list",
    dict: "map",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """The kind of a value for equality and order: ``"number"``, ``"map"``, …."""
    kind = _PLAIN_KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Entity):
        return "node" if value.is_node else "relationship"
    if isinstance(value, Path):
        return "path"
    # By class name, so that neo4j's types need not be imported; durations and points are tuples.
    name = type(value).__name__
    if name == "DateTime":
        return "localdatetime" if value.tzinfo is None else "datetime"
    if name == "Time":
        return "localtime" if value.tzinfo is None else "time"
    if name in ("Date", "Duration"):
        return name.lower()
    for plain in (int, float, str, list, dict):  # subclasses, such as numpy's float64
        if isinstance(value, plain):
            return _PLAIN_KINDS[plain]
    return "point"


def is_number(value: Any) -> bool:
    """True for an integer or float, but not for a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# ------------------------------------------------------------------ three-valued logic
def not_(a: bool | None) -> bool | None:
    """NOT."""
    return None if a is None else not a


def and_(a: bool | None, b: bool | None) -> bool | None:
    """AND: false dominates null."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def or_(a: bool | None, b: bool | None) -> bool | None:
    """OR: true dominates null."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def xor_(a: bool | None, b: bool | None) -> bool | None:
    """XOR: null dominates everything."""
    return None if a is None or b is None else a != b


def truth_of(value: Any) -> bool | None:
    """The truth value of a condition; a list is true if it is not empty.

    Raises:
        TypeError: The value is neither a truth value nor a list.
    """
    if value is None or isinstance(value, bool):
        return value
    if kind_of(value) == "list":
        return len(value) > 0
    raise TypeError(f"Don't know how to treat that as a predicate: {describe(value)}")


# ------------------------------------------------------------------ equality and comparison
def equals(a: Any, b: Any) -> bool | None:
    """``a = b``: null if either is null, false for different kinds, 1 = 1.0, NaN equals nothing.

    Times with different offsets or zones differ, even at the same instant.
    """
    if a is None or b is None:
        return None
    kind = kind_of(a)
    if kind != kind_of(b):
        return False
    if kind == "list":
        return _lists_equal(a, b)
    if kind == "map":
        return _maps_equal(a, b)
    if kind == "number":
        return bool(_number_identity(a) == _number_identity(b))
    if kind not in _KEYS:
        return bool(a == b)
    return bool(_KEYS[kind](a) == _KEYS[kind](b))


def _lists_equal(a: list[Any], b: list[Any]) -> bool | None:
    if len(a) != len(b):
        return False
    result: bool | None = True
    for x, y in zip(a, b, strict=True):
        result = and_(result, equals(x, y))
        if result is False:
            return False
    return result


def _maps_equal(a: dict[str, Any], b: dict[str, Any]) -> bool | None:
    if a.keys() != b.keys():
        return False
    result: bool | None = True
    for key, value in a.items():
        result = and_(result, equals(value, b[key]))
        if result is False:
            return False
    return result


def is_in(item: Any, items: Any) -> bool | None:
    """``item IN items``: true if it equals an element, else null if that is unknown for one.

    A value that is not a list counts as a list of itself; an empty list contains nothing, not even
    null.
    """
    if items is None:
        return None
    result: bool | None = False
    for other in items if kind_of(items) == "list" else [items]:
        result = or_(result, equals(item, other))
        if result is True:
            return True
    return result


def less(a: Any, b: Any, *, or_equal: bool = False) -> bool | None:
    """``a < b`` or ``a <= b``: null if the kinds cannot be compared, false against NaN.

    -0.0 is less than 0 although it equals 0. Durations and points have no order, but equal ones
    satisfy ``<=``.
    """
    kind = kind_of(a)
    if kind != kind_of(b) or kind == "null":
        return None
    if kind == "number" and (is_nan(a) or is_nan(b)):
        return False
    sign = _sign(a, b)
    if sign is None or (kind in _UNORDERED and not or_equal):
        return None
    return sign < 0 or (or_equal and sign == 0)


def greater(a: Any, b: Any, *, or_equal: bool = False) -> bool | None:
    """``a > b`` or ``a >= b``."""
    return less(b, a, or_equal=or_equal)


_UNORDERED = frozenset({"duration", "point"})


def is_nan(value: Any) -> bool:
    """True for the number NaN."""
    return isinstance(value, float) and math.isnan(value)


def _sign(a: Any, b: Any) -> int | None:
    """Negative, 0 or positive for ``a`` before, at or after ``b``; None if that is undefined."""
    kind = kind_of(a)
    if kind != kind_of(b) or kind == "null" or is_nan(a) or is_nan(b):
        return None
    if kind == "list":
        return _first_sign(a, b, len(a) - len(b))
    if kind == "map":
        return _sign_of_maps(a, b)
    if kind == "string":
        refuse_if_orders_differ(a, b)
    key = _KEYS.get(kind, _same)
    x, y = key(a), key(b)
    if kind in _UNORDERED:
        return 0 if x == y else None
    return int(x > y) - int(x < y)


def _first_sign(a: Any, b: Any, otherwise: int) -> int | None:
    for x, y in zip(a, b, strict=False):
        sign = _sign(x, y)
        if sign != 0:
            return sign
    return otherwise


def _sign_of_maps(a: dict[str, Any], b: dict[str, Any]) -> int | None:
    x, y = (len(a), sorted(a)), (len(b), sorted(b))
    if x != y:
        return -1 if x < y else 1
    return _first_sign([a[key] for key in x[1]], [b[key] for key in x[1]], 0)


# ------------------------------------------------------------------ keys within one kind
def _same(value: Any) -> Any:
    return value


def _number_identity(value: float) -> float:
    # Neo4j compares exactly, but casts 2^63 to the largest integer, which is one less.
    return 2.0**63 if value == _LARGEST_INTEGER else value


def _number_key(value: float) -> tuple[float, int]:
    # -0.0 sorts before 0.0 and 0, which share a position.
    return value, -1 if value == 0 and math.copysign(1.0, value) < 0 else 0


def _offset_ticks(value: Any) -> int:
    offset = value.utcoffset()
    return (offset.days * 86_400 + offset.seconds) * 10**9 if offset is not None else 0


def _moment_key(value: Any) -> tuple[Any, ...]:
    ticks: int = value.date().to_ordinal() * 86_400 * 10**9 + value.time().ticks
    if value.tzinfo is None:
        return (ticks,)
    offset, zone = _offset_ticks(value), value.tzinfo
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return ticks - offset, offset, name or ""  # a plain offset sorts before named zones


def _time_key(value: Any) -> tuple[int, ...]:
    if value.tzinfo is None:
        return (value.ticks,)
    offset = _offset_ticks(value)
    return value.ticks - offset, offset


def _duration_key(value: Any) -> tuple[int, ...]:
    months, days, seconds, nanoseconds = value
    # A month counts as a twelfth of the mean Gregorian year.
    ticks = (months * 2_629_746 + days * 86_400 + seconds) * 10**9 + nanoseconds
    return ticks, months, days, seconds, nanoseconds


_KEYS = {
    "node": lambda value: value.index,
    "relationship": lambda value: value.index,
    "path": lambda value: tuple(entity.index for entity in value.entities),
    "number": _number_key,
    "point": lambda value: (value.srid, tuple(map(_number_key, value))),
    "datetime": _moment_key,
    "localdatetime": _moment_key,
    "date": lambda value: value.to_ordinal(),
    "time": _time_key,
    "localtime": _time_key,
    "duration": _duration_key,
}


# ------------------------------------------------------------------ grouping and ordering
def group_key(value: Any) -> Any:
    """A hashable key, equal for values that DISTINCT and grouping treat as equal.

    Null equals null, 1 equals 1.0, and 0.0 equals -0.0; true is not 1. NaN equals only itself (the
    same Python object): Neo4j distinguishes the NaN values of different nodes.
    """
    kind = kind_of(value)
    if kind == "list":
        return (kind, tuple(group_key(item) for item in value))
    if kind == "map":
        return (kind, tuple((key, group_key(value[key])) for key in sorted(value)))
    if kind == "number":
        return (kind, _number_identity(value))
    return (kind, _KEYS.get(kind, _same)(value))


def order_key(value: Any) -> tuple[Any, ...]:
    """The sort key of ORDER BY: by kind, NaN after numbers, null last."""
    kind = kind_of(value)
    place = _KIND_ORDER[kind]
    if kind == "null":
        return (place,)
    if kind == "number":
        return (place, 1) if is_nan(value) else (place, 0, *_number_key(value))
    if kind == "list":
        return (place, tuple(order_key(item) for item in value))
    if kind == "map":
        names = sorted(value)
        return (place, len(names), names, tuple(order_key(value[name]) for name in names))
    if kind == "string":
        return (place, text_key(value))
    return (place, _KEYS.get(kind, _same)(value))


# ------------------------------------------------------------------ text for users
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def describe(value: Any) -> str:
    """A value with its type, in the format of Neo4j's error messages."""
    if isinstance(value, bool):
        return f"Boolean('{str(value).lower()}')"
    if isinstance(value, int):
        return f"Long({value})"
    if isinstance(value, float):
        return f"Double({_NOT_FINITE.get(str(value)) or format(value, '.6e')})"
    if isinstance(value, str):
        return f'String("{value}")'
    if kind_of(value) == "list":
        return f"List{{{', '.join(map(describe, value))}}}"
    return str(value)
