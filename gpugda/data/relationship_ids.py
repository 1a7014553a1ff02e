"""Ids of relationships, in order of arrival while a graph is read, then by relationship index."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.batches import id_array
from gpugda.data.external_ids import are_distinct
from gpugda.data.threads import in_threads, pieces_of, take_in_threads
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ArrivingIds"]

_PIECE = 1 << 20
_MAX_GAPS = 4
"""Looking up ids takes as long as adding this many gaps."""


class ArrivingIds:
    """Collects the ids of batches; consecutive ids take no memory."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[np.int64] | range] = []

    def add(self, ids: NDArray[np.int64] | range) -> None:
        """Adds the ids of the next relationships."""
        last = self._pieces[-1] if self._pieces else None
        if isinstance(ids, range) and isinstance(last, range) and last.stop == ids.start:
            self._pieces[-1] = range(last.start, ids.stop)
        elif len(ids):
            self._pieces.append(ids if isinstance(ids, range) else ids.astype(np.int64, copy=False))

    def in_order(self, order: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The ids at the given positions of arrival, which are all; releases what was collected.

        Raises:
            SourceError: An id occurs twice.
        """
        ranges = self._ranges()
        if ranges is not None:
            self._pieces = []
            return _computed(ranges, order)
        ids = np.concatenate([id_array(each) for each in self._pieces])
        self._pieces = []
        if not bool((ids[1:] > ids[:-1]).all()) and not are_distinct(ids):
            raise SourceError("a relationship was read twice: two have the same id")
        return take_in_threads(ids, order)

    def _ranges(self) -> list[range] | None:
        """The ids as few increasing ranges; None if they are others."""
        found: list[range] = []
        for each in self._pieces:
            for part in [each] if isinstance(each, range) else _ranges_of(each):
                if found and part.start < found[-1].stop:
                    return None
                if found and part.start == found[-1].stop:
                    found[-1] = range(found[-1].start, part.stop)
                else:
                    found.append(part)
                if len(found) > _MAX_GAPS + 1:
                    return None
        return found


def _ranges_of(ids: NDArray[np.int64]) -> list[range]:
    """Maximal consecutive ranges; stops after more than are useful."""
    borders = (np.flatnonzero(np.diff(ids) != 1) + 1).tolist()[: _MAX_GAPS + 1]
    edges = [0, *borders, len(ids)]
    return [range(int(ids[low]), int(ids[low]) + high - low) for low, high in pairwise(edges)]


def _computed(ranges: list[range], order: NDArray[np.uint32]) -> NDArray[np.int64]:
    found = np.empty(len(order), dtype=np.int64)
    places = np.cumsum([len(each) for each in ranges]).tolist()

    def put(piece: slice) -> None:
        np.add(order[piece], np.int64(ranges[0].start), out=found[piece])
        for (before, each), place in zip(pairwise(ranges), places, strict=False):
            found[piece] += (order[piece] >= place) * (each.start - before.stop)

    in_threads(put, pieces_of(len(order), _PIECE))
    return found
