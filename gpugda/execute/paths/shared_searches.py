"""Shortest paths of many pairs with common first nodes: one search serves all pairs of a node.

Breadth-first search from 64 sources per word: bit i of a node's word says that search i reached
it, so one pass over the relationships is a level of all searches. Paths are read back from their
last nodes through the levels; parallel relationships give separate paths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

__all__ = [
    "HostSeconds",
    "SharedSearch",
    "bits_of",
    "has",
    "host_seconds",
    "shared_paths",
]

_WORD: Final = 64
_SOURCES: Final = 512
"""Searches that run together."""
_MAX_WORDS: Final = 1 << 17
"""Words read together, and entries by which paths are extended together."""
_MAX_LEVEL_WORDS: Final = 1 << 24
"""Most words of a level."""
_LEVELS: Final = 8
_SECONDS_PER_WORD, _SECONDS_PER_PAIR, _SECONDS_PER_ENTRY = 3e-9, 3e-6, 30e-9
"""Measured seconds per word of a level, per pair searched alone, and per entry it reads."""


class HostSeconds(NamedTuple):
    """Expected host seconds: for shared searches, and for a separate search per pair."""

    shared: float
    separate: float


def host_seconds(steps: Adjacency, pairs: int, sources: int) -> HostSeconds:
    """Expected seconds of searches from the sources, and of one from both ends per pair."""
    node_count, entries = len(steps.offsets) - 1, len(steps.neighbours)
    words = -(-sources // _WORD)
    apart: float = pairs * (_SECONDS_PER_PAIR + 3 * entries**0.5 * _SECONDS_PER_ENTRY)
    if min(words, _SOURCES // _WORD) * node_count > _MAX_LEVEL_WORDS:
        return HostSeconds(math.inf, apart)
    looked = _LEVELS * words * (entries + node_count) * _SECONDS_PER_WORD
    read = _LEVELS * pairs * entries / max(node_count, 1) * _SECONDS_PER_ENTRY
    return HostSeconds(looked + read, apart)


def shared_paths(
    steps: Adjacency,
    backwards: Adjacency,
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
    *,
    every: bool,
) -> Iterator[Level]:
    """As `shortest_paths`; searches from the first or the last nodes, whichever are fewer."""
    few_ends = len(unique_values(ends)) < len(unique_values(starts))
    one, other = (ends, starts) if few_ends else (starts, ends)
    pulled = steps if few_ends else backwards
    sources, source_of = np.unique(one, return_inverse=True)
    for first in range(0, len(sources), _SOURCES):
        rows = np.flatnonzero((source_of >= first) & (source_of < first + _SOURCES))
        search = SharedSearch(pulled, sources[first : first + _SOURCES], check, every)
        asked = _Asked(rows, source_of[rows] - first, other[rows].astype(np.int64))
        for pairs, walked in search.run(asked, maximum):
            # Paths are read from the search's last node back to its source.
            yield Level(pairs, ends[pairs], walked if few_ends else walked[:, ::-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Pairs of one search: rows, source numbers, and nodes to reach."""

    rows: NDArray[np.int64]
    sources: NDArray[np.int64]
    nodes: NDArray[np.int64]

    def taken(self, places: NDArray[np.int64]) -> _Asked:
        return _Asked(self.rows[places], self.sources[places], self.nodes[places])


class SharedSearch:
    """A search from several sources at once.

    Args:
        pulled: Per node, the relationships by which a search can enter it.
        sources: Distinct nodes.
        check: Called often; raises when the deadline has passed.
        every: True for all shortest paths of a pair, False for one.
    """

    def __init__(
        self,
        pulled: Adjacency,
        sources: NDArray[np.uint32],
        check: Callable[[], None],
        every: bool,
    ) -> None:
        self.pulled = pulled
        self.check = check
        self.every = every
        self.degrees = np.diff(pulled.offsets)
        self.entered = np.flatnonzero(self.degrees)
        numbers = np.arange(len(sources))
        words = -(-len(sources) // _WORD)
        begin = np.zeros((len(self.degrees), words), dtype=np.uint64)
        begin[sources, numbers // _WORD] = bits_of(numbers)
        self.levels = [begin]

    def run(
        self, asked: _Asked, maximum: int | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """Yields rows of pairs and their paths from the reached node, shortest first."""
        seen = self.levels[0].copy()
        while len(asked.rows) and (maximum is None or len(self.levels) <= maximum):
            fresh = self.next_level() & ~seen
            if not fresh.any():
                return
            seen |= fresh
            self.levels.append(fresh)
            met = has(fresh, asked.nodes, asked.sources)
            yield from self._paths(asked.taken(np.flatnonzero(met)))
            asked = asked.taken(np.flatnonzero(~met))

    def next_level(self) -> NDArray[np.uint64]:
        """Nodes that the newest level leads to, including nodes reached before."""
        newest = self.levels[-1]
        found = np.zeros_like(newest)
        most = _MAX_WORDS // newest.shape[1]
        for start, stop in windows_of(self.degrees[self.entered], most):
            self.check()
            nodes = self.entered[start:stop]
            counts = self.degrees[nodes]
            first = int(self.pulled.offsets[nodes[0]])
            last = int(self.pulled.offsets[nodes[-1] + 1])
            reached = newest[self.pulled.neighbours[first:last]]
            found[nodes] = np.bitwise_or.reduceat(reached, np.cumsum(counts) - counts, axis=0)
        return found

    def _paths(self, asked: _Asked) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """The paths of pairs whose distance is the newest level."""
        none = np.zeros((len(asked.rows), 0), dtype=np.uint32)
        stack = [iter(((asked, none),))]
        while stack:
            self.check()
            piece = next(stack[-1], None)
            if piece is None:
                stack.pop()
                continue
            here, walked = piece
            if walked.shape[1] == len(self.levels) - 1:
                yield here.rows, walked
                continue
            stack.append(self._longer(here, walked))

    def _longer(
        self, asked: _Asked, walked: NDArray[np.uint32]
    ) -> Iterator[tuple[_Asked, NDArray[np.uint32]]]:
        """Extends the partial paths by one relationship towards the source, in windows."""
        before = self.levels[len(self.levels) - 2 - walked.shape[1]]
        width, flat = before.shape[1], before.reshape(-1)
        bits, words = bits_of(asked.sources), asked.sources // _WORD
        for start, stop in windows_of(self.degrees[asked.nodes], _MAX_WORDS):
            places, entries = entries_of(self.pulled.offsets, asked.nodes[start:stop])
            places += start
            nodes = self.pulled.neighbours[entries].astype(np.int64)
            here = flat[nodes * width + words[places]]
            here &= bits[places]
            kept = np.flatnonzero(here)
            if not self.every and len(kept):
                kept = kept[np.unique(places[kept], return_index=True)[1]]
            places = places[kept]
            taken = self.pulled.relationships[entries[kept]]
            longer = np.concatenate([walked[places], taken[:, None]], axis=1)
            if len(places):
                yield _Asked(asked.rows[places], asked.sources[places], nodes[kept]), longer


def bits_of(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The bit of each search within its word."""
    return np.uint64(1) << (numbers % _WORD).astype(np.uint64)


def has(
    level: NDArray[np.uint64], nodes: NDArray[np.int64], sources: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each pair of node and source number, True if the level has the node."""
    found: NDArray[np.bool_] = (level[nodes, sources // _WORD] & bits_of(sources)) != 0
    return found
