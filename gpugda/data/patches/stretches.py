"""Mapping of an array's stretches to their sources, after removals and insertions."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.runs import places_in_runs
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice

__all__ = ["Origins", "Stretches"]


@dataclass(slots=True, eq=False)
class _Line:
    """A lineage of stretches, each derived from the one before.

    Args:
        last: Number of the newest member.
    """

    last: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@value(frozen=True, slots=True, eq=False)
class Stretches:
    """An array as stretches, each of which lies in the base or in the values added since.

    Sources number the base's entries first, then the added values in order of insertion.

    Args:
        starts: ``int64``, increasing: first entry of each stretch; the first is 0.
        sources: ``int64``: source of that entry.
        count: The number of entries of the array.
        base_count: The number of entries of the base.
        added_count: The number of values added since, including those removed again.
        line: The lineage.
        number: Position in the lineage.
    """

    starts: NDArray[np.int64]
    sources: NDArray[np.int64]
    count: int
    base_count: int
    added_count: int = 0
    line: _Line = field(default_factory=_Line, repr=False)
    number: int = 0

    @classmethod
    def whole(cls, count: int) -> Stretches:
        """The stretches of an array equal to its base."""
        start = np.zeros(1 if count else 0, dtype=np.int64)
        return cls(start, start, count, count)

    @classmethod
    def since_older(cls, origins: Origins, added_count: int) -> Stretches:
        """Stretches over an older array as base; ``added_count`` includes values removed again."""
        return cls(origins.starts, origins.places, origins.count, origins.older_count, added_count)

    def __len__(self) -> int:
        return len(self.starts)

    def lengths(self) -> NDArray[np.int64]:
        """Number of entries of each stretch."""
        found = np.empty(len(self.starts), dtype=np.int64)
        np.subtract(self.starts[1:], self.starts[:-1], out=found[:-1])
        found[-1:] = self.count - self.starts[-1:]
        return found

    def find(self, entries: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The stretch of each entry, and its source."""
        stretches = self.starts.searchsorted(entries, side="right") - 1
        return stretches, self.sources[stretches] + (entries - self.starts[stretches])

    def cut(self, places: NDArray[np.int64]) -> tuple[Stretches, NDArray[np.intp]]:
        """The same array, also cut at these places; and the old stretch of each new one."""
        starts, sources, origins = self._cut(sorted_distinct(places))
        return self._next(starts, sources, self.count, 0), origins

    def _cut(
        self, places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        """Starts, sources and old stretches, cut at distinct places; searches for these alone."""
        places = places[: places.searchsorted(self.count)]
        at = self.starts.searchsorted(places)
        known = self.starts[np.minimum(at, len(self.starts) - 1)] == places
        places, at = places[~known], at[~known]
        if not len(places):
            return self.starts, self.sources, np.arange(len(self.starts))
        rows, owners = at + np.arange(len(at)), at - 1
        stays = np.ones(len(self.starts) + len(at), dtype=np.bool_)
        stays[rows] = False
        found = []
        for old, new in (
            (self.starts, places),
            (self.sources, self.sources[owners] + places - self.starts[owners]),
            (np.arange(len(self.starts)), owners),
        ):
            each = np.empty(len(stays), dtype=np.int64)
            each[stays], each[rows] = old, new
            found.append(each)
        return found[0], found[1], found[2]

    def spliced(self, splice: Splice) -> tuple[Stretches, NDArray[np.intp]]:
        """The array after a splice; and the old stretch of each new one, -1 for added values."""
        removed, places = splice.removed, splice.places
        starts, sources, origins = self._cut(sorted_distinct(removed, removed + 1, places))
        if len(removed):
            stays = np.ones(len(starts), dtype=np.bool_)
            stays[starts.searchsorted(removed)] = False  # all removed entries are cuts
            starts, sources, origins = starts[stays], sources[stays], origins[stays]
        starts = splice.moved(starts)
        if len(places):
            # Values inserted at one place form one stretch.
            is_first = np.ones(len(places), dtype=np.bool_)
            is_first[1:] = places[1:] != places[:-1]
            firsts = is_first.nonzero()[0]
            starts = np.concatenate([starts, splice.new_places()[firsts]])
            order = starts.argsort(kind="stable")  # merges two sorted runs
            starts = starts[order]
            new = self.base_count + self.added_count + firsts
            sources = np.concatenate([sources, new])[order]
            origins = np.concatenate([origins, np.full(len(firsts), -1)])[order]
        return self._next(starts, sources, splice.new_count, len(places)), origins

    def since(self, older: Stretches) -> Origins | None:
        """Positions of entries in an array of the same lineage; None if it is not an ancestor."""
        if older.line is not self.line or older.number > self.number:
            return None
        limit = older.base_count + older.added_count
        lengths = self.lengths()
        is_old = np.flatnonzero(self.sources < limit)
        rows, which = _overlaps(self.sources[is_old], lengths[is_old], older)
        rows = is_old[rows]
        sources = np.maximum(self.sources[rows], older.sources[which])
        is_new = np.flatnonzero(self.sources >= limit)
        starts = np.concatenate(
            [self.starts[rows] + sources - self.sources[rows], self.starts[is_new]]
        )
        order = starts.argsort(kind="stable")
        places = np.concatenate(
            [
                older.starts[which] + sources - older.sources[which],
                older.count + self.sources[is_new] - limit,
            ]
        )
        stretches = np.concatenate([rows, is_new])
        before = np.concatenate([which, np.full(len(is_new), -1)])
        return Origins(
            starts[order], places[order], stretches[order], before[order], older.count, self.count
        )

    def since_base(self) -> Origins:
        """Positions of entries in the base."""
        before = np.where(self.sources < self.base_count, 0, -1)
        numbers = np.arange(len(self))
        return Origins(self.starts, self.sources, numbers, before, self.base_count, self.count)

    def _next(
        self, starts: NDArray[np.int64], sources: NDArray[np.int64], count: int, added: int
    ) -> Stretches:
        line, number = self.line, self.number + 1
        with line.lock:
            if line.last == self.number:
                line.last = number
            else:  # another successor exists, so this one starts a lineage of its own
                line, number = _Line(), 0
        return Stretches(
            starts, sources, count, self.base_count, self.added_count + added, line, number
        )


@value(frozen=True, slots=True, eq=False)
class Origins:
    """Positions of an array's entries in an older array, as stretches.

    Args:
        starts: ``int64``, increasing: first entry of each stretch.
        places: ``int64``: its position in the older array, or, beyond that array's end, its number
            among the values added since.
        stretches: The stretch of the newer array that contains it.
        before: The stretch of the older array that contains it; -1 for added values.
        older_count: The number of entries of the older array.
        count: The number of entries of the newer array.
    """

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    stretches: NDArray[np.intp]
    before: NDArray[np.intp]
    older_count: int
    count: int


def _overlaps(
    sources: NDArray[np.int64], lengths: NDArray[np.int64], older: Stretches
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs (range of sources, older stretch) that share entries."""
    order = older.sources.argsort(kind="stable")
    begins = older.sources[order]
    first = np.searchsorted(begins, sources, side="right") - 1
    last = np.searchsorted(begins, sources + lengths - 1, side="right") - 1
    counts = last - first + 1
    rows = np.repeat(np.arange(len(sources)), counts)
    return rows, order[np.repeat(first, counts) + places_in_runs(counts)]
