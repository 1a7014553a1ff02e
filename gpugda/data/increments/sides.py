"""One side of a change: a graph before or after it, and what the other side does not have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.labels import distinct_label_sets, label_ids_of
from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.runs import places_in_runs
from gpugda.data.statistics.graph_statistics import ANY
from gpugda.data.statistics.pattern_counts import (
    Triples,
    pattern_counts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.increments.rows import Ends
    from gpugda.data.patches.patched import Array
    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )

    _Labels = tuple[int, ...]
    _Pattern = tuple[int, int, int]

__all__ = ["Side"]

_FEW = 1 << 5
"""Up to this many changed relationships are counted one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A graph before or after the changes, and its part that the other side does not have.

    Args:
        label_offsets: Label offsets of all nodes.
        label_ids: Label ids of all nodes.
        outgoing: Rows by start node.
        incoming: Rows by end node.
        relationships: Relationships that only this side has; ``ids`` are indexes.
        nodes: ``int64``: nodes that only this side has, or whose labels differ on the other.
        label_count: The number of labels after the changes.
        type_count: The number of types after the changes.
    """

    label_offsets: Array
    label_ids: Array
    outgoing: CsrParts
    incoming: CsrParts
    relationships: Ends
    nodes: NDArray[np.int64]
    label_count: int
    type_count: int

    def labels(self) -> NDArray[np.int64]:
        """``int64[label_count]``: how many of ``nodes`` have each label."""
        _, found = label_ids_of(self.label_offsets, self.label_ids, self.nodes)
        return np.bincount(found, minlength=self.label_count)

    def types(self) -> NDArray[np.int64]:
        """``int64[type_count]``: how many of ``relationships`` have each type."""
        return np.bincount(self.relationships.types, minlength=self.type_count)

    def loops(self) -> NDArray[np.int64]:
        """``int64[type_count]``: how many of ``relationships`` are loops, by type."""
        some = self.relationships
        return np.bincount(some.types[some.starts == some.ends], minlength=self.type_count)

    def patterns(self, statistics: GraphStatistics) -> dict[_Pattern, int]:
        """Pattern counts over the changed relationships and all relationships of ``nodes``.

        Only entries of the kinds that ``statistics`` holds.
        """
        starts, types, ends = self._touched()
        complete, typed = statistics.pattern_counts_complete, statistics.pattern_counts_typed
        if len(starts) <= _FEW:
            # One by one: arrays take longer to set up.
            keys = _complete_keys if complete else _typed_keys if typed else _single_keys
            return self._counted(starts, types, ends, keys)
        nodes, places = np.unique(np.concatenate([starts, ends]), return_inverse=True)
        offsets, ids = label_ids_of(self.label_offsets, self.label_ids, nodes)
        codes = distinct_label_sets(offsets.astype(np.uint32), ids, self.label_count)
        examples = np.unique(codes, return_index=True)[1].tolist()
        sets = [tuple(ids[offsets[each] : offsets[each + 1]].tolist()) for each in examples]
        of_ends = codes[places.reshape(-1)]
        triples = Triples(len(sets), self.type_count, limited=False)
        triples.count(of_ends[: len(starts)], types, of_ends[len(starts) :])
        return pattern_counts(triples, sets, complete, typed).counts

    def _counted(
        self,
        starts: NDArray[np.int64],
        types: NDArray[np.int64],
        ends: NDArray[np.int64],
        keys: Callable[[_Labels, int, _Labels], Iterator[_Pattern]],
    ) -> dict[_Pattern, int]:
        found: dict[_Pattern, int] = {}
        if not len(starts):
            return found
        nodes = np.concatenate([starts, ends])
        offsets, ids = label_ids_of(self.label_offsets, self.label_ids, nodes)
        listed = ids.tolist()
        labels = [(ANY, *listed[start:end]) for start, end in pairwise(offsets.tolist())]
        for first, kind, last in zip(
            labels[: len(starts)], types.tolist(), labels[len(starts) :], strict=True
        ):
            for key in keys(first, kind, last):
                found[key] = found.get(key, 0) + 1
        return found

    def _touched(self) -> tuple[NDArray[np.int64], ...]:
        """Start, type and end of each changed relationship and each one of ``nodes``, distinct."""
        some = self.relationships
        if not len(self.nodes):
            return some.starts, some.types, some.ends
        nodes = sorted_distinct(self.nodes)
        starts, types, ends, entries = _entries(self.outgoing, nodes)
        targets, kinds, sources, indexes = _entries(self.incoming, nodes)
        found = np.stack(
            [
                np.concatenate([starts, sources]),
                np.concatenate([types, kinds]),
                np.concatenate([ends, targets]),
            ]
        )
        every = np.concatenate([entries, indexes, some.ids])
        found = np.concatenate([found, np.stack([some.starts, some.types, some.ends])], axis=1)
        once = np.unique(every, return_index=True)[1]
        return tuple(found[:, once])


def _complete_keys(first: _Labels, kind: int, last: _Labels) -> Iterator[_Pattern]:
    """The patterns of one relationship; ``ANY`` comes first among the labels of either end."""
    yield from product(first, (kind, ANY), last)


def _typed_keys(first: _Labels, kind: int, last: _Labels) -> Iterator[_Pattern]:
    """Those with ``ANY`` at one end at least."""
    yield from product(first, (kind, ANY), (ANY,))
    yield from product((ANY,), (kind, ANY), last[1:])


def _single_keys(first: _Labels, kind: int, last: _Labels) -> Iterator[_Pattern]:
    """Those with at most one label or type."""
    yield from product(first, (ANY,), (ANY,))
    yield from product((ANY,), (ANY,), last[1:])
    yield ANY, kind, ANY


def _entries(csr: CsrParts, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Owner, type, neighbour and relationship index of each entry in the rows of the nodes."""
    first, last = csr.run_offsets[nodes].astype(np.int64), csr.run_offsets[nodes + 1]
    counts = last - first
    runs = np.repeat(first, counts) + places_in_runs(counts)
    starts = csr.run_starts[runs].astype(np.int64)
    lengths = csr.run_starts[runs + 1] - starts
    entries = np.repeat(starts, lengths) + places_in_runs(lengths)
    indexes = entries
    if csr.relationship_indexes is not None:
        indexes = csr.relationship_indexes[entries].astype(np.int64)
    return (
        np.repeat(np.repeat(nodes, counts), lengths),
        np.repeat(csr.run_types[runs].astype(np.int64), lengths),
        csr.neighbours[entries].astype(np.int64),
        indexes,
    )
