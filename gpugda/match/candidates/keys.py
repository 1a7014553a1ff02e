"""Integer keys whose order and equality are those of two columns' values, for kernels.

Each value of both sides gets a key of 32 bits; the keys compare as the values do. A value that
makes the comparison null or false whatever the other side is gets no key.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.operands import distinct_values
from gpugda.expressions.text_columns import common_codes, refuse_unknown_order
from gpugda.query.ast import ComparisonOperator
from gpugda.types import value
from gpugda.values import group_key, kind_of, order_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GROUP_BITS", "Keys", "make_keys"]

GROUP_BITS = 28
"""Bits of a key below its kind, if the columns hold several kinds of values."""
_MAX_OBJECTS = 1 << 20
_EXACT = 2**53
_LEFT_NAN, _RIGHT_NAN = 2**32 - 2, 2**32 - 1
_MAX_KEYS = 2**32 - 2
_NUMBERS = (ColumnKind.INTEGER, ColumnKind.FLOAT)
_EQUALITIES = (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL)
_ALL_OF_A_KIND = frozenset(
    {"number", "string", "boolean", "datetime", "localdatetime", "date", "time", "localtime"}
)
"""Kinds whose values are totally ordered, and equal if they compare as equal."""


@value(frozen=True, slots=True, eq=False)
class Keys:
    """The keys of both sides.

    Args:
        left: ``uint32`` per row; the same array as ``right`` if both sides are the same column.
        right: ``uint32`` per row.
        left_fits: True for left values that have a key; None if all have one.
        right_fits: True for right values that have a key; None if all have one.
        distinct: Approximate number of different keys.
        grouped: True if the highest bits separate kinds that are not comparable with each other.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    left_fits: NDArray[np.bool_] | None
    right_fits: NDArray[np.bool_] | None
    distinct: int
    grouped: bool = False


def make_keys(left: Column, right: Column, operator: ComparisonOperator) -> Keys | None:
    """Keys for ``left operator right``; None if values have no such keys (lists, points, …)."""
    kinds = (left.kind, right.kind)
    if kinds == (ColumnKind.STRING, ColumnKind.STRING):
        if operator not in _EQUALITIES:
            refuse_unknown_order(left, right)
        return _of_codes(left, right)
    if kinds == (ColumnKind.BOOLEAN, ColumnKind.BOOLEAN):
        return _keys(left, right, left.values, right.values, 2)
    if kinds == (ColumnKind.INTEGER, ColumnKind.INTEGER):
        return _of_integers(left, right)
    if all(kind in _NUMBERS for kind in kinds) and _are_floats(left) and _are_floats(right):
        return _of_floats(left, right, operator)
    return _of_values(left, right, operator)


def _keys(
    left: Column, right: Column, of_left: NDArray[Any], of_right: NDArray[Any], distinct: int
) -> Keys:
    first = np.ascontiguousarray(of_left, dtype=np.uint32)
    is_same = of_right is of_left
    second = first if is_same else np.ascontiguousarray(of_right, dtype=np.uint32)
    return Keys(first, second, left.valid, right.valid, max(distinct, 1))


def _of_codes(left: Column, right: Column) -> Keys:
    of_left, of_right = common_codes(left, right, {})
    return _keys(left, right, of_left, of_right, max(left.distinct_count or 0, 1))


# ------------------------------------------------------------------ numbers
def _of_integers(left: Column, right: Column) -> Keys:
    ends = [each for column in (left, right) for each in _ends(column)]
    low, high = (min(ends), max(ends)) if ends else (0, 0)
    if high - low < _MAX_KEYS:
        shift = np.uint64(low % 2**64)
        shifted = [each.values.view(np.uint64) - shift for each in _different(left, right)]
        return _keys(left, right, shifted[0], shifted[-1], min(high - low + 1, len(left)))
    return _of_places(left, right, [each.values for each in _different(left, right)])


def _ends(column: Column) -> list[int]:
    values = column.values if column.valid is None else column.values[column.valid]
    return [int(values.min()), int(values.max())] if len(values) else []


def _different(left: Column, right: Column) -> list[Column]:
    return [left] if left.values is right.values else [left, right]


def _of_places(left: Column, right: Column, sides: list[NDArray[Any]]) -> Keys:
    """Keys that are the ranks of the values among all distinct ones."""
    distinct, places = np.unique(np.concatenate(sides), return_inverse=True)
    places = places.reshape(-1).astype(np.uint32)
    first, second = places[: len(sides[0])], places[len(sides[0]) :]
    return _keys(left, right, first, first if len(sides) == 1 else second, len(distinct))


