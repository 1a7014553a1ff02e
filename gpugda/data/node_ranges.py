"""Partitions relationships by ranges of nodes, so that each thread sorts one range.

A range fits the processor's cache; its borders follow the degrees. Relationships are partitioned in
pieces, in order of arrival, by sorting plain 32-bit keys (range, position within the piece), the
fastest sort in NumPy.
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
"""Approximate number of entries of a range."""
_MAX_RANGE_BITS: Final = 8
_PIECE: Final = 1 << 19
_MAX_PIECES: Final = 1 << 6
"""Larger inputs get larger pieces: Python concatenates one part per piece for each range."""
_LARGEST_PIECE: Final = 1 << (32 - _MAX_RANGE_BITS)
"""Range and position fit 32 bits together."""
_BIN_BITS: Final = 14
_SAMPLES: Final = 1 << 18


class Entries(NamedTuple):
    """Relationships as entries of the rows of one direction, in order of arrival.

    Args:
        rows: ``uint32``: the node that owns the row.
        types: ``uint16`` or ``uint32``; None if there is only one type.
        neighbours: ``uint32``: the node at the other end.
        arrivals: ``uint32``: position in order of arrival; None if not needed.
    """

    rows: NDArray[np.uint32]
    types: NDArray[NameId] | None
    neighbours: NDArray[np.uint32]
    arrivals: NDArray[np.uint32] | None

    def taken(self, places: NDArray[Any]) -> Entries:
        """The entries at the given positions, which must exist."""
        return self._each(lambda field: np.take(field, places, mode="clip"))

    def put(self, into: Entries, piece: slice) -> None:
        """Writes these entries into a slice of others that have the same fields."""
        for mine, theirs in zip(self, into, strict=True):
            if theirs is not None and mine is not None:
                theirs[piece] = mine

    def _each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Entries:
        return Entries(*[None if field is None else change(field) for field in self])  # type: ignore[arg-type]  # None where it was None


class Borders(NamedTuple):
    """Ranges of nodes with about equally many entries.

    Args:
        nodes: ``int64``: first node of each range, and the node count.
        of_bins: ``uint32``: range of each bin, that is, of nodes equal up to their lowest bits.
        shift: The number of these bits.
    """

    nodes: NDArray[np.int64]
    of_bins: NDArray[np.uint32]
    shift: int


def range_borders(rows: NDArray[np.uint32], node_count: int, wanted: int) -> Borders:
    """Divides the nodes into ranges, some perhaps empty, by a sample of the entries.

    Args:
        rows: The node that owns the row of each entry; not empty.
        node_count: The number of nodes.
        wanted: The number of ranges.
    """
    shift = max(0, bits_for(node_count) - _BIN_BITS)
    bins = ((node_count - 1) >> shift) + 1
    sample = rows[:: max(1, len(rows) // _SAMPLES)]
    sizes = np.bincount(sample >> np.uint32(shift), minlength=bins)
    before = np.cumsum(sizes) - sizes
    # Nodes beyond the last sampled entry may have entries, too.
    ranges = np.minimum(before * wanted // len(sample), wanted - 1)
    first_bins = np.searchsorted(ranges, np.arange(wanted + 1))
    borders = np.minimum(first_bins.astype(np.int64) << shift, node_count)
    borders[-1] = node_count
    return Borders(borders, ranges.astype(np.uint32), shift)


class NodeRanges:
    """Entries partitioned by ranges of nodes.

    Args:
        rows: ``uint32``: the node that owns the row of each entry.
        entries_of: Returns the entries of a piece, without arrivals.
        node_count: The number of nodes.
        type_ids: dtype of the types; None if entries have no types.
        with_arrivals: True if entries get arrivals.
        into: Writable arrays for rows, types and neighbours of all entries, which may be the
            inputs themselves; None: allocates new ones.

    Attributes:
        borders: First node of each range, and the node count.
        offsets: Prefix sum of the ranges' entry counts.
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
        self._wanted = min(1 << _MAX_RANGE_BITS, count // _RANGE)
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
        """Partitions a piece by range; returns the ranges' offsets in it, and its length."""
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
    """Number of entries of a piece that is partitioned at once, for ``count`` entries."""
    size = max(_PIECE, 1 << bits_for(-(-count // _MAX_PIECES)))
    return min(size, _LARGEST_PIECE)


def bits_for(count: int) -> int:
    """Number of bits of the numbers 0 … count-1."""
    return max(1, (count - 1).bit_length()) if count else 1
