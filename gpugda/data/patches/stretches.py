"""Which stretch of an array comes from where, after entries went out of it and others came in."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.rising import rising
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice

__all__ = ["Origins", "Stretches"]


@dataclass(slots=True, eq=False)
class _Line:
    """Stretches of which each was made from the one before: who descends from whom.

    Args:
        last: Number of the newest.
    """

    last: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """An array in stretches, each of which lies in its base or in what was added since.

    Sources count through the base and on through what was added, in the order of adding.

    Args:
        starts: ``int64``, rising: where each begins; the first at 0.
        sources: ``int64``: the source of its first entry.
        count: Entries of the array.
        base_count: Of the base.
        added_count: Added since, also if they are gone again.
        line: Whom it descends from.
        number: Place in that line.
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
        """Of an array that is its base."""
        start = np.zeros(1 if count else 0, dtype=np.int64)
        return cls(start, start, count, count)

    @classmethod
    def since_older(cls, origins: Origins, added_count: int) -> Stretches:
        """Of an array whose base is an older one; so many were added since, also if gone again."""
        return cls(origins.starts, origins.places, origins.count, origins.older_count, added_count)

    def __len__(self) -> int:
        return len(self.starts)

    def lengths(self) -> NDArray[np.int64]:
        """Entries of each."""
        found = np.empty(len(self.starts), dtype=np.int64)
        np.subtract(self.starts[1:], self.starts[:-1], out=found[:-1])
        found[-1:] = self.count - self.starts[-1:]
        return found

    def find(self, entries: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """In which stretch entries lie, and their sources."""
        stretches = self.starts.searchsorted(entries, side="right") - 1
        return stretches, self.sources[stretches] + (entries - self.starts[stretches])

    def cut(self, places: NDArray[np.int64]) -> tuple[Stretches, NDArray[np.intp]]:
        """The same with stretches that begin at these places; and in which each lay before."""
        starts = rising(self.starts, places[places < self.count])
        origins, sources = self.find(starts)
        return self._next(starts, sources, self.count, 0), origins

    def spliced(self, splice: Splice) -> tuple[Stretches, NDArray[np.intp]]:
        """Afterwards; and in which stretch each lay before, -1 for what was added."""
        removed, places = splice.removed, splice.places
        cuts = rising(self.starts, removed, removed + 1, places)
        cuts = cuts[cuts < self.count]
        stays = np.ones(len(cuts), dtype=np.bool_)
        stays[cuts.searchsorted(removed)] = False  # all of them are cuts
        cuts = cuts[stays]
        origins, sources = self.find(cuts)
        # What comes in at one place lies together.
        is_first = np.ones(len(places), dtype=np.bool_)
        is_first[1:] = places[1:] != places[:-1]
        firsts = np.flatnonzero(is_first)
        starts = np.concatenate([splice.moved(cuts), splice.new_places()[firsts]])
        order = np.argsort(starts)
        sources = np.concatenate([sources, self.base_count + self.added_count + firsts])
        origins = np.concatenate([origins, np.full(len(firsts), -1)])
        found = self._next(starts[order], sources[order], splice.new_count, len(places))
        return found, origins[order]

    def since(self, older: Stretches) -> Origins | None:
        """Where entries lay in an array that this one descends from; None if it does not."""
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
        order = np.argsort(starts)
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
        """The same for the base."""
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
            else:  # another one was made of this already: they are not of one line
                line, number = _Line(), 0
        return Stretches(
            starts, sources, count, self.base_count, self.added_count + added, line, number
        )


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Where entries of one array lie in an older one, in stretches.

    Args:
        starts: ``int64``, rising: where each begins.
        places: ``int64``: where it begins in the older array, or, after its end, among those that
            were added since.
        stretches: In which stretch of the newer array it lies.
        before: In which of the older one; -1 for what was added.
        older_count: Entries of the older array.
        count: Of the newer one.
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
    """Which range of sources shares entries with which of the older stretches."""
    order = np.argsort(older.sources)
    begins = older.sources[order]
    first = np.searchsorted(begins, sources, side="right") - 1
    last = np.searchsorted(begins, sources + lengths - 1, side="right") - 1
    counts = last - first + 1
    rows = np.repeat(np.arange(len(sources)), counts)
    return rows, order[np.repeat(first, counts) + places_in_runs(counts)]
