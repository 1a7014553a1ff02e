"""Which of the paths that satisfy a search are taken, and which pairs of nodes want more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AtMost", "Ends", "PathChoice", "Shortest", "ranks"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Rows of a batch, and the nodes between which each of them asks for paths.

    Args:
        rows: ``int64``, their numbers.
        starts: ``uint32``, first nodes.
        ends: ``uint32``, last nodes.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]

    def taken(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Ends:
        """Some of them."""
        return Ends(self.rows[places], self.starts[places], self.ends[places])


class PathChoice(Protocol):
    """Told of all paths that satisfy a search, the shorter before the longer."""

    def take(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of those paths that are taken; ``pairs`` has the pair of nodes of each path."""

    def end_length(self) -> None:
        """No more paths of this length will come."""

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Which pairs want more."""


@dataclass(slots=True, eq=False)
class Shortest:
    """The shortest path of each pair, or all of that length.

    Args:
        count: Pairs of nodes.
        every: All of that length?
    """

    count: int
    every: bool
    satisfied: NDArray[np.bool_] = field(init=False)
    waiting: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.satisfied = np.zeros(self.count, dtype=np.bool_)
        self.waiting = np.ones(self.count, dtype=np.bool_)

    def take(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `PathChoice.take`."""
        taken: NDArray[np.int64] = np.arange(len(pairs))
        if not self.every:
            taken = np.flatnonzero(~self.satisfied[pairs])
            taken = taken[np.unique(pairs[taken], return_index=True)[1]]
        self.satisfied[pairs[taken]] = True
        return taken

    def end_length(self) -> None:
        """See `PathChoice.end_length`."""
        self.waiting[self.satisfied] = False


@dataclass(slots=True, eq=False)
class AtMost:
    """So many paths of each pair, or those of so many lengths.

    Args:
        count: Pairs of nodes.
        most: How many.
        by_group: Lengths, each with all of its paths?
    """

    count: int
    most: int
    by_group: bool
    counts: NDArray[np.int64] = field(init=False)
    in_group: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.count, dtype=np.int64)
        self.in_group = np.zeros(self.count, dtype=np.bool_)

    def take(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `PathChoice.take`."""
        if self.by_group:
            self.in_group[pairs] = True
            return np.arange(len(pairs))
        taken = np.flatnonzero(self.counts[pairs] + ranks(pairs) < self.most)
        np.add.at(self.counts, pairs[taken], 1)
        return taken

    def end_length(self) -> None:
        """See `PathChoice.end_length`."""
        self.counts[self.in_group] += 1
        self.in_group[:] = False

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """See `PathChoice.waiting`."""
        more: NDArray[np.bool_] = self.counts < self.most
        return more


def ranks(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the earlier rows are the same, row by row."""
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    firsts = np.repeat(begins, np.diff(np.append(begins, len(rows))))
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows)) - firsts
    return ranks
