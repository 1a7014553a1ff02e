"""Sort keys of a column: integer arrays that sort like its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.deadline import checked
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.expressions.temporal.moment_columns import moments_of
from gpugda.expressions.text_columns import refuse_unknown_order
from gpugda.values import order_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["float_order", "order_codes", "order_keys"]

_AFTER_ALL_FLOATS = np.int64(2**63 - 1)


def order_keys(operand: Operand) -> list[NDArray[Any]]:
    """The sort keys of an operand, most significant first; null sorts last. Constants have none."""
    if isinstance(operand, Constant):
        return []
    if operand.valid is None or operand.valid.all():
        return [order_codes(operand)]
    is_null = (~operand.valid).astype(np.int8)
    return [is_null, np.where(operand.valid, order_codes(operand), 0)]


def order_codes(column: Column) -> NDArray[Any]:
    """One integer per row that sorts like the value; undefined for null rows."""
    if column.kind is ColumnKind.FLOAT:
        return float_order(column.values)
    if column.kind is ColumnKind.OBJECT:
        return _object_order(column)
    if column.kind is ColumnKind.BOOLEAN:
        return column.values.astype(np.int8)
    refuse_unknown_order(column)
    # Text codes sort like the texts: their dictionary is sorted.
    return column.values.astype(np.int64, copy=False)


def float_order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers that sort like the numbers: -0.0 before 0.0, NaN last."""
    bits = values.view(np.int64) if values.flags.c_contiguous else values.copy().view(np.int64)
    # Negative floats have the sign bit set and grow downwards; -0.0 comes just before 0.0.
    ordered = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    return np.where(np.isnan(values), _AFTER_ALL_FLOATS, ordered)


def _object_order(column: Column) -> NDArray[np.int64]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # all rows are null
        return np.zeros(len(column), dtype=np.int64)
    moments = moments_of(column)
    if moments is not None:
        ordered: NDArray[np.int64] = moments.ranks()[column.values]
        return ordered
    used, places = used_codes(column.values, len(dictionary))
    keys = [order_key(value) for value in checked(dictionary.values(used.astype(np.int32)))]
    ranks = np.zeros(len(keys), dtype=np.int64)
    rank, before = -1, None
    for place in sorted(range(len(keys)), key=keys.__getitem__):
        rank += keys[place] != before
        before = keys[place]
        ranks[place] = rank
    return ranks[places]
