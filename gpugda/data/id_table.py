"""Hash table from scattered integer ids to nodes, with vectorised lookups.

Open addressing with linear probing. Each round probes one slot for every unresolved id. At least
half of the slots are empty, so few ids need a second round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IdTable"]

_EMPTY: Final = np.uint32(0xFFFFFFFF)
_MIXED_BY: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_MAX_ROUNDS: Final = 1 << 10


class IdTable:
    """Immutable after construction; any thread may read it.

    Args:
        ids: ``int64``.
        nodes: ``uint32`` per id, below 2^32 - 1.

    Attributes:
        has_repeats: True if an id occurs twice; the table must not be used then.
        is_full: True if probe sequences became too long; the table must not be used then.
    """

    __slots__ = ("_ids", "_mask", "_nodes", "_shift", "has_repeats", "is_full")

    def __init__(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        bits = max(1, (2 * len(ids) - 1).bit_length())
        self._mask, self._shift = np.int64((1 << bits) - 1), np.uint64(64 - bits)
        self._nodes = np.full(1 << bits, _EMPTY, dtype=np.uint32)
        self._ids = np.zeros(1 << bits, dtype=np.int64)
        self.has_repeats = self.is_full = False
        self._fill(ids, nodes)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The node of each id; 2^32 - 1 where it is absent."""
        places = self._places(ids)
        found = self._nodes[places]
        # A slot with another id continues the probe sequence; an empty slot ends it.
        open_ids = np.flatnonzero((self._ids[places] != ids) & (found != _EMPTY))
        places = places[open_ids]
        while len(open_ids):
            places = (places + 1) & self._mask
            nodes = self._nodes[places]
            found[open_ids] = nodes
            still = (self._ids[places] != ids[open_ids]) & (nodes != _EMPTY)
            open_ids, places = open_ids[still], places[still]
        return found

    def _fill(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        waiting, places = np.arange(len(ids)), self._places(ids)
        for _ in range(_MAX_ROUNDS):
            free = self._nodes[places] == _EMPTY
            # Of several ids written to one slot, the last one stays.
            self._ids[places[free]] = ids[waiting[free]]
            self._nodes[places[free]] = nodes[waiting[free]]
            lost = self._nodes[places] != nodes[waiting]
            waiting, places = waiting[lost], places[lost]
            if not len(waiting):
                return
            if bool((self._ids[places] == ids[waiting]).any()):
                self.has_repeats = True
                return
            places = (places + 1) & self._mask
        self.is_full = True

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        mixed = ids.view(np.uint64) ^ (ids.view(np.uint64) >> _HALF)
        mixed *= _MIXED_BY
        mixed >>= self._shift
        return mixed.view(np.int64)
