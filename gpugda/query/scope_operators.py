"""Operand and result types of operators."""

from __future__ import annotations

from itertools import product
from typing import Final

from gpugda.query.ast import BinaryOperator as Op
from gpugda.query.type_sets import ANY, BOOLEAN, FLOAT, LIST, STRING, TypeSet, list_of

__all__ = ["left_types", "operand_types", "result_type"]

_NUMBERS: Final = ("Integer", "Float")
_INSTANTS: Final = ("Date", "Time", "LocalTime", "LocalDateTime", "DateTime")
_NUMERIC: Final = frozenset(product(_NUMBERS, _NUMBERS))
_PAIRS: Final = {
    Op.ADD: frozenset(product((*_NUMBERS, "String"), repeat=2))
    | {(each, "Duration") for each in (*_INSTANTS, "Duration")}
    | {("Duration", each) for each in _INSTANTS},
    Op.SUBTRACT: _NUMERIC | {(each, "Duration") for each in (*_INSTANTS, "Duration")},
    Op.MULTIPLY: _NUMERIC
    | {(each, "Duration") for each in _NUMBERS}
    | {("Duration", each) for each in _NUMBERS},
    Op.DIVIDE: _NUMERIC | {("Duration", each) for each in _NUMBERS},
    Op.MODULO: _NUMERIC,
    Op.POWER: _NUMERIC,
    Op.CONCATENATE: frozenset((("String", "String"), ("List", "List"))),
    Op.MATCHES: frozenset((("String", "String"),)),
}


def operand_types(operator: Op, left: TypeSet) -> TypeSet | None:
    """The possible types of the right operand; None for any type."""
    if operator is Op.IN:
        return LIST
    pairs = _PAIRS.get(operator)
    if pairs is None or left.types is None or (operator is Op.ADD and left.has("List")):
        return None
    wanted = {right for each, right in pairs if each in left.types}
    if operator is Op.ADD:
        wanted.add("List")
    return TypeSet(frozenset(wanted))


def left_types(operator: Op) -> TypeSet:
    """The possible types of the left operand."""
    pairs = _PAIRS.get(operator)
    if pairs is None or operator is Op.ADD:
        return ANY
    return TypeSet(frozenset(left for left, _ in pairs))


def result_type(operator: Op, left: TypeSet, right: TypeSet) -> TypeSet:
    """The possible types of the result."""
    if operator not in _PAIRS or operator is Op.MATCHES:
        return BOOLEAN
    if operator is Op.POWER:
        return FLOAT
    certain = (left.types, right.types)
    if LIST.types in certain and operator in (Op.ADD, Op.CONCATENATE):
        return _list_type(left, right)
    if operator not in (Op.ADD, Op.CONCATENATE):
        return _possible(operator, left, right)
    if None in certain:
        return ANY
    if STRING.types in certain and not (left.has("List") or right.has("List")):
        return STRING
    if all(kind.types is not None and kind.types <= set(_NUMBERS) for kind in (left, right)):
        return _possible(operator, left, right)
    return ANY


def _possible(operator: Op, left: TypeSet, right: TypeSet) -> TypeSet:
    """The possible result types, from the supported pairs of operand types."""
    found = {
        _of_pair(one, two) for one, two in _PAIRS[operator] if left.has(one) and right.has(two)
    }
    return TypeSet(frozenset(found)) if found else ANY


def _of_pair(left: str, right: str) -> str:
    if "Duration" in (left, right):
        return left if left in _INSTANTS else "Duration"
    return "Float" if "Float" in (left, right) else "Integer"


def _list_type(left: TypeSet, right: TypeSet) -> TypeSet:
    elements = [kind.element if kind.is_certainly("List") else kind for kind in (left, right)]
    first, second = elements
    return list_of(first if first is not None and first == second else ANY)
