"""Makes lists of higher-ranked neighbours on the host, if the device has no room to make them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gpugda.data.node_ranges import bits_for
from gpugda.data.threads import core_count, in_threads_ahead, pieces_of
from gpugda.deadline import check_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

    _Numbers = NDArray[np.uint64]

__all__ = ["HOST_BYTES", "MadeLists", "host_ranks"]

HOST_BYTES = 24
"""Bytes of the host's memory per relationship while lists are made."""
_Found = TypeVar("_Found")
_MIN_PIECE, _MAX_PIECE = 1 << 12, 1 << 22
"""Entries that a thread sorts at a time. There are as many windows as pieces, and each window takes
a slice of each piece."""
_PIECES_PER_CORE = 2
_SAMPLES = 64
"""Numbers per piece and window from which the bounds of windows are chosen."""


class MadeLists:
    """The lists of one type. Threads sort pieces of the relationships, then windows of lists.

    A relationship is a number: its list in the upper bits, the neighbour in the lower ones.

    Args:
        graph: The data graph.
        type_id: The type.

    Attributes:
        starts: See `UpwardLists`.

    Raises:
        QueryTimeoutError: The deadline of this thread's work passed.
    """

    def __init__(self, graph: DataGraph, type_id: int) -> None:
        self._bits = np.uint64(bits_for(graph.node_count))
        ranks = host_ranks(graph, type_id)
        total, cores = graph.relationship_count, core_count()
        size = -(-total // (_PIECES_PER_CORE * cores))
        size = max(_MIN_PIECE, min(_MAX_PIECE, size))

        def numbers_of(piece: slice) -> _Numbers:
            return _numbers(graph, type_id, ranks, piece, self._bits)

        pieces = _checked(in_threads_ahead(numbers_of, pieces_of(total, size)))
        bounds = _bounds(pieces, int(self._bits), 2 * graph.node_count)

        def sort(window: tuple[int, int]) -> _Numbers:
            return _merged(pieces, *window)

        self._windows = _checked(in_threads_ahead(sort, list(pairwise(bounds))))
        self.starts = self._starts(2 * graph.node_count)

    @property
    def count(self) -> int:
        """The number of entries of all lists."""
        return sum(map(len, self._windows))

    def write(self, target: NDArray[np.uint32]) -> None:
        """Writes the neighbours, list by list, to an array of `count` elements."""
        lowest = (np.uint64(1) << self._bits) - np.uint64(1)
        ends = np.cumsum([0, *map(len, self._windows)]).tolist()

        def copy(number: int) -> None:
            target[ends[number] : ends[number + 1]] = self._windows[number] & lowest

        _checked(in_threads_ahead(copy, range(len(self._windows))))

    def _starts(self, lists: int) -> NDArray[np.uint32]:
        starts = np.zeros(lists + 1, dtype=np.uint32)

        def count(window: _Numbers) -> None:
            if not len(window):
                return
            found = (window >> self._bits).astype(np.int64)
            first = int(found[0])
            counts = np.bincount(found - first)
            starts[first + 1 : first + 1 + len(counts)] = counts

        _checked(in_threads_ahead(count, self._windows))
        np.cumsum(starts, out=starts)
        return starts


def _checked(found: Iterable[_Found]) -> list[_Found]:
    """The results, with the deadline checked after each."""
    made = []
    for each in found:
        check_time()
        made.append(each)
    return made


def _numbers(
    graph: DataGraph, type_id: int, ranks: NDArray[np.uint32], piece: slice, bits: np.uint64
) -> _Numbers:
    """The sorted numbers of a piece of the outgoing entries, without those of self-loops."""
    nodes, types = graph.outgoing.entries(piece)
    neighbours = graph.outgoing.neighbours[piece]
    fits = nodes != neighbours
    if len(graph.types) > 1:
        fits &= types == type_id
    if not fits.all():
        nodes, neighbours = nodes[fits], neighbours[fits]
    starts, ends = np.take(ranks, nodes), np.take(ranks, neighbours)
    found = 2 * np.maximum(starts, ends).astype(np.uint64)
    found += starts < ends
    found <<= bits
    found |= np.minimum(starts, ends)
    found.sort()
    return found


def _bounds(pieces: Sequence[_Numbers], bits: int, lists: int) -> list[int]:
    """Bounds of as many windows with about as many numbers each, between two lists' numbers."""
    windows = len(pieces)
    some = [each[:: max(1, len(each) // (_SAMPLES * windows))] for each in pieces]
    sample = np.sort(np.concatenate([*some, np.empty(0, dtype=np.uint64)]))
    places = [len(sample) * each // windows for each in range(1, windows)] if len(sample) else []
    inner = [int(sample[each]) >> bits << bits for each in places]
    return [0, *inner, lists << bits]


def _merged(pieces: Sequence[_Numbers], low: int, high: int) -> _Numbers:
    """The numbers from ``low`` to before ``high``, sorted."""
    bounds = np.array([low, high], dtype=np.uint64)
    found = [each[slice(*np.searchsorted(each, bounds))] for each in pieces]
    merged = np.concatenate([*found, np.empty(0, dtype=np.uint64)])
    merged.sort()
    return merged


def host_ranks(graph: DataGraph, type_id: int) -> NDArray[np.uint32]:
    """``uint32[n]``: ranks of nodes by their relationships of a type, most first, then by index."""
    types = None if len(graph.types) <= 1 else [type_id]
    degrees = graph.outgoing.degrees(types) + graph.incoming.degrees(types)
    fewer = int(degrees.max(initial=0)) - degrees
    # NumPy sorts numbers of 16 bits by their digits, which takes a tenth of the time.
    order = np.argsort(fewer.astype(np.uint16), kind="stable")
    upper = (fewer >> 16).astype(np.uint16)
    if upper.any():
        order = order[np.argsort(upper[order], kind="stable")]
    ranks = np.empty(graph.node_count, dtype=np.uint32)
    ranks[order] = np.arange(graph.node_count, dtype=np.uint32)
    return ranks