def _are_floats(column: Column) -> bool:
    """True if every number is exactly representable as a float."""
    if column.kind is ColumnKind.FLOAT:
        return True
    return all(-_EXACT <= each <= _EXACT for each in _ends(column))


def _of_floats(left: Column, right: Column, operator: ComparisonOperator) -> Keys:
    sides = [each.values.astype(np.float64) for each in _different(left, right)]
    # -0.0 equals 0.0, but sorts before it.
    is_equality = operator in _EQUALITIES
    keys = _of_places(
        left, right, [side + 0.0 if is_equality else _in_order(side) for side in sides]
    )
    nan = [np.isnan(side) for side in sides]
    if not any(each.any() for each in nan):
        return keys
    if operator is ComparisonOperator.NOT_EQUAL:  # NaN differs from all, also from itself
        of_left = np.where(nan[0], np.uint32(_LEFT_NAN), keys.left)
        of_right = np.where(nan[-1], np.uint32(_RIGHT_NAN), keys.right)
        return Keys(of_left, of_right, keys.left_fits, keys.right_fits, keys.distinct)
    left_fits, right_fits = _and(keys.left_fits, ~nan[0]), _and(keys.right_fits, ~nan[-1])
    return Keys(keys.left, keys.right, left_fits, right_fits, keys.distinct)


def _in_order(floats: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers in the order of floats that are not NaN."""
    bits = floats.view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))


def _and(flags: NDArray[np.bool_] | None, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return other if flags is None else flags & other


# ------------------------------------------------------------------ values of any kind
def _of_values(left: Column, right: Column, operator: ComparisonOperator) -> Keys | None:
    sides = [distinct_values(each, len(each)) for each in _different(left, right)]
    sides = [sides[0], sides[-1]]
    values = [each for _, distinct in sides for each in distinct if each is not None]
    kinds = {kind_of(each) for each in values}
    if len(values) > _MAX_OBJECTS or not kinds <= _ALL_OF_A_KIND:
        return None
    if operator in _EQUALITIES:
        known: dict[Any, int] = {}
        for each in values:
            if not _is_nan(each):
                known.setdefault(group_key(each), len(known))
        nan = (_LEFT_NAN, _RIGHT_NAN) if operator is ComparisonOperator.NOT_EQUAL else (None, None)
        tables = [
            [of_nan if _is_nan(each) else known.get(group_key(each)) for each in distinct]
            for (_, distinct), of_nan in zip(sides, nan, strict=True)
        ]
        return _looked_up(sides, tables, len(known), grouped=False)
    ranks = _ranks_of_common_kinds([distinct for _, distinct in sides])
    tables = [[ranks.get(order_key(each)) for each in distinct] for _, distinct in sides]
    return _looked_up(sides, tables, len(ranks), grouped=True)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _ranks_of_common_kinds(sides: list[list[Any]]) -> dict[Any, int]:
    """Ranks within each kind that both sides have; other kinds are comparable with nothing."""
    found = [{kind_of(each) for each in side} for side in sides]
    common = sorted((found[0] & found[1]) - {"null"})
    ranks: dict[Any, int] = {}
    for number, kind in enumerate(common):
        keys = {
            order_key(each)
            for side in sides
            for each in side
            if kind_of(each) == kind and not _is_nan(each)
        }
        ranks |= {key: number << GROUP_BITS | rank for rank, key in enumerate(sorted(keys))}
    return ranks


def _looked_up(
    sides: list[tuple[NDArray[np.int64], list[Any]]],
    tables: list[list[int | None]],
    distinct: int,
    *,
    grouped: bool,
) -> Keys:
    keys: list[NDArray[np.uint32]] = []
    fits: list[NDArray[np.bool_] | None] = []
    for (places, _), table in zip(sides, tables, strict=True):
        has_key = np.array([each is not None for each in table] or [False], dtype=np.bool_)[places]
        entries = [0 if each is None else each for each in table] or [0]
        keys.append(np.array(entries, dtype=np.uint32)[places])
        fits.append(None if has_key.all() else has_key)
    if sides[0] is sides[1] and tables[0] == tables[1]:
        keys[1] = keys[0]
    return Keys(keys[0], keys[1], fits[0], fits[1], max(distinct, 1), grouped)
