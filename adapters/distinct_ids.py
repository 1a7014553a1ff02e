"""Distinct ids named by many relationships, in order of first appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from gpugda.data.threads import in_threads, pieces_of
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["distinct_ids"]

_PIECE: Final = 1 << 18
_AT_ONCE: Final = 32
_FLAGS_PER_ID: Final = 8
"""A bitmap is used for integers if it has at most this many entries per id."""


def distinct_ids(pieces: Sequence[pa.Array]) -> pa.Array:
    """The distinct ids, in order of first appearance.

    Args:
        pieces: Integers, which become ``int64``, or texts of one type; without nulls.
    """
    if pa.types.is_integer(pieces[0].type):
        parts = [
            ids[each] for ids in map(numpy_numbers, pieces) for each in pieces_of(len(ids), _PIECE)
        ]
        bounds = in_threads(lambda part: (int(part.min()), int(part.max())), parts)
        if bounds:
            low, high = min(each[0] for each in bounds), max(each[1] for each in bounds)
            if high - low < _FLAGS_PER_ID * sum(map(len, parts)):
                return arrow_numbers(_marked(parts, low, high))
        pieces = [each.cast(pa.int64()) for each in pieces]
    return pc.unique(pa.chunked_array(pieces))


def _marked(parts: Sequence[NDArray[Any]], low: int, high: int) -> NDArray[np.int64]:
    """Distinct integers by a bitmap."""
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    found: list[NDArray[np.int64]] = []

    def unseen(part: NDArray[Any]) -> NDArray[np.int64]:
        places = part.astype(np.int64) - low
        return places[~seen[places]]

    for first in range(0, len(parts), _AT_ONCE):
        # Threads filter by earlier parts; parts of one group may still share ids.
        for places in in_threads(unseen, parts[first : first + _AT_ONCE]):
            new = places[~seen[places]]
            if len(new):
                distinct = numpy_numbers(pc.unique(arrow_numbers(new)))
                seen[distinct] = True
                found.append(distinct + low)
    return np.concatenate(found)
