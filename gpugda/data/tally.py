"""Counts equal keys that come in pieces, in threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Counted", "Tally", "summed"]

_LARGEST_TABLE: Final = 1 << 22
_WAITING: Final = 1 << 20
"""Keys that wait before they are merged with those found: each merge sorts all of them."""

Counted: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""Distinct keys in increasing order, and the count of each."""


class Tally:
    """Counts keys from 0 to ``size`` - 1, in a table if that is small; thread-safe.

    Args:
        size: One more than the largest possible key.
        most: Number of distinct keys beyond which it gives up; None for any number. With a table
            it never does.

    Example:
        >>> tally = Tally(3, None)
        >>> tally.add(np.array([2, 0, 2]))
        >>> [each.tolist() for each in tally.result()]
        [[0, 2], [1, 2]]
    """

    def __init__(self, size: int, most: int | None) -> None:
        self._table = np.zeros(size, dtype=np.int64) if size <= _LARGEST_TABLE else None
        self._most = most
        self._lock = threading.Lock()
        self._parts: list[Counted] = []
        self._merged_length = 0
        self._gave_up = False

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64]) -> Tally:
        """Wraps counts by key."""
        made = cls(0, None)
        made._table = counts
        return made

    @property
    def may_give_up(self) -> bool:
        """True if there may be too many distinct keys."""
        return self._table is None and self._most is not None

    def add(self, keys: NDArray[Any]) -> None:
        """Counts these keys, of any dtype of integers."""
        if self._table is not None:
            counts = np.bincount(keys, minlength=len(self._table))
            with self._lock:
                self._table += counts
        elif not self._gave_up:
            counted = np.unique(keys, return_counts=True)
            with self._lock:
                self._parts.append(counted)
                if sum(len(each) for each, _ in self._parts) > self._merged_length + _WAITING:
                    self._merge()

    def result(self) -> Counted | None:
        """The distinct keys and their counts, which are above 0. None if there were too many."""
        if self._table is not None:
            keys = np.flatnonzero(self._table)
            return keys, self._table[keys]
        with self._lock:
            self._merge()
            return None if self._gave_up else self._parts[0]

    def _merge(self) -> None:
        nothing = np.empty(0, dtype=np.int64)
        parts = [(nothing, nothing), *self._parts]
        merged = summed(
            np.concatenate([keys for keys, _ in parts]),
            np.concatenate([counts for _, counts in parts]),
        )
        self._merged_length = len(merged[0])
        self._gave_up |= self._most is not None and self._merged_length > self._most
        self._parts = [] if self._gave_up else [merged]


def summed(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> Counted:
    """The distinct keys, and the sum of the counts of each."""
    distinct, places = np.unique(keys, return_inverse=True)
    # Doubles are exact up to 2^53.
    sums = np.bincount(places.reshape(-1), weights=counts, minlength=len(distinct))
    return distinct, sums.astype(np.int64)
