"""Splits rows so that each part's lists have a bounded number of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.operands import Fault, Flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.errors import QueryError

__all__ = ["joined_faults", "joined_truths", "parts_of"]

_MAX_ELEMENTS: Final = 1 << 22


def parts_of(counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of consecutive rows; each part has few elements, or a single row."""
    rows = np.arange(len(counts))
    if counts.sum() <= _MAX_ELEMENTS:
        return [rows]
    parts = []
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, done + _MAX_ELEMENTS, side="right"))
        stop = max(stop, start + 1)
        parts.append(rows[start:stop])
        start = stop
    return parts


def joined_faults(
    parts: Sequence[NDArray[np.int64]], faults: Sequence[Sequence[Fault]]
) -> tuple[Fault, ...]:
    """Maps the faults of parts to all rows."""
    row_count = sum(map(len, parts))
    return tuple(
        _of_all(fault, rows, row_count)
        for rows, found in zip(parts, faults, strict=True)
        for fault in found
    )


def _of_all(fault: Fault, rows: NDArray[np.int64], row_count: int) -> Fault:
    failing = np.zeros(row_count, dtype=np.bool_)
    failing[rows] = fault.rows
    first = int(rows[0])

    def error(row: int) -> QueryError:
        return fault.error(row - first)

    return Fault(failing, error)


def joined_truths(parts: Sequence[NDArray[np.int64]], truths: Sequence[Truth]) -> Truth:
    """Concatenates the conditions of parts."""
    holds, fails = (
        np.concatenate(
            [np.broadcast_to(each, len(rows)) for rows, each in zip(parts, flags, strict=True)]
        )
        for flags in _sides(truths)
    )
    return Truth(holds, fails, joined_faults(parts, [truth.faults for truth in truths]))


def _sides(truths: Sequence[Truth]) -> tuple[list[Flags], list[Flags]]:
    return [truth.holds for truth in truths], [truth.fails for truth in truths]
