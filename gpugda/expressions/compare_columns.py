"""Equality and order of operands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.boolean_columns import UNKNOWN, Truth, not_, pairwise
from gpugda.expressions.operands import Constant, Flags, Operand, both, inverted, validity
from gpugda.expressions.temporal.moment_columns import moments_of_operand
from gpugda.expressions.text_columns import (
    common_codes,
    refuse_unknown_order,
    texts_equal,
    texts_less,
)
from gpugda.query.ast import ComparisonOperator

if TYPE_CHECKING:
    from gpugda.expressions.temporal.rows import MomentRows
    from gpugda.expressions.text_columns import Cache


__all__ = [
    "are_nan",
    "compare",
    "equal",
    "kind_of_operand",
    "moments_equal",
    "moments_less",
    "numbers_at_most",
    "numbers_equal",
    "numbers_less",
]

Numbers: TypeAlias = NDArray[Any] | int | float

_EXACT = 2**53
_BEYOND = 2.0**63
_LARGEST = 2**63 - 1


def are_nan(numbers: Numbers) -> Flags:
    """Mask of NaNs."""
    if isinstance(numbers, np.ndarray):
        return np.isnan(numbers) if numbers.dtype.kind == "f" else False
    return isinstance(numbers, float) and math.isnan(numbers)


def numbers_equal(a: Numbers, b: Numbers) -> Flags:
    """``a = b``; never for NaN. The largest integer equals 2^63, as in Neo4j."""
    if _is_float(a) == _is_float(b):
        return _flags(a == b)
    integers, floats = (b, a) if _is_float(a) else (a, b)
    if isinstance(floats, float):
        inside = floats.is_integer() and -_BEYOND <= floats <= _BEYOND
        return _flags(integers == min(int(floats), _LARGEST)) if inside else False
    if isinstance(integers, int):
        near = float(integers)
        is_equal = int(near) == integers or integers == _LARGEST
        return _flags(floats == near) if is_equal else False
    return _equal_arrays(integers, floats)


def numbers_less(a: Numbers, b: Numbers) -> Flags:
    """``a < b``; never for NaN. -0.0 is less than 0."""
    if not _is_float(a) and not _is_float(b):
        return _flags(a < b)
    if _is_float(a) and _is_float(b):
        return _floats_less(a, b)
    if isinstance(a, float):
        return _float_less_than(a, b)
    if isinstance(b, float):
        return _less_than_float(a, b)
    if isinstance(a, int):
        return _integer_less_than(a, b)
    if isinstance(b, int):
        return _less_than_integer(a, b)
    return _mixed_less(a, b)


def numbers_at_most(a: Numbers, b: Numbers) -> Flags:
    """``a <= b``; never for NaN. 0.0 is not at most -0.0."""
    if _is_float(a) == _is_float(b):
        at_most = a <= b
        between = _between_zeros(b, a) if _is_float(a) else None
        return _flags(at_most if between is None else at_most & ~between)
    less = numbers_less(b, a)
    beside = are_nan(a) if _is_float(a) else are_nan(b)
    if isinstance(less, bool) and isinstance(beside, bool):
        return not less and not beside
    return np.logical_not(np.logical_or(less, beside))


def _is_float(numbers: Numbers) -> bool:
    return isinstance(numbers, float) or (
        isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"
    )


def _flags(flags: Any) -> Flags:
    return flags if isinstance(flags, np.ndarray) else bool(flags)


def _floats_less(a: Numbers, b: Numbers) -> Flags:
    less, between = a < b, _between_zeros(a, b)
    return _flags(less if between is None else less | between)


def _between_zeros(a: Numbers, b: Numbers) -> Any:
    """Mask of the pairs (-0.0, 0.0); None if there are none."""
    if isinstance(a, float) and not (a == 0 and np.signbit(a)):
        return None
    if isinstance(b, float) and (b != 0 or np.signbit(b)):
        return None
    zeros = np.equal(a, 0)
    if not np.any(zeros):
        return None
    zeros &= np.equal(b, 0)
    return zeros & np.signbit(a) & ~np.signbit(b) if np.any(zeros) else None


# ------------------------------------------------------------------ integers and one float
def _less_than_float(integers: Numbers, limit: float) -> Flags:
    if math.isnan(limit) or abs(limit) >= _BEYOND:
        return limit > 0
    return _flags(integers < math.ceil(limit))


def _float_less_than(limit: float, integers: Numbers) -> Flags:
    if math.isnan(limit) or limit >= _BEYOND:
        return False
    if limit < -_BEYOND:
        return True
    if limit == 0 and math.copysign(1.0, limit) < 0:
        return _flags(integers >= 0)
    return _flags(integers > math.floor(limit))


# ------------------------------------------------------------------ floats and one integer
def _less_than_integer(floats: Numbers, limit: int) -> Flags:
    near = float(limit)
    # If the integer is no float, no float lies between it and its nearest one.
    if int(near) == limit:
        return _floats_less(floats, near)
    return _flags(floats < near if near > limit else floats <= near)


def _integer_less_than(limit: int, floats: Numbers) -> Flags:
    near = float(limit)
    if int(near) == limit:
        return _floats_less(near, floats)
    return _flags(floats >= near if near > limit else floats > near)


# ------------------------------------------------------------------ integer and float arrays
def _equal_arrays(integers: Any, floats: Any) -> NDArray[np.bool_]:
    plain: NDArray[np.bool_] = integers == floats  # NumPy converts the integers to floats
    if _all_exact(integers):
        return plain
    inside, below = _floors(floats)
    exact: NDArray[np.bool_] = inside & (integers == below) & (np.floor(floats) == floats)
    exact |= (floats == _BEYOND) & (integers == _LARGEST)
    return exact


def _mixed_less(a: NDArray[Any], b: NDArray[Any]) -> Flags:
    integers, floats = (b, a) if _is_float(a) else (a, b)
    # NumPy converts the integers to floats; only -0.0 is less than an integer's 0.
    plain = a < b
    if _is_float(a):
        zeros = floats == 0
        if zeros.any():
            plain |= zeros & np.signbit(floats) & (integers == 0)
    if _all_exact(integers):
        return plain
    inside, below = _floors(floats)
    if _is_float(a):
        exact = np.where(inside, below < integers, floats < 0)
    else:
        same = (integers == below) & (floats > np.floor(floats))
        exact = np.where(inside, (integers < below) | same, floats > 0)
    return np.where(_exact(integers), plain, exact)


def _exact(integers: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (integers >= -_EXACT) & (integers <= _EXACT)


def _all_exact(integers: NDArray[np.int64]) -> bool:
    return len(integers) == 0 or (integers.min() >= -_EXACT and integers.max() <= _EXACT)


def _floors(floats: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    inside = (floats >= -_BEYOND) & (floats < _BEYOND)
    return inside, np.floor(np.where(inside, floats, 0.0)).astype(np.int64)


def moments_equal(left: Operand, right: Operand) -> Truth | None:
    """``left = right``; None unless both sides have one kind and one offset from UTC."""
    sides = _sides(left, right)
    if sides is None:
        return None
    a, b = sides
    return _known((a.seconds == b.seconds) & (a.fractions == b.fractions), left, right)


def moments_less(left: Operand, right: Operand, *, or_equal: bool) -> Truth | None:
    """``left < right`` or ``left <= right``; None as `moments_equal`."""
    sides = _sides(left, right)
    if sides is None:
        return None
    a, b = sides
    rest = a.fractions <= b.fractions if or_equal else a.fractions < b.fractions
    return _known((a.seconds < b.seconds) | ((a.seconds == b.seconds) & rest), left, right)


def _known(holds: Flags, left: Operand, right: Operand) -> Truth:
    valid = both(validity(left), validity(right))
    return Truth(both(holds, valid), both(inverted(holds), valid))


def _sides(left: Operand, right: Operand) -> tuple[MomentRows, MomentRows] | None:
    if not (isinstance(left, Column) or isinstance(right, Column)):
        return None
    a = moments_of_operand(left)
    b = None if a is None else moments_of_operand(right)
    if a is None or b is None or (a.kind, a.offset) != (b.kind, b.offset):
        return None
    return a, b


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
