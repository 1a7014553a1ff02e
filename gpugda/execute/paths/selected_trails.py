"""The k shortest trails of each pair of nodes, or all trails of its first k lengths.

Walks, which may repeat relationships, advance level by level from all sources at once. Where they
reach the last node of a pair they are read back, and those that repeat no relationship are trails.
If few trails are needed, few walks are read; all are read if too many prove not to be trails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from gpugda.device.launch.path_levels import EVERY
from gpugda.errors import MemoryLimitError
from gpugda.execute.paths.path_choice import ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Indexes = NDArray[np.int64]
    Relationships = NDArray[np.uint32]

__all__ = ["TrailsAsked", "Walks", "selected_trails"]

_WALKS_PER_TRAIL: Final = 4
"""Walks read at first, per trail needed."""
_MIN_WALKS: Final = 16
_MAX_EMPTY_LENGTHS: Final = 3
"""Consecutive lengths without a trail after which a pair is left to another search."""


class Walks(Protocol):
    """Walks from some sources, of each length from 0 on."""

    is_closed: bool
    """True if longer walks reach only nodes that some walk has already reached."""

    @property
    def length(self) -> int:
        """Length of the longest walks."""

    def grow(self) -> bool:
        """Extends the walks by one relationship; returns False if none can be extended.

        Raises:
            MemoryLimitError: Memory does not suffice.
        """

    def met(self, nodes: Indexes, searches: Indexes) -> Indexes:
        """Places of the pairs that the longest walks connect."""

    def back(
        self, length: int, nodes: Indexes, searches: Indexes, most: int
    ) -> Iterator[tuple[Indexes, Indexes, Relationships]]:
        """Yields steps to nodes where walks of a length end: rows, nodes and relationships.

        Yields at most ``most`` steps per row, in windows.
        """


@dataclass(frozen=True, slots=True, eq=False)
class TrailsAsked:
    """Pairs of a source and a node, and the trails needed of each.

    Args:
        searches: Source numbers, ``int64``.
        nodes: Nodes to reach, ``int64``.
        bounds: Fewest and most relationships.
        most: Number of trails, or of lengths.
        by_group: True if ``most`` counts lengths, each with all of its trails.
        begun: Number of trails each pair has already, ``int64``.
    """

    searches: Indexes
    nodes: Indexes
    bounds: tuple[int, int]
    most: int
    by_group: bool
    begun: Indexes


@dataclass(frozen=True, slots=True, eq=False)
class _Walked:
    """Walks being read back: pair, current node and relationships so far of each."""

    pairs: Indexes
    nodes: Indexes
    relationships: Relationships

    def taken(self, places: Indexes) -> _Walked:
        return _Walked(self.pairs[places], self.nodes[places], self.relationships[places])


def selected_trails(
    walks: Walks, asked: TrailsAsked, check: Callable[[], None]
) -> tuple[list[tuple[Indexes, Relationships]], Indexes]:
    """Pairs with their trails from the node back to the source; and the pairs left over.

    No trail is returned for a pair left over: memory did not suffice, or it may have no further
    trail. The empty trail is not included.
    """
    return _Selection(walks, asked, check).run()


class _Selection:
    def __init__(self, walks: Walks, asked: TrailsAsked, check: Callable[[], None]) -> None:
        count = len(asked.nodes)
        self.walks = walks
        self.asked = asked
        self.check = check
        self.counts = asked.begun.copy()
        self.empty_lengths = np.zeros(count, dtype=np.int64)
        self.has_met = np.zeros(count, dtype=np.bool_)
        self.cut = np.zeros(count, dtype=np.bool_)
        self.now = np.zeros(count, dtype=np.int64)
        self.left = np.zeros(count, dtype=np.bool_)

    def run(self) -> tuple[list[tuple[Indexes, Relationships]], Indexes]:
        found: list[tuple[Indexes, Relationships]] = []
        waiting = np.flatnonzero(self.counts < self.asked.most)
        minimum, maximum = self.asked.bounds
        while len(waiting) and self.walks.length < maximum:
            try:
                if not self.walks.grow():
                    break
            except MemoryLimitError:
                self.left[waiting] = True
                break
            met = waiting[self.walks.met(self.asked.nodes[waiting], self.asked.searches[waiting])]
            self.has_met[met] = True
            if self.walks.length >= minimum:
                found += self._trails(met)
                self._count(waiting)
            waiting = waiting[(self.counts[waiting] < self.asked.most) & ~self.left[waiting]]
            if self.walks.is_closed:
                waiting = waiting[self.has_met[waiting]]
        return [_without(each, self.left) for each in found], np.flatnonzero(self.left)

    def _count(self, waiting: Indexes) -> None:
        """Adds the trails found at the current length."""
        now = self.now[waiting]
        self.counts[waiting] += now > 0 if self.asked.by_group else now
        empty_lengths = np.where(now > 0, 0, self.empty_lengths[waiting] + self.has_met[waiting])
        self.empty_lengths[waiting] = empty_lengths
        self.left[waiting[empty_lengths >= _MAX_EMPTY_LENGTHS]] = True

    # ------------------------------------------------------------------ one length
    def _trails(self, pairs: Indexes) -> list[tuple[Indexes, Relationships]]:
        """The selected trails of the walks' length; records their number per pair."""
        self.now[:] = 0
        if self.asked.by_group:
            return list(self._read(pairs, EVERY))
        self.cut[pairs] = False
        few = list(self._read(pairs, max(_WALKS_PER_TRAIL * self.asked.most, _MIN_WALKS)))
        failed = np.zeros(len(self.counts), dtype=np.bool_)
        failed[pairs] = self.cut[pairs] & (self.counts + self.now < self.asked.most)[pairs]
        self.now[failed] = 0
        kept = [_without(each, failed) for each in few]
        return kept + list(self._read(np.flatnonzero(failed), EVERY))

    def _read(self, pairs: Indexes, most: int) -> Iterator[tuple[Indexes, Relationships]]:
        """Yields trails of pairs, depth first to bound memory; reads ``most`` steps per row."""
        nothing = np.zeros((len(pairs), 0), dtype=np.uint32)
        begun = _Walked(pairs, self.asked.nodes[pairs], nothing)
        stack = [iter((begun,))]
        while stack:
            self.check()
            walked = next(stack[-1], None)
            if walked is None:
                stack.pop()
                continue
            if not self.asked.by_group:
                walked = walked.taken(np.flatnonzero(self._want(walked.pairs)))
            if not len(walked.pairs):
                continue
            if walked.relationships.shape[1] == self.walks.length:
                yield self._noted(walked)
            else:
                stack.append(self._longer(walked, most))

    def _want(self, pairs: Indexes) -> NDArray[np.bool_]:
        wanted: NDArray[np.bool_] = self.counts[pairs] + self.now[pairs] < self.asked.most
        return wanted

    def _noted(self, walked: _Walked) -> tuple[Indexes, Relationships]:
        pairs, relationships = walked.pairs, walked.relationships
        if not self.asked.by_group:
            there = self.counts[pairs] + self.now[pairs] + ranks(pairs)
            taken = np.flatnonzero(there < self.asked.most)
            pairs, relationships = pairs[taken], relationships[taken]
        np.add.at(self.now, pairs, 1)
        return pairs, relationships

    def _longer(self, walked: _Walked, most: int) -> Iterator[_Walked]:
        """Extends by a relationship not yet used, towards the source."""
        width = walked.relationships.shape[1]
        length = self.walks.length - width - 1
        searches = self.asked.searches[walked.pairs]
        for of, nodes, taken in self.walks.back(length, walked.nodes, searches, most):
            self._cut_rows(walked.pairs, of, most)
            fresh = np.ones(len(of), dtype=np.bool_)
            for column in range(width):
                fresh &= walked.relationships[of, column] != taken
            kept = np.flatnonzero(fresh)
            kept = kept[self._first(walked.pairs[of[kept]], most)]
            of = of[kept]
            longer = np.concatenate([walked.relationships[of], taken[kept, None]], axis=1)
            yield _Walked(walked.pairs[of], nodes[kept], longer)

    def _cut_rows(self, pairs: Indexes, of: Indexes, most: int) -> None:
        """Marks the pairs for which some row may have had more steps."""
        if most < EVERY:
            self.cut[pairs[np.bincount(of, minlength=len(pairs)) >= most]] = True

    def _first(self, pairs: Indexes, most: int) -> Indexes:
        """Places of the first ``most`` rows of each pair; marks the pairs that have more."""
        if most == EVERY:
            return np.arange(len(pairs))
        more = ranks(pairs) >= most
        self.cut[pairs[more]] = True
        return np.flatnonzero(~more)


def _without(
    found: tuple[Indexes, Relationships], pairs: NDArray[np.bool_]
) -> tuple[Indexes, Relationships]:
    """The trails except those of the masked pairs."""
    kept = np.flatnonzero(~pairs[found[0]])
    return found[0][kept], found[1][kept]
