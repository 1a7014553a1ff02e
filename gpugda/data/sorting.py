"""Sorts relationships into compressed sparse rows, partitioned by ranges of nodes."""

from __future__ import annotations

import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.identifiers import name_id_type
from gpugda.data.threads import in_threads, pieces_of, take_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = [
    "Borders",
    "Entries",
    "NodeRanges",
    "RowFacts",
    "RowSorter",
    "SortedRows",
    "Unsorted",
    "bits_for",
    "has_fast_sort",
    "outgoing_csr",
    "piece_size",
    "range_borders",
    "reversed_csr",
    "sorted_rows",
    "stable_order",
]

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


_COUNT: Final = 1 << 15
_TRIES: Final = 3
_MAX_NANOSECONDS: Final = 10
"""Per number. AVX-512 takes 5 in the cache, a comparison sort 60, sorting by digits 7 to 12."""


@cache
def has_fast_sort() -> bool:
    """True if sorting 64-bit numbers in the cache takes few nanoseconds each; measured once."""
    numbers = np.random.default_rng(0).integers(1 << 63, size=_COUNT, dtype=np.uint64)
    return min(_seconds(numbers.copy()) for _ in range(_TRIES)) <= _MAX_NANOSECONDS * 1e-9 * _COUNT


def _seconds(numbers: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> float:
    started = time.thread_time()
    numbers.sort()
    return time.thread_time() - started


_WORD_BITS = 64


class RowFacts(NamedTuple):
    """Facts found while sorting relationships.

    Args:
        loop_counts: Number of loops per type.
        parallel_types: Per type, True if two relationships have the same start and end.
        has_parallel: True if two relationships of any types have the same start and end.
    """

    loop_counts: tuple[int, ...]
    parallel_types: tuple[bool, ...]
    has_parallel: bool


class SortedRows(NamedTuple):
    """Relationships in both directions.

    Args:
        outgoing: Rows by start node.
        incoming: Rows by end node.
        order: Arrival position of each relationship index, if requested.
        facts: None if they were not collected.
    """

    outgoing: Csr
    incoming: Csr
    order: NDArray[np.uint32] | None
    facts: RowFacts | None = None


class Unsorted(NamedTuple):
    """Relationships in order of arrival.

    Args:
        node_count: The number of nodes.
        type_count: The number of types.
        starts: ``uint32``, below ``node_count``.
        types: ``uint16`` or ``uint32`` as `name_id_type` says, below ``type_count``.
        ends: ``uint32``, below ``node_count``.
    """

    node_count: int
    type_count: int
    starts: NDArray[np.uint32]
    types: NDArray[NameId]
    ends: NDArray[np.uint32]

    def entries(self, piece: slice) -> Entries:
        """A slice of the relationships as entries of their start nodes."""
        return Entries(self.starts[piece], self._some(self.types[piece]), self.ends[piece], None)

    def entries_of_ends(self) -> Entries:
        """All relationships as entries of their end nodes."""
        return Entries(self.ends, self._some(self.types), self.starts, None)

    def _some(self, types: NDArray[NameId]) -> NDArray[NameId] | None:
        return types if self.type_count > 1 else None


def stable_order(
    fields: Sequence[NDArray[np.unsignedinteger]], bits: Sequence[int]
) -> NDArray[np.uint32]:
    """Sorting permutation by the fields, the first one most significant; ties keep their order.

    Args:
        fields: Arrays of one length, with values below 2^32.
        bits: Number of bits of each field's values, at most 32.
    """
    count = len(fields[0])
    place_bits = bits_for(count)
    order: NDArray[np.uint32] | None = None
    remaining = list(zip(fields, bits, strict=True))
    while remaining:
        # Take as many fields as fit beside the position, the least significant first.
        taken = []
        room = _WORD_BITS - place_bits
        while remaining and remaining[-1][1] <= room:
            taken.append(remaining.pop())
            room -= taken[-1][1]
        values, widths = zip(*reversed(taken), strict=True)
        key = _packed(values, widths, count, order, place_bits)
        key.sort()
        positions = _low_bits(key, place_bits)
        order = positions if order is None else order[positions]
    assert order is not None
    return order


class RowSorter(Protocol):
    """Sorts like `sorted_rows`, or returns None if it cannot."""

    def __call__(self, given: Unsorted, *, with_order: bool) -> SortedRows | None:
        """See `sorted_rows`."""


def sorted_rows(given: Unsorted, *, with_order: bool) -> SortedRows:
    """The rows of both directions.

    The given arrays are used as scratch memory: their contents are undefined afterwards.
    """
    into = given.entries(slice(None))
    outgoing, order = outgoing_csr(given, with_order=with_order, into=into)
    incoming = reversed_csr(outgoing, given.type_count, given.entries_of_ends())
    return SortedRows(outgoing, incoming, order)


def outgoing_csr(
    given: Unsorted, *, with_order: bool, into: Entries | None = None
) -> tuple[Csr, NDArray[np.uint32] | None]:
    """Rows by start node, sorted by (type, end, arrival). ``into``: see `NodeRanges`.

    Returns:
        The rows and, if ``with_order``, the arrival position of each relationship index.
    """
    node_count, type_count = given.node_count, given.type_count
    ranges = NodeRanges(
        given.starts,
        given.entries,
        node_count,
        type_ids=_type_ids(type_count),
        with_arrivals=with_order,
        into=into,
    )
    rows = _Rows(ranges, node_count, type_count, by_neighbour=True, with_arrivals=with_order)
    return rows.csr(None), rows.arrivals


def reversed_csr(outgoing: Csr, type_count: int, into: Entries | None = None) -> Csr:
    """Rows by end node, sorted by (type, start, relationship index), from the rows by start node.

    ``into``: see `NodeRanges`.
    """
    # Relationship indexes increase with (start, type, end), so for one end and type they increase
    # with (start, index): sorting by (end, type) and index is enough.
    ranges = NodeRanges(
        outgoing.neighbours,
        partial(_seen_from_ends, outgoing, with_types=type_count > 1),
        outgoing.node_count,
        type_ids=_type_ids(type_count),
        with_arrivals=True,
        into=into,
    )
    rows = _Rows(ranges, outgoing.node_count, type_count, by_neighbour=False, with_arrivals=True)
    return rows.csr(rows.arrivals)


def _seen_from_ends(outgoing: Csr, piece: slice, *, with_types: bool) -> Entries:
    starts, types = outgoing.entries(piece)
    return Entries(outgoing.neighbours[piece], types if with_types else None, starts, None)


def _type_ids(type_count: int) -> np.dtype[NameId] | None:
    return name_id_type(type_count) if type_count > 1 else None


class _Rows:
    """CSR rows, sorted range by range.

    Args:
        ranges: The entries.
        node_count: The number of nodes.
        type_count: The number of types.
        by_neighbour: True to sort the entries of a run by neighbour; False if they arrive sorted.
        with_arrivals: True to collect the order of arrival.
    """

    def __init__(
        self,
        ranges: NodeRanges,
        node_count: int,
        type_count: int,
        *,
        by_neighbour: bool,
        with_arrivals: bool,
    ) -> None:
        count = int(ranges.offsets[-1])
        self._ranges, self._by_neighbour = ranges, by_neighbour
        self._bits = bits_for(type_count), bits_for(node_count)
        self._type_ids = name_id_type(type_count)
        self._neighbours = np.empty(count, dtype=np.uint32)
        self.arrivals = np.empty(count, dtype=np.uint32) if with_arrivals else None
        self._run_offsets = np.zeros(node_count + 1, dtype=np.uint32)
        self._runs = in_threads(self._sort, range(len(ranges)))

    def csr(self, relationship_indexes: NDArray[np.uint32] | None) -> Csr:
        """The rows."""
        end = np.array([len(self._neighbours)], dtype=np.uint32)
        run_starts = _joined([*[starts for starts, _ in self._runs], end])
        run_types = _joined([types for _, types in self._runs])
        self._runs = []
        run_offsets = self._run_offsets
        np.cumsum(run_offsets, out=run_offsets)
        return Csr(
            row_offsets=take_in_threads(run_starts, run_offsets),
            neighbours=self._neighbours,
            relationship_indexes=relationship_indexes,
            run_offsets=run_offsets,
            run_types=run_types,
            run_starts=run_starts,
        )

    def _sort(self, number: int) -> tuple[NDArray[np.uint32], NDArray[NameId]]:
        """Writes the entries of a range, and the number of runs of each of its nodes.

        Returns:
            Start of each run, and its type.
        """
        low, high = self._ranges.offsets[number : number + 2].tolist()
        first, last = self._ranges.borders[number : number + 2].tolist()
        keys, neighbours, arrivals = self._sorted(self._ranges.of(number), first, last)
        self._neighbours[low:high] = neighbours
        if self.arrivals is not None and arrivals is not None:
            self.arrivals[low:high] = arrivals
        type_bits = self._bits[0]
        begins = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        begins = np.concatenate([np.zeros(min(1, len(keys)), dtype=np.int64), begins])
        run_keys = keys[begins]
        run_types = (run_keys & np.uint64((1 << type_bits) - 1)).astype(self._type_ids)
        nodes = (run_keys >> np.uint64(type_bits)).view(np.int64)
        self._run_offsets[first + 1 : last + 1] = np.bincount(nodes, minlength=last - first)
        begins += low
        return begins.astype(np.uint32), run_types

    def _sorted(
        self, entries: Entries, first: int, last: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None]:
        """Keys (node relative to ``first``, type), neighbours and arrivals, in sorted order."""
        count = len(entries.rows)
        (type_bits, node_bits), place_bits = self._bits, bits_for(count)
        types = np.broadcast_to(np.uint16(0), count) if entries.types is None else entries.types
        fields: list[NDArray[Any]] = [entries.rows - np.uint32(first), types]
        bits = [bits_for(last - first), type_bits]
        if self._by_neighbour:
            fields.append(entries.neighbours)
            bits.append(node_bits)
        if entries.arrivals is None:
            if sum(bits) <= _WORD_BITS:
                keys = _packed(fields, bits, count)
                keys.sort()
                neighbours = _low_bits(keys, node_bits)
                return _high_bits(keys, node_bits), neighbours, None
            places = stable_order(fields, bits)
            return _row_keys(fields, type_bits, places), entries.neighbours[places], None
        if sum(bits) + place_bits <= _WORD_BITS:
            keys = _packed(fields, bits, count, place_bits=place_bits)
            keys.sort()
            places = _low_bits(keys, place_bits)
            keys = _high_bits(keys, place_bits + sum(bits[2:]))
        else:
            places = stable_order(fields, bits)
            keys = _row_keys(fields, type_bits, places)
        found = entries.taken(places)
        return keys, found.neighbours, found.arrivals


def _row_keys(
    fields: Sequence[NDArray[Any]], type_bits: int, places: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    # The first field is not shifted, so its width does not matter.
    return _packed(fields[:2], (0, type_bits), len(places), places)


def _packed(
    fields: Sequence[NDArray[np.unsignedinteger]],
    bits: Sequence[int],
    count: int,
    order: NDArray[np.uint32] | None = None,
    place_bits: int = 0,
) -> NDArray[np.uint64]:
    """Packs fields into one number each, the first one highest, and the position below them.

    Args:
        fields: Values of each field.
        bits: Width of each field.
        count: Length of the result.
        order: Positions of the wanted values; None: all, in order.
        place_bits: Width of the position; 0: none.
    """
    keys = np.zeros(count, dtype=np.uint64)
    for values, width in zip(fields, bits, strict=True):
        keys <<= np.uint64(width)
        keys |= values if order is None else values[order]
    if place_bits:
        keys <<= np.uint64(place_bits)
        keys |= np.arange(count, dtype=np.uint32)
    return keys


def _low_bits(keys: NDArray[np.uint64], bits: int) -> NDArray[np.uint32]:
    return (keys & np.uint64((1 << bits) - 1)).astype(np.uint32)


def _high_bits(keys: NDArray[np.uint64], without: int) -> NDArray[np.uint64]:
    """The numbers shifted right in place."""
    keys >>= np.uint64(without)
    return keys


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenates the parts."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    found = np.empty(ends[-1], dtype=parts[0].dtype)

    def put(place: int) -> None:
        found[ends[place] - len(parts[place]) : ends[place]] = parts[place]

    in_threads(put, range(len(parts)))
    return found
