"""Rows of a property column by value, near enough that few others must be looked at."""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column, ColumnKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["BucketIndex", "find_index"]

_BUCKETS = 1 << 16
_INDEXED = (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING)
_FEWEST_ROWS = 1 << 17
"""Fewer are compared sooner than anything is looked up."""
_SCANS = 48
"""An index takes as long as so many comparisons of all rows: not before there were as many is one
made, so that all together takes at most twice the least possible."""
_MOST_BYTES = 1 << 29


class BucketIndex:
    """Rows sorted by equal parts of the range between the least and the greatest value.

    A part holds whole values: a larger value is never in an earlier one. Nulls and NaN are in none.

    Args:
        column: Of numbers or texts.
    """

    def __init__(self, column: Column) -> None:
        values = column.values
        valid = np.ones(len(values), np.bool_) if column.valid is None else column.valid
        if column.kind is ColumnKind.FLOAT:
            valid = valid & ~np.isnan(values)
        rows = np.flatnonzero(valid).astype(np.uint32)
        kept = values if len(rows) == len(values) else values[rows]
        self._low = float(kept.min()) if len(kept) else 0.0
        self._width = (float(kept.max()) if len(kept) else 0.0) - self._low
        buckets = self._buckets(kept)
        self._rows = rows[np.argsort(buckets, kind="stable")]
        counts = np.bincount(buckets, minlength=_BUCKETS)
        self._firsts = np.concatenate([[0], np.cumsum(counts)])

    @property
    def nbytes(self) -> int:
        """Bytes on the host."""
        return int(self._rows.nbytes + self._firsts.nbytes)

    def between(self, low: float, high: float, most: int) -> NDArray[np.uint32] | None:
        """Rows, among them all with values from ``low`` to ``high``; None if they are more."""
        ends = self._buckets(np.array([low, high]))
        first, last = self._firsts[ends[0]], self._firsts[int(ends[1]) + 1]
        return None if last - first > most else self._rows[first:last]

    def _buckets(self, values: NDArray[Any]) -> NDArray[np.uint16]:
        # Each of these operations keeps the order of values, rounded as they may be.
        if not math.isfinite(self._width) or self._width <= 0:
            return np.zeros(len(values), np.uint16)
        with np.errstate(over="ignore"):
            shares = (values.astype(np.float64) - self._low) / self._width
        np.clip(shares, 0.0, 1.0, out=shares)
        return (shares * (_BUCKETS - 1)).astype(np.uint16)


@dataclass(slots=True)
class _Known:
    """Of a graph: how often a property was compared, and its index; the last used comes last."""

    scans: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, tuple[Column, BucketIndex]] = field(default_factory=dict)


_known: weakref.WeakKeyDictionary[DataGraph, _Known] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def find_index(graph: DataGraph, key: str, column: Column) -> BucketIndex | None:
    """The index of a node property that was compared often enough; None else.

    Args:
        graph: Whose property it is.
        key: The property.
        column: Its values.
    """
    if len(column) < _FEWEST_ROWS or column.kind not in _INDEXED:
        return None
    with _lock:
        known = _known.setdefault(graph, _Known())
        found = known.indexes.pop(key, None)
        if found is None or found[0] is not column:
            known.scans[key] = known.scans.get(key, 0) + 1
            if known.scans[key] <= _SCANS:
                return None
            found = column, BucketIndex(column)
            known.scans[key] = 0
        known.indexes[key] = found
        while sum(index.nbytes for _, index in known.indexes.values()) > _MOST_BYTES:
            del known.indexes[next(iter(known.indexes))]
        return found[1]
