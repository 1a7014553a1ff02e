"""Walks of each length from many nodes on the host, read back from where they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.errors import MemoryLimitError
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.path_choice import ranks
from gpugda.execute.shared_searches import SharedSearch, bits_of, has

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

    Indexes = NDArray[np.int64]

__all__ = ["HostWalks", "walks_that_fit"]

_WORD: Final = 64
_MOST_WORDS: Final = 1 << 25
"""Of all levels together."""
_LEVELS: Final = 16
"""So many must fit."""
_MOST_SOURCES: Final = 512
_MOST_ENTRIES: Final = 1 << 18


def walks_that_fit(pulled: Adjacency) -> int:
    """From how many nodes walks can go together; 0 where there is no room."""
    words = _MOST_WORDS // (_LEVELS * max(pulled.node_count, 1))
    return min(_WORD * words, _MOST_SOURCES)


class HostWalks:
    """Those from some sources. As `gpugda.execute.selected_trails.Walks`.

    Args:
        pulled: For each node the relationships by which a walk may come to it.
        sources: Different nodes, no more than `walks_that_fit`.
        check: Called often: raises when it is time to give up.
    """

    def __init__(
        self, pulled: Adjacency, sources: NDArray[np.uint32], check: Callable[[], None]
    ) -> None:
        self._search = SharedSearch(pulled, sources, check, every=True)
        self._reached = np.zeros_like(self._search.levels[0])
        self.is_closed = False

    @property
    def length(self) -> int:
        """Of the longest walks."""
        return len(self._search.levels) - 1

    def grow(self) -> bool:
        """As of every `Walks`."""
        levels = self._search.levels
        if len(levels) * levels[0].size > _MOST_WORDS:
            raise MemoryLimitError("there is no room for longer walks")
        newest = self._search.next_level()
        levels.append(newest)
        self.is_closed = self.is_closed or not (newest & ~self._reached).any()
        self._reached |= newest
        return bool(newest.any())

    def met(self, nodes: Indexes, searches: Indexes) -> Indexes:
        """As of every `Walks`."""
        return np.flatnonzero(has(self._search.levels[-1], nodes, searches))

    def back(
        self, length: int, nodes: Indexes, searches: Indexes, most: int
    ) -> Iterator[tuple[Indexes, Indexes, NDArray[np.uint32]]]:
        """As of every `Walks`."""
        search = self._search
        level, pulled = search.levels[length], search.pulled
        bits, words = bits_of(searches), searches // _WORD
        for start, stop in windows_of(search.degrees[nodes], _MOST_ENTRIES):
            search.check()
            places, entries = entries_of(pulled.offsets, nodes[start:stop])
            places += start
            froms = pulled.neighbours[entries].astype(np.int64)
            kept = np.flatnonzero(level[froms, words[places]] & bits[places])
            kept = kept[ranks(places[kept]) < most]
            yield places[kept], froms[kept], pulled.relationships[entries[kept]]
