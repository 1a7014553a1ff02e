"""Equality and order of operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.boolean_columns import UNKNOWN, Truth, not_, pairwise
from gpugda.expressions.compare_moments import moments_equal, moments_less
from gpugda.expressions.number_columns import numbers_at_most, numbers_equal, numbers_less
from gpugda.expressions.operands import Constant, Flags, Operand, both, inverted, validity
from gpugda.expressions.text_columns import (
    common_codes,
    refuse_unknown_order,
    texts_equal,
    texts_less,
)
from gpugda.query.ast import ComparisonOperator

if TYPE_CHECKING:
    from gpugda.expressions.text_columns import Cache

__all__ = ["compare", "equal", "kind_of_operand"]

_KINDS = {
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.INTEGER: "number",
    ColumnKind.FLOAT: "number",
    ColumnKind.STRING: "string",
    ColumnKind.NODE: "node",
    ColumnKind.RELATIONSHIP: "relationship",
}


def kind_of_operand(operand: Operand) -> str | None:
    """The kind of all values; None if it may differ from row to row."""
    if isinstance(operand, Constant):
        return values.kind_of(operand.value)
    return _KINDS.get(operand.kind)


def compare(
    operator: ComparisonOperator, left: Operand, right: Operand, row_count: int, cache: Cache
) -> Truth:
    """``left operator right``."""
    if operator is ComparisonOperator.EQUAL:
        return equal(left, right, row_count, cache)
    if operator is ComparisonOperator.NOT_EQUAL:
        return not_(equal(left, right, row_count, cache))
    or_equal = operator in (ComparisonOperator.LESS_EQUAL, ComparisonOperator.GREATER_EQUAL)
    if operator in (ComparisonOperator.GREATER, ComparisonOperator.GREATER_EQUAL):
        left, right = right, left
    return _less(left, right, or_equal, row_count, cache)


def equal(left: Operand, right: Operand, row_count: int, cache: Cache) -> Truth:
    """``left = right``."""
    kind, other = kind_of_operand(left), kind_of_operand(right)
    if "null" in (kind, other):
        return UNKNOWN
    if kind is None or other is None or _both_constant(left, right):
        found = moments_equal(left, right)
        return pairwise(values.equals, left, right, row_count) if found is None else found
    valid = both(validity(left), validity(right))
    if kind != other:
        return Truth(False, valid)
    same = _equal_of_kind(kind, left, right, cache)
    return Truth(both(same, valid), both(inverted(same), valid))


def _less(left: Operand, right: Operand, or_equal: bool, row_count: int, cache: Cache) -> Truth:
    kind, other = kind_of_operand(left), kind_of_operand(right)
    if kind is None or other is None or _both_constant(left, right):
        found = moments_less(left, right, or_equal=or_equal)
        if found is not None:
            return found
        return pairwise(lambda a, b: values.less(a, b, or_equal=or_equal), left, right, row_count)
    if kind != other or kind == "null":
        return UNKNOWN
    valid = both(validity(left), validity(right))
    less = _less_of_kind(kind, left, right, or_equal, cache)
    return Truth(both(less, valid), both(inverted(less), valid))


def _both_constant(left: Operand, right: Operand) -> bool:
    return isinstance(left, Constant) and isinstance(right, Constant)


def _raw(operand: Operand) -> Any:
    if isinstance(operand, Column):
        return operand.values
    value = operand.value
    return value.index if isinstance(value, values.Entity) else value


def _equal_of_kind(kind: str, left: Operand, right: Operand, cache: Cache) -> Flags:
    if kind == "number":
        return numbers_equal(_raw(left), _raw(right))
    if kind == "string":
        if isinstance(left, Column) and isinstance(right, Column):
            a, b = common_codes(left, right, cache)
            equal: Flags = a == b
            return equal
        if isinstance(left, Column) and isinstance(right, Constant):
            return texts_equal(left, right.value)
        assert isinstance(left, Constant)
        assert isinstance(right, Column)
        return texts_equal(right, left.value)
    same: Flags = _raw(left) == _raw(right)
    return same


def _less_of_kind(kind: str, left: Operand, right: Operand, or_equal: bool, cache: Cache) -> Flags:
    if kind == "number":
        return _numbers_less(_raw(left), _raw(right), or_equal)
    if kind == "string":
        return _texts_less(left, right, or_equal, cache)
    a, b = _raw(left), _raw(right)
    less: Flags = a <= b if or_equal else a < b
    return less


def _numbers_less(a: Any, b: Any, or_equal: bool) -> Flags:
    return numbers_at_most(a, b) if or_equal else numbers_less(a, b)


def _texts_less(left: Operand, right: Operand, or_equal: bool, cache: Cache) -> Flags:
    if isinstance(left, Column) and isinstance(right, Column):
        refuse_unknown_order(left, right)
        a, b = common_codes(left, right, cache)
        less: Flags = a <= b if or_equal else a < b
        return less
    if isinstance(left, Column) and isinstance(right, Constant):
        return texts_less(left, right.value, or_equal=or_equal, swapped=False)
    assert isinstance(left, Constant)
    assert isinstance(right, Column)
    return texts_less(right, left.value, or_equal=or_equal, swapped=True)
