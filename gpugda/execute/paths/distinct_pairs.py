"""Deduplicates pairs of nodes that several rows ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.execute.entry_windows import entries_of
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.paths.path_choice import Ends

__all__ = ["DistinctPairs"]


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
