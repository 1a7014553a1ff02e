"""Pairs of nodes: each once, and the nodes from which they are searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.runs import offsets_of
from gpugda.execute.entry_windows import entries_of
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.paths.path_choice import Ends

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["DistinctPairs", "Sources"]


class DistinctPairs:
    """The distinct pairs at some places.

    Args:
        asked: Pairs of nodes, one per place.
        places: The places considered.
    """

    def __init__(self, asked: Ends, places: NDArray[np.int64]) -> None:
        keys = asked.starts.astype(np.int64) << 32 | asked.ends
        pairs, first, pair_of = np.unique(keys[places], return_index=True, return_inverse=True)
        self.ends = asked.taken(places[first])
        self._order = places[np.argsort(pair_of, kind="stable")]
        self._bounds = offsets_of(pair_of, len(pairs))

    def places(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """All places of the given pairs."""
        return self._order[entries_of(self._bounds, pairs)[1]]

    def of_places(self, level: Level) -> Level:
        """Translates paths of pairs, given by number, to paths of all their places."""
        paths, entries = entries_of(self._bounds, level.rows)
        return Level(self._order[entries], level.ends[paths], level.relationships[paths])


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The nodes from which pairs are searched: their first or last ones, whichever are fewer.

    Args:
        nodes: These nodes, each once.
        numbers: Of each pair, the number of its source among them.
        others: The other node of each pair.
        are_ends: True if they are last nodes.
    """

    nodes: Nodes
    numbers: Indexes
    others: Indexes
    are_ends: bool

    @classmethod
    def of(cls, starts: Nodes, ends: Nodes) -> Sources:
        """The sources of pairs."""
        are_ends = len(unique_values(ends)) < len(unique_values(starts))
        one, other = (ends, starts) if are_ends else (starts, ends)
        nodes, numbers = np.unique(one, return_inverse=True)
        return cls(nodes, numbers, other.astype(np.int64), are_ends)

    def within(self, first: int, count: int) -> tuple[Indexes, Indexes, Indexes]:
        """The pairs of ``count`` sources; their source's number from ``first`` on; other nodes."""
        pairs = np.flatnonzero((self.numbers >= first) & (self.numbers < first + count))
        return pairs, self.numbers[pairs] - first, self.others[pairs]
