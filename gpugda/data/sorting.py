"""Sorts relationships into compressed sparse rows.

Everything rests on one trick: numpy sorts plain 64-bit numbers many times as fast as it computes an
order, so fields are packed into one number together with their position, sorted in place, and
unpacked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.sort_numbers import sort_numbers
from gpugda.data.threads import in_threads, pieces_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["outgoing_csr", "reversed_csr", "stable_order"]

_WORD_BITS = 64
_PIECE = 1 << 20
_NOTHING = np.empty(0, np.int64)


def stable_order(
    fields: Sequence[NDArray[np.unsignedinteger]], bits: Sequence[int]
) -> NDArray[np.uint32]:
    """Positions that sort by the fields, the first one counting most; ties keep their order.

    Args:
        fields: Arrays of one length, below 2^32.
        bits: How many bits the values of each field need, at most 32 each.
    """
    count = len(fields[0])
    position_bits = _bits_for(count)
    order: NDArray[np.uint32] | None = None
    remaining = list(zip(fields, bits, strict=True))
    while remaining:
        # As many fields as fit beside the position, the least significant first.
        taken = []
        room = _WORD_BITS - position_bits
        while remaining and remaining[-1][1] <= room:
            taken.append(remaining.pop())
            room -= taken[-1][1]
        values, widths = zip(*reversed(taken), strict=True)
        key = sort_numbers(_packed(values, widths, count, order, position_bits))
        positions = _low_bits(key, position_bits)
        order = positions if order is None else order[positions]
    assert order is not None
    return order


def outgoing_csr(
    node_count: int,
    type_count: int,
    starts: NDArray[np.uint32],
    types: NDArray[np.uint16],
    ends: NDArray[np.uint32],
    *,
    with_order: bool,
) -> tuple[Csr, NDArray[np.uint32] | None]:
    """Rows by start node, sorted by (type, end, arrival).

    Returns:
        The rows and, if ``with_order``, the arrival position of each relationship index.
    """
    node_bits, type_bits = _bits_for(node_count), _bits_for(type_count)
    if not with_order and 2 * node_bits + type_bits <= _WORD_BITS:
        # What arrived first cannot be told apart without properties, so no position is needed.
        values, bits = (starts, types, ends), (node_bits, type_bits, node_bits)
        key = sort_numbers(_packed(values, bits, len(starts)))
        ends = _low_bits(key, node_bits)
        _drop_bits(key, node_bits)
        return _csr(node_count, key, type_bits, ends, None), None
    order = stable_order((starts, types, ends), (node_bits, type_bits, node_bits))
    key = _row_keys(starts[order], types[order], type_bits)
    csr = _csr(node_count, key, type_bits, ends[order], None)
    return csr, order if with_order else None


def reversed_csr(outgoing: Csr, type_count: int) -> Csr:
    """Rows by end node, sorted by (type, start, relationship index), of the rows by start node."""
    # Relationship indexes rise with (start, type, end), so among those of one end and type they
    # rise with (start, index): sorting by (end, type) and index is enough.
    node_count = outgoing.node_count
    node_bits, type_bits = _bits_for(node_count), _bits_for(type_count)
    position_bits = _bits_for(outgoing.relationship_count)
    if node_bits + type_bits + position_bits <= _WORD_BITS:
        values, bits = (outgoing.neighbours, outgoing.entry_types()), (node_bits, type_bits)
        count = outgoing.relationship_count
        key = sort_numbers(_packed(values, bits, count, position_bits=position_bits))
        indexes = _low_bits(key, position_bits)
        _drop_bits(key, position_bits)
    else:
        types = outgoing.entry_types()
        indexes = stable_order((outgoing.neighbours, types), (node_bits, type_bits))
        key = _row_keys(outgoing.neighbours[indexes], types[indexes], type_bits)
    run_offsets, run_types, run_starts = _directory(node_count, key, type_bits)
    del key
    return Csr(
        row_offsets=run_starts[run_offsets],
        neighbours=_taken(outgoing.entry_nodes(), indexes),
        relationship_indexes=indexes,
        run_offsets=run_offsets,
        run_types=run_types,
        run_starts=run_starts,
    )


def _csr(
    node_count: int,
    key: NDArray[np.uint64],
    type_bits: int,
    neighbours: NDArray[np.uint32],
    relationship_indexes: NDArray[np.uint32] | None,
) -> Csr:
    run_offsets, run_types, run_starts = _directory(node_count, key, type_bits)
    return Csr(
        row_offsets=run_starts[run_offsets],
        neighbours=neighbours,
        relationship_indexes=relationship_indexes,
        run_offsets=run_offsets,
        run_types=run_types,
        run_starts=run_starts,
    )


def _directory(
    node_count: int, key: NDArray[np.uint64], type_bits: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint32]]:
    """Run offsets, types and starts of sorted keys (node, type)."""
    count = len(key)
    first_entries = np.concatenate(
        [_NOTHING, *in_threads(partial(_changes, key), pieces_of(count, _PIECE))]
    )
    run_starts = np.empty(len(first_entries) + 1, dtype=np.uint32)
    run_starts[:-1] = first_entries
    run_starts[-1] = count
    run_keys = key[first_entries]
    del first_entries
    run_types = (run_keys & np.uint64((1 << type_bits) - 1)).astype(np.uint16)
    run_keys >>= np.uint64(type_bits)
    run_offsets = np.zeros(node_count + 1, dtype=np.uint32)
    runs_of_nodes = np.bincount(run_keys.view(np.int64), minlength=node_count)
    run_offsets[1:] = np.cumsum(runs_of_nodes)
    return run_offsets, run_types, run_starts


def _changes(key: NDArray[np.uint64], piece: slice) -> NDArray[np.int64]:
    """Positions in the piece whose number is not that before it."""
    if piece.start == 0:
        later = np.flatnonzero(key[1 : piece.stop] != key[: piece.stop - 1]) + 1
        return np.concatenate([np.zeros(1, np.int64), later])
    found: NDArray[np.int64] = np.flatnonzero(key[piece] != key[piece.start - 1 : piece.stop - 1])
    found += piece.start
    return found


def _row_keys(
    nodes: NDArray[np.uint32], types: NDArray[np.uint16], type_bits: int
) -> NDArray[np.uint64]:
    # Nothing is known of the width of the first field: it is not shifted.
    return _packed((nodes, types), (0, type_bits), len(nodes))


def _packed(
    fields: Sequence[NDArray[np.unsignedinteger]],
    bits: Sequence[int],
    count: int,
    order: NDArray[np.uint32] | None = None,
    position_bits: int = 0,
) -> NDArray[np.uint64]:
    """Fields side by side in one number each, the first one highest, and the position below them.

    Args:
        fields: Their values.
        bits: Of each field.
        count: Length of each.
        order: Positions of the values that are wanted; None: all, as they lie.
        position_bits: 0: without the position.
    """
    key = np.empty(count, dtype=np.uint64)

    def pack(piece: slice) -> None:
        part = key[piece]
        part[:] = 0
        for values, width in zip(fields, bits, strict=True):
            part <<= np.uint64(width)
            part |= values[piece] if order is None else values[order[piece]]
        if position_bits:
            part <<= np.uint64(position_bits)
            part |= np.arange(piece.start, piece.stop, dtype=np.uint32)

    in_threads(pack, pieces_of(count, _PIECE))
    return key


def _low_bits(key: NDArray[np.uint64], bits: int) -> NDArray[np.uint32]:
    # In pieces, so that no second array of 64 bits is made.
    mask = np.uint64((1 << bits) - 1)
    found = np.empty(len(key), dtype=np.uint32)

    def cut(piece: slice) -> None:
        found[piece] = key[piece] & mask

    in_threads(cut, pieces_of(len(key), _PIECE))
    return found


def _drop_bits(key: NDArray[np.uint64], bits: int) -> None:
    def drop(piece: slice) -> None:
        key[piece] >>= np.uint64(bits)

    in_threads(drop, pieces_of(len(key), _PIECE))


def _taken(values: NDArray[np.uint32], places: NDArray[np.uint32]) -> NDArray[np.uint32]:
    found = np.empty(len(places), dtype=np.uint32)

    def take(piece: slice) -> None:
        np.take(values, places[piece], out=found[piece], mode="clip")  # all are in it

    in_threads(take, pieces_of(len(places), _PIECE))
    return found


def _bits_for(count: int) -> int:
    """Bits of the numbers 0 … count-1."""
    return max(1, (count - 1).bit_length()) if count else 1
