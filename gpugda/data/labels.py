"""Label arrays: from the sets of the batches to one row of label ids per node, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.identifiers import name_id_type
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = ["distinct_label_sets", "label_bitmap", "label_ids_of", "label_rows"]

_LARGEST_TABLE = 1 << 24


def label_rows(
    codes: NDArray[np.int32], label_sets: Sequence[Sequence[int]], label_count: int
) -> tuple[NDArray[np.uint32], NDArray[NameId]]:
    """``label_offsets`` and ``label_ids`` of nodes with these label sets (of label ids)."""
    set_lengths = np.array([len(each) for each in label_sets], dtype=np.int64)
    listed = [label for each in label_sets for label in each]
    set_ids = np.array(listed, dtype=name_id_type(label_count))
    set_starts = np.cumsum(set_lengths) - set_lengths
    lengths = set_lengths[codes]
    offsets = np.zeros(len(codes) + 1, dtype=np.uint32)
    ends = np.cumsum(lengths)
    offsets[1:] = ends
    if len(label_sets) and (set_lengths == 1).all():
        return offsets, set_ids[codes]
    within = places_in_runs(lengths)
    return offsets, set_ids[np.repeat(set_starts[codes], lengths) + within]


def label_ids_of(
    label_offsets: NDArray[np.uint32], label_ids: NDArray[NameId], nodes: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[NameId]]:
    """Labels of some nodes: ``int64[nodes + 1]`` offsets into the label ids, and these."""
    starts = label_offsets[nodes].astype(np.int64)
    lengths = label_offsets[1:][nodes] - starts
    offsets = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    within = places_in_runs(lengths)
    return offsets, label_ids[np.repeat(starts, lengths) + within]


def label_bitmap(
    label_offsets: NDArray[np.uint32], label_ids: NDArray[NameId], label_id: int
) -> NDArray[np.uint32]:
    """Bitmap of the nodes that have a label: bit ``v % 32`` of word ``v // 32``."""
    count = len(label_offsets) - 1
    places = np.flatnonzero(label_ids == label_id)
    # Of the same type, or all of the offsets would be copied.
    nodes = np.searchsorted(label_offsets, places.astype(np.uint32), side="right") - 1
    flags = np.zeros((count + 31) // 32 * 32, dtype=np.bool_)
    flags[nodes] = True
    return np.packbits(flags, bitorder="little").view(np.uint32)


def distinct_label_sets(
    label_offsets: NDArray[np.uint32], label_ids: NDArray[NameId], label_count: int
) -> NDArray[np.int32]:
    """``int32[n]``: equal numbers, from 0 without gaps, for nodes with the same row of labels."""
    lengths = np.diff(label_offsets)
    codes = np.zeros(len(lengths), dtype=np.int64)
    for position in range(int(lengths.max(initial=0))):
        # Each round tells nodes apart by one label more; a node without one gets `label_count`.
        has_label = lengths > position
        labels = np.full(len(lengths), label_count, dtype=np.int64)
        labels[has_label] = label_ids[label_offsets[:-1][has_label] + np.uint32(position)]
        codes = _renumbered(codes * (label_count + 1) + labels)
    return codes.astype(np.int32)


def _renumbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    largest = int(keys.max())
    if largest > _LARGEST_TABLE:
        return np.unique(keys, return_inverse=True)[1].reshape(-1)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[keys] = True
    numbers = np.cumsum(present) - 1
    return numbers[keys]
