"""Relationships brought together by ranges of nodes, so that threads sort one range each.

A range is small enough to be sorted in the processor's cache, and its borders follow the degrees.
Pieces of the relationships, in the order of their arrival, are put in the order of ranges by
sorting plain 32-bit numbers (range, place within the piece), the fastest that NumPy has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpugda.data.threads import in_threads, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = ["Borders", "Entries", "NodeRanges", "bits_for", "piece_size", "range_borders"]

_RANGE: Final = 1 << 17
"""Entries of a range, about."""
_MOST_RANGE_BITS: Final = 8
_PIECE: Final = 1 << 19
_MOST_PIECES: Final = 1 << 6
"""Pieces grow beyond that: ranges are put together of as many parts, by Python."""
_LARGEST_PIECE: Final = 1 << (32 - _MOST_RANGE_BITS)
"""Range and place fit 32 bits."""
_BIN_BITS: Final = 14
_SAMPLES: Final = 1 << 18


class Entries(NamedTuple):
    """Relationships as seen from the nodes in whose rows they shall lie, in order of arrival.

    Args:
        rows: ``uint32``, these nodes.
        types: ``uint16`` or ``uint32``; None where there is one type.
        neighbours: ``uint32``, the nodes at the other end.
        arrivals: ``uint32``, their places among all; None where nobody asks.
    """

    rows: NDArray[np.uint32]
    types: NDArray[NameId] | None
    neighbours: NDArray[np.uint32]
    arrivals: NDArray[np.uint32] | None

    def taken(self, places: NDArray[Any]) -> Entries:
        """Those at some places, all of which there are."""
        return self._each(lambda field: np.take(field, places, mode="clip"))

    def put(self, into: Entries, piece: slice) -> None:
        """Writes them to a piece of others, which have as many fields."""
        for mine, theirs in zip(self, into, strict=True):
            if theirs is not None and mine is not None:
                theirs[piece] = mine

    def _each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Entries:
        return Entries(*[None if field is None else change(field) for field in self])  # type: ignore[arg-type]  # None where it was None


class Borders(NamedTuple):
    """Ranges of nodes with about as many entries each.

    Args:
        nodes: ``int64``: the first node of each range, and the number of nodes.
        of_bins: ``uint32``: the range of all nodes that are alike but for their lowest bits.
        shift: So many bits.
    """

    nodes: NDArray[np.int64]
    of_bins: NDArray[np.uint32]
    shift: int


def range_borders(rows: NDArray[np.uint32], node_count: int, wanted: int) -> Borders:
    """So many ranges, some perhaps without nodes, from a sample of the entries.

    Args:
        rows: The node in whose row each entry lies; not empty.
        node_count: Nodes that there are.
        wanted: Ranges.
    """
    shift = max(0, bits_for(node_count) - _BIN_BITS)
    bins = ((node_count - 1) >> shift) + 1
    sample = rows[:: max(1, len(rows) // _SAMPLES)]
    sizes = np.bincount(sample >> np.uint32(shift), minlength=bins)
    before = np.cumsum(sizes) - sizes
    # Behind the last entry of the sample there may be others.
    ranges = np.minimum(before * wanted // len(sample), wanted - 1)
    first_bins = np.searchsorted(ranges, np.arange(wanted + 1))
    borders = np.minimum(first_bins.astype(np.int64) << shift, node_count)
    borders[-1] = node_count
    return Borders(borders, ranges.astype(np.uint32), shift)


class NodeRanges:
    """Entries by ranges of nodes.

    Args:
        rows: ``uint32``, the node in whose row each entry shall lie.
        entries_of: The entries of a piece without arrivals.
        node_count: Nodes that there are.
        type_ids: What the types of entries are; None where they have none.
        with_arrivals: Shall entries have arrivals?
        into: Arrays of as many entries, for rows, types and neighbours, that may be written: those
            that are read, or others that nobody needs. None: new ones.

    Attributes:
        borders: First node of each range, and the number of nodes.
        offsets: Entries before each range, and their number.
    """

    def __init__(
        self,
        rows: NDArray[np.uint32],
        entries_of: Callable[[slice], Entries],
        node_count: int,
        *,
        type_ids: np.dtype[NameId] | None,
        with_arrivals: bool,
        into: Entries | None = None,
    ) -> None:
        count = len(rows)
        self._entries_of, self._with_arrivals = entries_of, with_arrivals
        self._wanted = min(1 << _MOST_RANGE_BITS, count // _RANGE)
        if self._wanted < 2:
            self._whole: Entries | None = self._with_places(slice(0, count))
            self.borders = np.array([0, node_count], dtype=np.int64)
            self.offsets = np.array([0, count], dtype=np.int64)
            return
        self._whole = None
        size = piece_size(count)
        self._pieces = pieces_of(count, size)
        self._place_bits = bits_for(size)
        self.borders, self._range_of_bin, self._shift = range_borders(
            rows, node_count, self._wanted
        )
        if into is None:
            into = Entries(
                np.empty(count, dtype=np.uint32),
                None if type_ids is None else np.empty(count, dtype=type_ids),
                np.empty(count, dtype=np.uint32),
                None,
            )
        arrivals = np.empty(count, dtype=np.uint32) if with_arrivals else None
        self._fields = into._replace(arrivals=arrivals)
        self._cuts = np.array(in_threads(self._bring, self._pieces))
        self.offsets = np.concatenate([[0], np.cumsum(np.diff(self._cuts).sum(axis=0))])

    def __len__(self) -> int:
        return len(self.borders) - 1

    def of(self, number: int) -> Entries:
        """The entries of one range, in order of arrival."""
        if self._whole is not None:
            return self._whole
        parts = [
            slice(piece.start + int(cut[number]), piece.start + int(cut[number + 1]))
            for piece, cut in zip(self._pieces, self._cuts, strict=True)
        ]
        return Entries(
            *[
                None if field is None else np.concatenate([field[part] for part in parts])
                for field in self._fields
            ]  # type: ignore[arg-type]  # None where it was None
        )

    def _with_places(self, piece: slice) -> Entries:
        entries = self._entries_of(piece)
        if not self._with_arrivals:
            return entries
        return entries._replace(arrivals=np.arange(piece.start, piece.stop, dtype=np.uint32))

    def _bring(self, piece: slice) -> NDArray[np.int64]:
        """Puts a piece in the order of ranges; where in it each range begins, and its length."""
        entries = self._with_places(piece)
        keys = self._range_of_bin[entries.rows >> np.uint32(self._shift)]
        keys <<= np.uint32(self._place_bits)
        keys |= np.arange(len(keys), dtype=np.uint32)
        keys.sort()
        firsts = np.arange(self._wanted, dtype=np.uint32) << np.uint32(self._place_bits)
        cuts = np.append(np.searchsorted(keys, firsts), len(keys))
        keys &= np.uint32((1 << self._place_bits) - 1)
        entries.taken(keys).put(self._fields, piece)
        return cuts


def piece_size(count: int) -> int:
    """Entries of the pieces of so many that are put in order each."""
    size = max(_PIECE, 1 << bits_for(-(-count // _MOST_PIECES)))
    return min(size, _LARGEST_PIECE)


def bits_for(count: int) -> int:
    """Bits of the numbers 0 … count-1."""
    return max(1, (count - 1).bit_length()) if count else 1
