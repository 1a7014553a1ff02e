"""ORDER BY on columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.stable_order import stable_order_of_keys
from gpugda.expressions.operands import Constant, Operand, take, used_codes
from gpugda.expressions.temporal.read_rows import moments_of
from gpugda.expressions.text_columns import refuse_unknown_order
from gpugda.values import order_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["float_order", "sorted_rows"]

_AFTER_ALL_FLOATS = np.int64(2**63 - 1)
_SEARCHED: Final = 1 << 15
"""Of so many rows a sample tells which ones may be among the first."""
_SAMPLES: Final = 1 << 12
_ASIDE: Final = 1 << 5
"""Samples that are taken more than their share, which may be off."""
_WINDOW: Final = 1 << 14


def sorted_rows(
    operands: Sequence[Operand],
    descending: Sequence[bool],
    row_count: int,
    limit: int | None = None,
) -> NDArray[np.int64]:
    """Row numbers in sorted order; rows with equal keys stay in their order.

    Args:
        operands: Sort keys, most significant first.
        descending: One a key.
        row_count: Number of rows.
        limit: Only so many rows, the first ones, are wanted.
    """
    if limit is not None and row_count >= _SEARCHED and operands:
        rows = _first_ones(operands[0], descending[0], row_count, limit)
        if rows is not None:
            some = [take(operand, rows) for operand in operands]
            return rows[sorted_rows(some, descending, len(rows))[:limit]]
    keys = [
        ~array if turned else array
        for operand, turned in zip(operands, descending, strict=True)
        for array in _arrays(operand)
    ]
    rows = np.arange(row_count, dtype=np.int64)
    if not keys:
        return rows[:limit]
    if limit is not None and 4 * limit < row_count:
        rows = _candidates(keys[0], limit)
        keys = [key[rows] for key in keys]
    order = stable_order_of_keys(keys)[:limit]
    return rows[order]


# ------------------------------------------------------------------ the first ones
def _first_ones(
    operand: Operand, descending: bool, row_count: int, limit: int
) -> NDArray[np.int64] | None:
    """Rows among which the first ones are, as a sample of keys has it; None where it has not.

    The keys of all rows are made in windows that stay in the processor's cache.
    """
    if isinstance(operand, Constant) or operand.kind is ColumnKind.OBJECT:
        return None  # the order of an object hangs on the others
    sample = _keys_of(operand.take(np.arange(0, row_count, row_count // _SAMPLES)), descending)
    order = stable_order_of_keys(sample)
    place = limit * len(order) // row_count + _ASIDE
    if limit == 0 or 4 * place > len(order):
        return None
    last = [key[order[place]] for key in sample]
    found = []
    for start in range(0, row_count, _WINDOW):
        keys = _keys_of(_window(operand, start), descending)
        found.append(np.flatnonzero(_up_to(keys, last)))
        found[-1] += start
    rows = np.concatenate(found)
    return rows if len(rows) >= limit else None


def _window(column: Column, start: int) -> Column:
    rows = slice(start, start + _WINDOW)
    valid = None if column.valid is None else column.valid[rows]
    return Column(column.kind, column.values[rows], valid, column.dictionary)


def _keys_of(column: Column, descending: bool) -> list[NDArray[Any]]:
    """As many arrays for each part of a column."""
    codes = _order_codes(column)
    if column.valid is None:
        return [~codes if descending else codes]
    is_null = (~column.valid).astype(np.int8)
    keys = [is_null, np.where(column.valid, codes, 0)]
    return [~key for key in keys] if descending else keys


def _up_to(keys: Sequence[NDArray[Any]], last: Sequence[Any]) -> NDArray[np.bool_]:
    """Rows that come before some keys, or have the same."""
    *first, least = keys
    found: NDArray[np.bool_] = least <= last[-1]
    for key, limit in zip(reversed(first), last[-2::-1], strict=True):
        found = (key < limit) | ((key == limit) & found)
    return found


def _candidates(key: NDArray[Any], limit: int) -> NDArray[np.int64]:
    # Whatever the other keys say, the first rows are among those up to this value.
    if limit == 0:
        return np.zeros(0, dtype=np.int64)
    last = np.partition(key, limit - 1)[limit - 1]
    return np.flatnonzero(key <= last)


def _arrays(operand: Operand) -> list[NDArray[Any]]:
    """Integer arrays that sort like the column, most significant first."""
    if isinstance(operand, Constant):
        return []
    if operand.valid is None or operand.valid.all():
        return [_order_codes(operand)]
    is_null = (~operand.valid).astype(np.int8)
    return [is_null, np.where(operand.valid, _order_codes(operand), 0)]


def _order_codes(column: Column) -> NDArray[Any]:
    if column.kind is ColumnKind.FLOAT:
        return float_order(column.values)
    if column.kind is ColumnKind.OBJECT:
        return _object_order(column)
    if column.kind is ColumnKind.BOOLEAN:
        return column.values.astype(np.int8)
    refuse_unknown_order(column)
    # Texts too: their dictionary is sorted.
    return column.values.astype(np.int64, copy=False)


def float_order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers that sort like the numbers: -0.0 before 0.0, NaN last."""
    bits = values.view(np.int64) if values.flags.c_contiguous else values.copy().view(np.int64)
    # Negative floats have the sign bit set and grow downwards; -0.0 comes just before 0.0.
    ordered = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    return np.where(np.isnan(values), _AFTER_ALL_FLOATS, ordered)


def _object_order(column: Column) -> NDArray[np.int64]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # then all rows are null
        return np.zeros(len(column), dtype=np.int64)
    moments = moments_of(column)
    if moments is not None:
        ordered: NDArray[np.int64] = moments.ranks()[column.values]
        return ordered
    used, places = used_codes(column.values, len(dictionary))
    keys = [order_key(value) for value in dictionary.values(used.astype(np.int32))]
    ranks = np.zeros(len(keys), dtype=np.int64)
    rank, before = -1, None
    for place in sorted(range(len(keys)), key=keys.__getitem__):
        rank += keys[place] != before
        before = keys[place]
        ranks[place] = rank
    return ranks[places]
