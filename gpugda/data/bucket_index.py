"""Bucket index of a property column: finds a superset of the rows with values in a range."""

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
_MIN_ROWS = 1 << 17
"""For columns with fewer rows a scan is faster than an index lookup."""
_SCANS = 48
"""Building an index costs as much as this many scans. It is built only after as many scans, so that
the total time is at most twice the optimum."""
_MAX_BYTES = 1 << 29


class BucketIndex:
    """Rows sorted by bucket; buckets divide the range from least to greatest value equally.

    Equal values share a bucket, and larger values never lie in earlier buckets. Nulls and NaN are
    in no bucket.

    Args:
        column: A column of numbers or texts.
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
        """Size on the host in bytes."""
        return int(self._rows.nbytes + self._firsts.nbytes)

    def between(self, low: float, high: float, most: int) -> NDArray[np.uint32] | None:
        """A superset of the rows with values from ``low`` to ``high``; None if above ``most``."""
        ends = self._buckets(np.array([low, high]))
        first, last = self._firsts[ends[0]], self._firsts[int(ends[1]) + 1]
        return None if last - first > most else self._rows[first:last]

    def _buckets(self, values: NDArray[Any]) -> NDArray[np.uint16]:
        # Each of these operations is monotonic in spite of rounding.
        if not math.isfinite(self._width) or self._width <= 0:
            return np.zeros(len(values), np.uint16)
        with np.errstate(over="ignore"):
            shares = (values.astype(np.float64) - self._low) / self._width
        np.clip(shares, 0.0, 1.0, out=shares)
        return (shares * (_BUCKETS - 1)).astype(np.uint16)


@dataclass(slots=True)
class _Known:
    """Scan counts and indexes of a graph's node properties; the most recently used come last."""

    scans: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, tuple[Column, BucketIndex]] = field(default_factory=dict)


_known: weakref.WeakKeyDictionary[DataGraph, _Known] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def find_index(graph: DataGraph, key: str, column: Column) -> BucketIndex | None:
    """The index of a node property that was scanned often enough; otherwise None.

    Args:
        graph: The graph that has the property.
        key: The property key.
        column: The property's values.
    """
    if len(column) < _MIN_ROWS or column.kind not in _INDEXED:
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
        while sum(index.nbytes for _, index in known.indexes.values()) > _MAX_BYTES:
            del known.indexes[next(iter(known.indexes))]
        return found[1]
