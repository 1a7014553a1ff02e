"""Walks of each length from many sources on the host, read back from their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.errors import MemoryLimitError
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.paths.path_choice import ranks
from gpugda.execute.paths.shared_searches import SharedSearch, bits_of, has

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

    Indexes = NDArray[np.int64]

__all__ = ["HostWalks", "walks_that_fit"]

_WORD: Final = 64
_MAX_WORDS: Final = 1 << 25
"""Limit for all levels together."""
_LEVELS: Final = 16
"""At least this many levels must fit."""
_MAX_SOURCES: Final = 512
_MAX_ENTRIES: Final = 1 << 18


def walks_that_fit(pulled: Adjacency) -> int:
    """Most sources whose walks can run together; 0 if memory does not suffice."""
    words = _MAX_WORDS // (_LEVELS * max(pulled.node_count, 1))
    return min(_WORD * words, _MAX_SOURCES)


class HostWalks:
    """Walks from given sources. Implements `gpugda.execute.paths.selected_trails.Walks`.

    Args:
        pulled: Per node, the relationships by which a walk can enter it.
        sources: Distinct nodes, at most `walks_that_fit`.
        check: Called often; raises when the deadline has passed.
    """

    def __init__(
        self, pulled: Adjacency, sources: NDArray[np.uint32], check: Callable[[], None]
    ) -> None:
        self._search = SharedSearch(pulled, sources, check, every=True)
        self._reached = np.zeros_like(self._search.levels[0])
        self.is_closed = False

    @property
    def length(self) -> int:
        """See `Walks.length`."""
        return len(self._search.levels) - 1

    def grow(self) -> bool:
        """See `Walks.grow`."""
        levels = self._search.levels
        if len(levels) * levels[0].size > _MAX_WORDS:
            raise MemoryLimitError("longer walks do not fit in memory")
        newest = self._search.next_level()
        levels.append(newest)
        self.is_closed = self.is_closed or not (newest & ~self._reached).any()
        self._reached |= newest
        return bool(newest.any())

    def met(self, nodes: Indexes, searches: Indexes) -> Indexes:
        """See `Walks.met`."""
        return np.flatnonzero(has(self._search.levels[-1], nodes, searches))

    def back(
        self, length: int, nodes: Indexes, searches: Indexes, most: int
    ) -> Iterator[tuple[Indexes, Indexes, NDArray[np.uint32]]]:
        """See `Walks.back`."""
        search = self._search
        level, pulled = search.levels[length], search.pulled
        bits, words = bits_of(searches), searches // _WORD
        for start, stop in windows_of(search.degrees[nodes], _MAX_ENTRIES):
            search.check()
            places, entries = entries_of(pulled.offsets, nodes[start:stop])
            places += start
            froms = pulled.neighbours[entries].astype(np.int64)
            kept = np.flatnonzero(level[froms, words[places]] & bits[places])
            kept = kept[ranks(places[kept]) < most]
            yield places[kept], froms[kept], pulled.relationships[entries[kept]]
