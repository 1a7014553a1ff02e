"""``IN`` on columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.expressions.boolean_columns import NEVER, UNKNOWN, Truth, pairwise
from gpugda.expressions.compare_columns import equal, kind_of_operand
from gpugda.expressions.list_columns import is_in_lists
from gpugda.expressions.operands import Constant, Flags, Operand, both, inverted, validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.text_columns import Cache

__all__ = ["is_in"]

_FEW_ITEMS = 8
_LARGEST = 2**63 - 1
"""Up to this many items are compared one by one."""
_WINDOW = 1 << 14
"""Rows whose intermediate results fit in the processor's cache."""


def is_in(left: Operand, right: Operand, row_count: int, cache: Cache) -> Truth:
    """``left IN right``. A right side that is no list counts as a list of itself."""
    if isinstance(right, Column):
        if right.kind is ColumnKind.OBJECT:
            together = is_in_lists(left, right, cache)
            if together is not None:
                return together
            return pairwise(values.is_in, left, right, row_count)
        return equal(left, right, row_count, cache)
    if right.value is None:
        return UNKNOWN
    items = right.value if values.kind_of(right.value) == "list" else [right.value]
    if not items:
        return NEVER
    if isinstance(left, Constant) or left.kind is ColumnKind.OBJECT:
        return pairwise(values.is_in, left, Constant(items), row_count)
    return _among(left, items)


def _among(column: Column, items: Sequence[Any]) -> Truth:
    valid = validity(column)
    kind = kind_of_operand(column)
    found = _found(column, [item for item in items if values.kind_of(item) == kind])
    if any(item is None for item in items):
        return Truth(both(found, valid), False)
    return Truth(both(found, valid), both(inverted(found), valid))


def _found(column: Column, items: list[Any]) -> Flags:
    # All items are of the column's kind.
    if not items:
        return False
    if column.kind is ColumnKind.BOOLEAN:
        return _one_of(column.values, items, np.bool_)
    if column.kind is ColumnKind.INTEGER:
        integers = [min(int(item), _LARGEST) for item in items if _is_integer(item)]
        return _one_of(column.values, integers, np.int64)
    if column.kind is ColumnKind.FLOAT:
        floats = [float(item) for item in items if isinstance(item, float) or _is_float(item)]
        return _one_of(column.values, floats, np.float64)
    if column.kind in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        return _one_of(column.values, [item.index for item in items], np.uint32)
    if isinstance(column.dictionary, StringDictionary) and len(column.dictionary):
        if len(items) <= _FEW_ITEMS:
            codes = {int(code) for code in column.dictionary.find_all(items)} - {-1}
            return _one_of(column.values, sorted(codes), np.int32)
        known = np.zeros(len(column.dictionary) + 1, dtype=np.bool_)
        # Code -1 of an unknown text selects the extra last entry, which no row uses.
        known[column.dictionary.find_all(items)] = True
        found: NDArray[np.bool_] = known[column.values]
        return found
    return False


def _is_integer(item: float) -> bool:
    if isinstance(item, int):
        return True
    return item.is_integer() and -(2.0**63) <= item <= 2.0**63  # which equals the largest integer


def _is_float(item: int) -> bool:
    return int(float(item)) == item or item == _LARGEST


def _one_of(array: NDArray[Any], items: list[Any], dtype: Any) -> Flags:
    if not items:
        return False
    if len(items) > _FEW_ITEMS:
        return np.isin(array, np.array(items, dtype=dtype))
    found = np.empty(len(array), dtype=np.bool_)
    for start in range(0, len(array), _WINDOW):
        part, flags = array[start : start + _WINDOW], found[start : start + _WINDOW]
        np.equal(part, dtype(items[0]), out=flags)
        for item in items[1:]:
            flags |= part == dtype(item)
    return found
