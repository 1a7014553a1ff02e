"""Pattern counts: relationships of a type from nodes with one label to nodes with another."""

from __future__ import annotations

import threading
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from gpugda.data.statistics.graph_statistics import ANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Counted", "PatternCounts", "Tally", "Triples", "pattern_counts", "summed"]

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


_LARGEST_PATTERN_COUNT = 1 << 18
_LARGEST_PAIR_COUNT = 1 << 19
"""Pairs of a label set and a type beyond which only labels and types alone are counted."""


_Rows: TypeAlias = (
    "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"
)


class PatternCounts(NamedTuple):
    """Counts per (start label, type, end label), and which of them there are.

    ``complete`` and ``typed`` are the fields of `GraphStatistics` with those endings.
    """

    counts: dict[tuple[int, int, int], int]
    complete: bool
    typed: bool


class Triples:
    """Relationship counts per (start's label set, type, end's label set); thread-safe.

    If there are too many triples, it counts pairs of a label set and a type at either end instead;
    if these are too many, too, label sets and types alone. Which of these it does depends on the
    relationships, not on their order.

    Args:
        set_count: The number of label sets.
        type_count: The number of types.
        limited: False to count triples whatever their number.
    """

    def __init__(self, set_count: int, type_count: int, *, limited: bool = True) -> None:
        self.shape = (set_count, type_count, set_count)
        size = set_count * type_count * set_count
        most = _LARGEST_PATTERN_COUNT if limited and set_count > 1 else None
        self._triples = Tally(size, most)
        sizes = (set_count * type_count, set_count, type_count)
        pairs, sets, types = sizes if self._triples.may_give_up else (0, 0, 0)
        self._pairs = [Tally(pairs, _LARGEST_PAIR_COUNT) for _ in range(2)]
        self._sets = [Tally(sets, None) for _ in range(2)]
        self._types = Tally(types, None)

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64], set_count: int, type_count: int) -> Triples:
        """Wraps existing counts, one per triple in row-major order."""
        made = cls(set_count, type_count)
        made._triples = Tally.of_counts(counts)
        return made

    def count(
        self,
        starts: NDArray[np.int32] | None,
        types: NDArray[Any],
        ends: NDArray[np.int32] | None,
    ) -> None:
        """Adds relationships given by start's set, type and end's set; sets None: only one set."""
        keys = types.astype(np.int64)
        if starts is None or ends is None:
            self._triples.add(keys)
            return
        if self._triples.may_give_up:
            for codes, pairs in zip((starts, ends), self._pairs, strict=True):
                pairs.add(codes * np.int64(self.shape[1]) + keys)
            if self._pairs[0].may_give_up:
                self._types.add(keys)
                self._sets[0].add(starts)
                self._sets[1].add(ends)
        keys += starts.astype(np.int64) * self.shape[1]
        keys *= self.shape[2]
        keys += ends
        self._triples.add(keys)

    def result(self) -> _Rows | None:
        """Start set, type, end set and count of each triple with a count above 0.

        None if there were too many.
        """
        found = self._triples.result()
        if found is None:
            return None
        starts, rest = np.divmod(found[0], max(1, self.shape[1] * self.shape[2]))
        types, ends = np.divmod(rest, max(1, self.shape[2]))
        return starts, types, ends, found[1]

    def pairs(self) -> tuple[Counted, Counted] | None:
        """For starts and for ends, counts by label set * types + type. None if too many."""
        found = self.result()
        if found is not None:
            starts, types, ends, counts = found
            one, other = (summed(each * self.shape[1] + types, counts) for each in (starts, ends))
            return one, other
        of_starts, of_ends = (each.result() for each in self._pairs)
        return None if of_starts is None or of_ends is None else (of_starts, of_ends)

    def singles(self) -> tuple[Counted, Counted, Counted]:
        """Counts by start's label set, by type, and by end's label set."""
        found = self.result()
        if found is not None:
            starts, types, ends, counts = found
            return summed(starts, counts), summed(types, counts), summed(ends, counts)
        of_starts, of_types, of_ends = (
            each.result() for each in (self._sets[0], self._types, self._sets[1])
        )
        assert of_starts is not None
        assert of_types is not None
        assert of_ends is not None  # they have no limit
        return of_starts, of_types, of_ends


def pattern_counts(
    triples: Triples,
    sets: Sequence[Sequence[int]],
    complete: bool | None = None,
    typed: bool | None = None,
) -> PatternCounts:
    """Relationships per (start label, type, end label).

    Args:
        triples: Counts per label set.
        sets: Label ids of each set.
        complete: True to expand the sets of both ends; None: unless that gives too many entries.
        typed: False to count labels and types alone; None: if there are too many pairs of them.
            Read only if not complete.
    """
    labels = [(ANY, *each) for each in sets]
    found = triples.result()
    if found is not None and complete is None:
        widths = np.array([len(each) for each in labels], dtype=np.int64)
        complete = int((widths[found[0]] * widths[found[2]]).sum()) <= _LARGEST_PATTERN_COUNT
    if found is not None and complete:
        return PatternCounts(_expanded(*found, labels, labels), complete=True, typed=True)
    pairs = None if typed is False else triples.pairs()
    if pairs is not None:
        return PatternCounts(
            _of_pairs(*pairs, triples.shape[1], labels), complete=False, typed=True
        )
    return PatternCounts(_of_singles(*triples.singles(), labels), complete=False, typed=False)


def _of_pairs(
    of_starts: Counted, of_ends: Counted, type_count: int, labels: Sequence[tuple[int, ...]]
) -> dict[tuple[int, int, int], int]:
    """Entries with ``ANY`` at one end at least."""
    sets, types = np.divmod(of_starts[0], max(1, type_count))
    nowhere = np.zeros_like(sets)
    found = _expanded(sets, types, nowhere, of_starts[1], labels, [(ANY,)])
    sets, types = np.divmod(of_ends[0], max(1, type_count))
    nowhere = np.zeros_like(sets)
    return found | _expanded(nowhere, types, sets, of_ends[1], [(ANY,)], labels)


def _of_singles(
    of_starts: Counted, of_types: Counted, of_ends: Counted, labels: Sequence[tuple[int, ...]]
) -> dict[tuple[int, int, int], int]:
    """Entries with ``ANY`` in two places at least."""
    found: dict[tuple[int, int, int], int] = {}
    for (sets, sums), is_start in ((of_starts, True), (of_ends, False)):
        for each, count in zip(sets.tolist(), sums.tolist(), strict=True):
            for label in labels[each][1:]:
                key = (label, ANY, ANY) if is_start else (ANY, ANY, label)
                found[key] = found.get(key, 0) + count
    kinds, sums = of_types
    found |= {(ANY, kind, ANY): n for kind, n in zip(kinds.tolist(), sums.tolist(), strict=True)}
    if len(kinds):
        found[ANY, ANY, ANY] = int(sums.sum())
    return found


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
