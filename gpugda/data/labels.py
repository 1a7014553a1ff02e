"""Label arrays: conversion between label sets and one row of label ids per node."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.identifiers import name_id_type
from gpugda.data.runs import places_in_runs
from gpugda.data.threads import in_threads, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array
    from gpugda.types import NameId

__all__ = [
    "LabelOrder",
    "LabelPlaces",
    "distinct_label_sets",
    "label_bitmap",
    "label_ids_of",
    "label_rows",
]

_LARGEST_TABLE = 1 << 24
_WORD_BYTES = 8
_PIECE = 1 << 20
"""Nodes looked at by one thread at a time; a multiple of the bits in a word."""
_MANY = 24
"""From one node in so many on, reading all offsets is faster than searching some of them."""
_TABLE_PER_KEY = 64
"""Maximum table entries per number; beyond it, sorting the numbers is faster."""


def label_rows(
    codes: NDArray[np.int32], label_sets: Sequence[Sequence[int]], label_count: int
) -> tuple[NDArray[np.uint32], NDArray[NameId]]:
    """``label_offsets`` and ``label_ids`` of nodes with these label sets (of label ids)."""
    set_lengths = np.array([len(each) for each in label_sets], dtype=np.uint32)
    listed = [label for each in label_sets for label in each]
    set_ids = np.array(listed, dtype=name_id_type(label_count))
    lengths = np.take(set_lengths, codes, mode="clip")  # all codes are in range
    offsets = np.zeros(len(codes) + 1, dtype=np.uint32)
    np.cumsum(lengths, out=offsets[1:])
    if len(label_sets) and (set_lengths == 1).all():
        return offsets, set_ids[codes]
    # Pad the sets to one width and drop the padding afterwards: avoids computing positions.
    width = 1 << (int(set_lengths.max(initial=0)) - 1).bit_length()
    if width * set_ids.itemsize <= _WORD_BYTES:
        there = np.arange(width) < set_lengths[:, np.newaxis]
        padded = np.zeros(there.shape, dtype=set_ids.dtype)
        padded[there] = set_ids
        return offsets, np.compress(_rows(there, codes), _rows(padded, codes))
    set_starts = np.cumsum(set_lengths, dtype=np.int64) - set_lengths
    within = places_in_runs(lengths)
    return offsets, set_ids[np.repeat(set_starts[codes], lengths) + within]


def _rows(table: NDArray[Any], places: NDArray[np.int32]) -> NDArray[Any]:
    """Rows of a table, concatenated; a row has 1, 2, 4 or 8 bytes and is taken as one number."""
    words = table.view(f"u{table.shape[1] * table.itemsize}").reshape(-1)
    return np.take(words, places, mode="clip").view(table.dtype)


def label_ids_of(
    label_offsets: Array, label_ids: Array, nodes: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[NameId]]:
    """Labels of the given nodes: ``int64[nodes + 1]`` offsets into the label ids, and these."""
    starts = label_offsets[nodes].astype(np.int64)
    lengths = label_offsets[nodes + 1] - starts
    offsets = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    within = places_in_runs(lengths)
    return offsets, label_ids[np.repeat(starts, lengths) + within]


def label_bitmap(
    label_offsets: NDArray[np.uint32], label_ids: NDArray[NameId], label_id: int
) -> NDArray[np.uint32]:
    """Bitmap of the nodes that have a label: bit ``v % 32`` of word ``v // 32``."""
    count = len(label_offsets) - 1
    words = np.zeros((count + 31) // 32, dtype=np.uint32)

    def mark(piece: slice) -> None:
        offsets = label_offsets[piece.start : piece.stop + 1]
        count = len(offsets) - 1
        has_label = label_ids[offsets[0] : offsets[-1]] == label_id
        places = np.flatnonzero(has_label)
        flags = np.zeros(-(-count // 32) * 32, dtype=np.bool_)
        are_many = len(has_label) == count and _MANY * len(places) > count
        if are_many and bool((offsets[1:] - offsets[:-1] == 1).all()):
            flags[:count] = has_label  # each node has one label
        else:
            # In the dtype of the offsets: otherwise searchsorted would copy all of them.
            wanted = places.astype(np.uint32) + offsets[0]
            flags[np.searchsorted(offsets, wanted, side="right") - 1] = True
        bits = np.packbits(flags, bitorder="little").view(np.uint32)
        words[piece.start // 32 : piece.start // 32 + len(bits)] = bits

    in_threads(mark, pieces_of(count, _PIECE))
    return words


class LabelPlaces:
    """Positions of a label in ``label_ids``, found when asked for.

    Attributes:
        count: The number of positions.
    """

    def __init__(self, label_ids: NDArray[NameId], label_id: int) -> None:
        self._ids, self._label = label_ids, label_id
        self._pieces = pieces_of(len(label_ids), _PIECE)
        counts = in_threads(lambda piece: np.count_nonzero(self._has(piece)), self._pieces)
        self._ends = np.cumsum(counts, dtype=np.int64)
        self.count = int(self._ends[-1]) if len(counts) else 0

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions with these numbers, which increase."""
        bounds = [0, *np.searchsorted(numbers, self._ends).tolist()]

        def look(part: int) -> NDArray[np.int64]:
            low, high = bounds[part : part + 2]
            if low == high:
                return np.empty(0, dtype=np.int64)
            piece = self._pieces[part]
            first = int(self._ends[part - 1]) if part else 0
            places: NDArray[np.int64] = np.flatnonzero(self._has(piece))
            places += piece.start
            return places[numbers[low:high] - first]

        found = in_threads(look, range(len(self._pieces)))
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def _has(self, piece: slice) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._ids[piece] == self._label
        return found


def distinct_label_sets(
    label_offsets: NDArray[np.uint32], label_ids: NDArray[NameId], label_count: int
) -> NDArray[np.int32]:
    """``int32[n]``: consecutive codes from 0, equal for nodes with the same row of labels."""
    lengths = np.diff(label_offsets)
    codes = np.zeros(len(lengths), dtype=np.int64)
    for position in range(int(lengths.max(initial=0))):
        # Each round refines the codes by one more label; a missing one counts as `label_count`.
        has_label = lengths > position
        labels = np.full(len(lengths), label_count, dtype=np.int64)
        labels[has_label] = label_ids[label_offsets[:-1][has_label] + np.uint32(position)]
        codes = _renumbered(codes * (label_count + 1) + labels)
        if np.count_nonzero(has_label) <= 1:
            break  # no other node has as many labels
    return codes.astype(np.int32)


def _renumbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    largest = int(keys.max())
    if largest > min(_LARGEST_TABLE, _TABLE_PER_KEY * len(keys)):
        return np.unique(keys, return_inverse=True)[1].reshape(-1)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[keys] = True
    numbers = np.cumsum(present) - 1
    return numbers[keys]


class LabelOrder:
    """A total order of all labels, known only for labels that were seen together.

    Shared by all states of a database: what was learnt stays true.

    Args:
        listed: Labels of nodes, each in the server's order.
        listed: Labels of nodes, each as the server lists them.
    """

    def __init__(self, listed: Iterable[Sequence[str]] = ()) -> None:
        self._next: dict[str, set[str]] = {}
        self._known: dict[tuple[str, str], bool] = {}
        for each in listed:
            self.add(each)

    def add(self, labels: Sequence[str]) -> None:
        """Learns from the labels of one node."""
        for first, second in pairwise(labels):
            self._next.setdefault(first, set()).add(second)

    def knows(self, labels: Iterable[str]) -> bool:
        """True if the server's order of these labels is known."""
        pairs = combinations(labels, 2)
        return all(self._before(*pair) or self._before(*reversed(pair)) for pair in pairs)

    def listed(self, labels: Iterable[str]) -> list[str]:
        """The labels in the server's order; pairs of unknown order stay as given."""
        return sorted(labels, key=cmp_to_key(self._compared))

    def _compared(self, first: str, second: str) -> int:
        return self._before(second, first) - self._before(first, second)

    def _before(self, first: str, second: str) -> bool:
        if self._known.get((first, second)) or self._reaches(first, second):
            self._known[first, second] = True
            return True
        return False

    def _reaches(self, first: str, second: str) -> bool:
        seen, left = {first}, [first]
        while left:
            for label in self._next.get(left.pop(), ()):
                if label == second:
                    return True
                if label not in seen:
                    seen.add(label)
                    left.append(label)
        return False
