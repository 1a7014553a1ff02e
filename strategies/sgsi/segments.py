"""Partitions in segments on the host, with equal numbers of entries, whichever nodes own them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from gpugda_strategies.gsi.entries import PIECE, SortedLists, sorted_lists
from gpugda_strategies.gsi.pcsr import hashed_lists

from gpugda.data.threads import in_threads_ahead, pieces_of, take_in_threads
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from gpugda_strategies.gsi.entries import Partition
    from gpugda_strategies.gsi.pcsr import HostLists
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["MIN_ENTRIES", "HostSegments", "Segment", "Segments", "cut", "max_bytes"]

MIN_ENTRIES = 32
"""Minimum entries of a segment, unless options say otherwise."""
_GROUP_BYTES = 128
_PAIRS = 15
_HOST_FACTOR = 2
"""Bytes of earlier queries' segments on the host, as a multiple of the relationships' bytes."""
_Key: TypeAlias = "tuple[Partition, int]"


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Consecutive entries, as separate lists.

    Args:
        lists: Hash groups over these entries.
        owners: The first and the last node with entries here.
    """

    lists: HostLists
    owners: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """A partition in segments.

    Args:
        parts: In the order of their owners.
        entries: Number of entries in total.
        per_segment: Entries of each segment but the last.
        nbytes: Bytes of the longest segment.
    """

    parts: tuple[Segment, ...]
    entries: int
    per_segment: int
    nbytes: int

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(each.lists.nbytes for each in self.parts)

    def needed(self, column: NDArray[np.uint32]) -> list[int]:
        """Segments whose range of owners overlaps that of a column's nodes."""
        if not len(column):
            return []
        low, high = int(column.min()), int(column.max())
        return [
            number
            for number, each in enumerate(self.parts)
            if each.owners[0] <= high and low <= each.owners[1]
        ]


def max_bytes(entries: int, owners: int, fill: int) -> int:
    """Maximum bytes of a segment with this many entries and owners."""
    groups = max(1, -(-owners // fill)) + owners // _PAIRS
    return 8 * entries + _GROUP_BYTES * groups


def cut(found: SortedLists, per_segment: int, fill: int) -> Segments:
    """The segments of a partition's entries."""
    parts = []
    total = len(found.neighbours)
    for first in range(0, total, per_segment):
        check_time()
        piece = _piece(found, first, min(first + per_segment, total))
        owners = int(piece.owners[0]), int(piece.owners[-1])
        parts.append(Segment(hashed_lists(piece, fill), owners))
    longest = max((each.lists.nbytes for each in parts), default=0)
    return Segments(tuple(parts), total, min(per_segment, total), longest)


def _piece(found: SortedLists, first: int, last: int) -> SortedLists:
    """Some consecutive entries, as the lists of their owners."""
    low = int(np.searchsorted(found.offsets, first, side="right")) - 1
    high = int(np.searchsorted(found.offsets, last, side="left"))
    offsets = found.offsets[low : high + 1].clip(first, last) - first
    entries = slice(first, last)
    return SortedLists(
        found.owners[low:high], offsets, found.neighbours[entries], found.relationships[entries]
    )


class HostSegments:
    """The segments of requested partitions; those of earlier queries are kept within a limit.

    Args:
        graph: The data graph.
        fill: Average number of nodes per hash group.
        wanted: Entries of a segment; None for as many as fit.
    """

    def __init__(self, graph: DataGraph, fill: int, wanted: int | None) -> None:
        self._graph = graph
        self._fill = fill
        self._wanted = wanted
        self._kept: OrderedDict[Partition, Segments] = OrderedDict()

    def find(
        self,
        partition: Partition,
        room: int,
        most: int,
        mask: NDArray[np.uint32] | None = None,
    ) -> Segments:
        """The segments of a partition, each of at most ``room`` bytes.

        Args:
            partition: The partition.
            room: Maximum bytes of a segment on the device.
            most: Maximum entries of a segment: a row has places for all of them.
            mask: Bitmap of the relationships that pass a predicate; then nothing is kept.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        kept = self._kept.pop(partition, None) if mask is None else None
        if kept is None or not self._suits(kept, room, most):
            found = sorted_lists(self._graph, partition)
            if mask is not None:
                found = _masked(found, mask)
            kept = cut(found, self._entries(found, room, most), self._fill)
        if mask is None:
            self._kept[partition] = kept
            self._forget()
        return kept

    def _suits(self, kept: Segments, room: int, most: int) -> bool:
        entries = kept.per_segment
        if self._wanted is not None or kept.nbytes > room or entries > most:
            return self._wanted is not None
        return len(kept.parts) <= 1 or kept.nbytes > room // 8 or entries > most // 8

    def _entries(self, found: SortedLists, room: int, most: int) -> int:
        """The number of entries of a segment."""
        if self._wanted is not None:
            return self._wanted
        total, firsts = len(found.neighbours), found.offsets[:-1]
        entries = max(min(total, most), 1)
        while entries > MIN_ENTRIES and self._longest(firsts, total, entries) > room:
            check_time()
            entries = max(MIN_ENTRIES, min(entries - 1, entries * 3 // 4))
        return entries

    def _longest(self, firsts: NDArray[np.int64], total: int, entries: int) -> int:
        """Maximum bytes of the segment with the most owners.

        Args:
            firsts: Index of each owner's first entry.
            total: Number of entries.
            entries: Number of entries of a segment.
        """
        bounds = np.searchsorted(firsts, np.append(np.arange(0, total, entries), total))
        most = int(np.diff(bounds).max(initial=0)) + 1  # a node may start in an earlier segment
        return max_bytes(min(entries, total), min(most, entries), self._fill)

    def _forget(self) -> None:
        """Evicts the least recently requested segments while all take too much."""
        most = _HOST_FACTOR * (self._graph.outgoing.nbytes + self._graph.incoming.nbytes)
        while len(self._kept) > 1 and sum(e.total_bytes for e in self._kept.values()) > most:
            self._kept.popitem(last=False)


def _masked(found: SortedLists, mask: NDArray[np.uint32]) -> SortedLists:
    """The entries of the relationships that a bitmap names."""

    def passing(piece: slice) -> NDArray[np.int64]:
        numbers = found.relationships[piece]
        places: NDArray[np.int64] = np.flatnonzero(mask[numbers >> 5] >> (numbers & 31) & 1)
        places += piece.start
        return places

    left = [np.zeros(0, dtype=np.int64)]
    for each in in_threads_ahead(passing, pieces_of(len(found.relationships), PIECE)):
        check_time()
        left.append(each)
    kept = np.concatenate(left)
    offsets = np.searchsorted(kept, found.offsets)
    has = offsets[1:] > offsets[:-1]
    return SortedLists(
        found.owners[has],
        np.append(offsets[:-1][has], len(kept)),
        take_in_threads(found.neighbours, kept),
        take_in_threads(found.relationships, kept),
    )
