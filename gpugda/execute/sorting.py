"""ORDER BY on columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.execute.order_keys import order_keys
from gpugda.execute.stable_order import stable_order_of_keys
from gpugda.execute.top_rows import top_rows
from gpugda.expressions.operands import take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.operands import Operand

__all__ = ["sorted_rows"]

_SAMPLED_ROWS: Final = 1 << 15
"""From this many rows on, a sample of the keys selects the rows that ORDER BY … LIMIT sorts."""


def sorted_rows(
    operands: Sequence[Operand],
    descending: Sequence[bool],
    row_count: int,
    limit: int | None = None,
) -> NDArray[np.int64]:
    """Row numbers in sorted order; rows with equal keys keep their order.

    Args:
        operands: Sort keys, most significant first.
        descending: One per key.
        row_count: Number of rows.
        limit: Number of rows wanted, the first of the order; None for all of them.
    """
    if limit is not None and row_count >= _SAMPLED_ROWS and operands:
        rows = top_rows(operands[0], descending[0], limit, is_only_key=len(operands) == 1)
        if rows is not None:
            selected = [take(operand, rows) for operand in operands]
            return rows[sorted_rows(selected, descending, len(rows))[:limit]]
    keys = [
        ~array if turned else array
        for operand, turned in zip(operands, descending, strict=True)
        for array in order_keys(operand)
    ]
    rows = np.arange(row_count, dtype=np.int64)
    if not keys:
        return rows[:limit]
    if limit is not None and 4 * limit < row_count:
        rows = _candidates(keys[0], limit)
        keys = [key[rows] for key in keys]
    order = stable_order_of_keys(keys)[:limit]
    return rows[order]


def _candidates(key: NDArray[Any], limit: int) -> NDArray[np.int64]:
    # Whatever the other keys say, the first rows are among those up to this value.
    if limit == 0:
        return np.zeros(0, dtype=np.int64)
    last = np.partition(key, limit - 1)[limit - 1]
    return np.flatnonzero(key <= last)
