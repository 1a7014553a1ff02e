"""Selects paths among those that satisfy a search, and tells which pairs need more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AtMost", "Ends", "PathChoice", "Shortest", "ranks"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Rows of a batch, with the two nodes between which each needs paths.

    Args:
        rows: Row numbers, ``int64``.
        starts: First nodes, ``uint32``.
        ends: Last nodes, ``uint32``.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]

    def taken(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Ends:
        """The entries at these places."""
        return Ends(self.rows[places], self.starts[places], self.ends[places])


class PathChoice(Protocol):
    """Receives all paths that satisfy a search, shorter ones first."""

    def take(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of the paths that are taken; ``pairs`` holds each path's pair of nodes."""

    def end_length(self) -> None:
        """Called when no more paths of the current length will come."""

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Mask of the pairs that need more paths."""


@dataclass(slots=True, eq=False)
class Shortest:
    """The shortest path of each pair, or all of that length.

    Args:
        count: Number of pairs of nodes.
        every: True for all paths of that length.
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
    """The first k paths of each pair, or all paths of its first k lengths.

    Args:
        count: Number of pairs of nodes.
        most: k.
        by_group: True if ``most`` counts lengths, each with all of its paths.
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
    """For each row, the number of earlier rows with the same value."""
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    firsts = np.repeat(begins, np.diff(np.append(begins, len(rows))))
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows)) - firsts
    return ranks
