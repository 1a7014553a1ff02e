"""Sorts relationships into compressed sparse rows.

The central trick: numpy sorts plain 64-bit numbers many times as fast as it computes an order
(argsort). So fields are packed into one number together with their position, sorted in place, and
unpacked. Each thread does so for one range of nodes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.identifiers import name_id_type
from gpugda.data.node_ranges import Entries, NodeRanges, bits_for
from gpugda.data.threads import in_threads, take_in_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = [
    "RowFacts",
    "RowSorter",
    "SortedRows",
    "Unsorted",
    "outgoing_csr",
    "reversed_csr",
    "sorted_rows",
    "stable_order",
]

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
