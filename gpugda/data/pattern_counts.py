"""Pattern counts: relationships of a type from nodes with one label to nodes with another."""

from __future__ import annotations

import threading
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.statistics import ANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


__all__ = ["Triples", "pattern_counts"]

_LARGEST_COUNT_TABLE = 1 << 22
_LARGEST_PATTERN_COUNT = 1 << 18


class Triples:
    """Relationship counts per (start's label set, type, end's label set); thread-safe."""

    def __init__(self, set_count: int, type_count: int) -> None:
        self.shape = (set_count, type_count, set_count)
        size = set_count * type_count * set_count
        self._table = np.zeros(size, dtype=np.int64) if size <= _LARGEST_COUNT_TABLE else None
        self._lock = threading.Lock()
        self._sparse: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64], set_count: int, type_count: int) -> Triples:
        """Wraps existing counts, one per triple in row-major order."""
        made = cls(set_count, type_count)
        made._table = counts
        return made

    def count(
        self,
        starts: NDArray[np.int32] | None,
        types: NDArray[Any],
        ends: NDArray[np.int32] | None,
    ) -> None:
        """Adds relationships given by start's set, type and end's set; sets None: only one set."""
        keys = types.astype(np.int64)
        if starts is not None and ends is not None:
            keys += starts.astype(np.int64) * self.shape[1]
            keys *= self.shape[2]
            keys += ends
        if self._table is None:
            self._sparse.append(np.unique(keys, return_counts=True))
            return
        counts = np.bincount(keys, minlength=len(self._table))
        with self._lock:
            self._table += counts

    def result(self) -> tuple[NDArray[np.int64], ...]:
        """Start set, type, end set and count of each triple with a count above 0."""
        if self._table is not None:
            keys = np.flatnonzero(self._table)
            counts = self._table[keys]
        else:
            nothing = np.empty(0, dtype=np.int64)
            keys, places = np.unique(
                np.concatenate([nothing, *[keys for keys, _ in self._sparse]]), return_inverse=True
            )
            parts = np.concatenate([nothing, *[counts for _, counts in self._sparse]])
            counts = np.bincount(places.reshape(-1), weights=parts).astype(np.int64)
        starts, rest = np.divmod(keys, max(1, self.shape[1] * self.shape[2]))
        types, ends = np.divmod(rest, max(1, self.shape[2]))
        return starts, types, ends, counts


def pattern_counts(
    triples: Triples, sets: Sequence[Sequence[int]], complete: bool | None = None
) -> tuple[dict[tuple[int, int, int], int], bool]:
    """Relationships per (start label, type, end label); True if both ends may be given labels.

    Args:
        triples: Counts per label set.
        sets: Label ids of each set.
        complete: True to expand the sets of both ends; None: unless that gives too many entries.
    """
    starts, types, ends, counts = triples.result()
    if complete is None:
        widths = np.array([len(each) + 1 for each in sets], dtype=np.int64)
        complete = int((widths[starts] * widths[ends]).sum()) <= _LARGEST_PATTERN_COUNT
    if complete:
        start_labels = [(ANY, *each) for each in sets]
        return _expanded(starts, types, ends, counts, start_labels, start_labels), True
    found: dict[tuple[int, int, int], int] = {}
    for side, is_start in ((starts, True), (ends, False)):
        # Sum over the other end first, which leaves few rows to expand.
        keys, places = np.unique(side * triples.shape[1] + types, return_inverse=True)
        sums = np.bincount(places.reshape(-1), weights=counts).astype(np.int64)
        side_sets, side_types = np.divmod(keys, triples.shape[1])
        nowhere = np.zeros_like(side_sets)
        any_label, labels = [(ANY,)], [(ANY, *each) for each in sets]
        if is_start:
            found |= _expanded(side_sets, side_types, nowhere, sums, labels, any_label)
        else:
            found |= _expanded(nowhere, side_types, side_sets, sums, any_label, labels)
    return found, False


def _expanded(
    starts: NDArray[np.int64],
    types: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    start_labels: Sequence[tuple[int, ...]],
    end_labels: Sequence[tuple[int, ...]],
) -> dict[tuple[int, int, int], int]:
    found: dict[tuple[int, int, int], int] = {}
    for start, kind, end, count in zip(
        starts.tolist(), types.tolist(), ends.tolist(), counts.tolist(), strict=True
    ):
        for start_label, end_label in product(start_labels[start], end_labels[end]):
            for each in (kind, ANY):
                key = (start_label, each, end_label)
                found[key] = found.get(key, 0) + count
    return found
