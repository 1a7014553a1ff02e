"""Top-k selection: the rows that ORDER BY … LIMIT has to sort, selected by a sampled threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.order_keys import order_codes
from gpugda.execute.stable_order import stable_order_of_keys
from gpugda.expressions.operands import Constant, Operand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["top_rows"]

_SAMPLES: Final = 1 << 12
_MARGIN: Final = 1 << 5
"""Samples added to the limit's share of the sample, as that share may be off."""
_WINDOW: Final = 1 << 14
"""Rows whose keys are made at a time, so that they stay in the processor's cache."""


def top_rows(
    operand: Operand, descending: bool, limit: int, *, is_only_key: bool
) -> NDArray[np.int64] | None:
    """Rows that contain the first ``limit`` rows of the order, in rising order.

    None if the sampled threshold leaves too few rows or would hardly remove any, and for constants,
    objects and a limit of 0.

    Args:
        operand: The most significant sort key.
        descending: True if the key sorts downwards.
        limit: Number of rows wanted.
        is_only_key: True if rows with equal keys keep their order, so that later ones can be left
            out.
    """
    if isinstance(operand, Constant) or operand.kind is ColumnKind.OBJECT or limit == 0:
        return None  # the order of objects depends on the other rows
    row_count = len(operand)
    sampled = operand.take(np.arange(0, row_count, max(1, row_count // _SAMPLES)))
    sample = _keys_of(sampled, descending)
    order = stable_order_of_keys(sample)
    place = limit * len(order) // row_count + _MARGIN
    if 4 * place > len(order):
        return None
    at = int(order[place])
    is_null = sampled.valid is not None and not sampled.valid[at]
    if is_null and descending:
        assert operand.valid is not None
        rows = np.flatnonzero(~operand.valid)  # null comes first: no other row is needed
        return _enough(rows[:limit] if is_only_key else rows, limit)
    if operand.kind is ColumnKind.FLOAT and not is_null and not np.isnan(sampled.values[at]):
        return _enough(_floats_up_to(operand, sampled.values[at], descending), limit)
    threshold = [key[at] for key in sample]
    found = []
    for start in range(0, row_count, _WINDOW):
        keys = _keys_of(_window(operand, start), descending)
        found.append(np.flatnonzero(_up_to(keys, threshold)))
        found[-1] += start
    return _enough(np.concatenate(found), limit)


def _enough(rows: NDArray[np.int64], limit: int) -> NDArray[np.int64] | None:
    return rows if len(rows) >= limit else None


def _floats_up_to(column: Column, threshold: float, descending: bool) -> NDArray[np.int64]:
    """Rows up to a number, compared as floats: without keys, and with -0.0 and 0.0 as equals."""
    if descending:  # null, then NaN, then numbers
        found = ~(column.values < threshold)
        if column.valid is not None:
            found |= ~column.valid
    else:
        found = column.values <= threshold
        if column.valid is not None:
            found &= column.valid
    return np.flatnonzero(found)


def _window(column: Column, start: int) -> Column:
    rows = slice(start, start + _WINDOW)
    valid = None if column.valid is None else column.valid[rows]
    return Column(column.kind, column.values[rows], valid, column.dictionary)


def _keys_of(column: Column, descending: bool) -> list[NDArray[Any]]:
    """Sort keys, as many for each window of a column."""
    codes = order_codes(column)
    if column.valid is None:
        return [~codes if descending else codes]
    is_null = (~column.valid).astype(np.int8)
    keys = [is_null, np.where(column.valid, codes, 0)]
    return [~key for key in keys] if descending else keys


def _up_to(keys: Sequence[NDArray[Any]], threshold: Sequence[Any]) -> NDArray[np.bool_]:
    """True for rows that come before the threshold or are equal to it, key by key."""
    *first, least = keys
    found: NDArray[np.bool_] = least <= threshold[-1]
    for key, limit in zip(reversed(first), threshold[-2::-1], strict=True):
        found = (key < limit) | ((key == limit) & found)
    return found
