"""Tuples of nodes with their multiplicities, merged as they arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.match.embeddings import Embeddings
from gpugda.types import MAX_WEIGHT, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


__all__ = ["TupleCounts", "multiply_counts", "subtract_counts"]

_PIECE_ROWS = 1 << 20
"""Rows that are sorted between two checks of the deadline."""
_MERGE_ROWS = 1 << 20
_MAX_NODES = 1 << 32
_BITS = 32
_WORD = 64
_LOW = np.uint64(0xFFFFFFFF)


class TupleCounts:
    """Tuples of nodes with multiplicities, as sorted words. Memory grows with distinct tuples.

    Args:
        nodes: Query nodes.
        counted: True if multiplicities are needed. They saturate at 2**63.
        check: Called often; raises when it is time to give up.
        merge_rows: Waiting tuples are merged when they exceed this number and twice the merged
            tuples.
        node_count: Number of nodes of the data graph: the fewer nodes, the more fit in a word.
    """

    def __init__(
        self,
        nodes: tuple[int, ...],
        *,
        counted: bool,
        check: Callable[[], None],
        merge_rows: int = _MERGE_ROWS,
        node_count: int = _MAX_NODES,
    ) -> None:
        self._bits = max((node_count - 1).bit_length(), 1)
        self._nodes = nodes
        self._counted = counted
        self._check = check
        self._merge_rows = merge_rows
        self._waiting: list[_Tuples] = []
        self._waiting_rows = self._merged_rows = 0

    def add(self, chunk: Embeddings) -> None:
        """Adds the rows of a chunk."""
        for first in range(0, chunk.row_count, _PIECE_ROWS):
            self._check()
            piece = slice(first, first + _PIECE_ROWS)
            words = _packed([chunk.nodes[each][piece] for each in self._nodes], self._bits)
            weights = None if chunk.weights is None else chunk.weights[piece]
            self._waiting.append(self._merged(_Tuples(words, weights)))
            self._waiting_rows += self._waiting[-1].row_count
            if self._waiting_rows > max(self._merge_rows, 2 * self._merged_rows):
                self._check()
                self._merge()

    def found(self) -> Embeddings:
        """Each distinct tuple once."""
        self._merge()
        if not self._waiting:
            empty = np.zeros(0, dtype=np.uint32)
            weights = np.zeros(0, dtype=np.uint64) if self._counted else None
            return Embeddings(0, dict.fromkeys(self._nodes, empty), {}, weights, distinct=True)
        tuples = self._waiting[0]
        columns = _unpacked(tuples.words, len(self._nodes), self._bits)
        nodes = dict(zip(self._nodes, columns, strict=True))
        weights = tuples.weights_or_ones() if self._counted else None
        return Embeddings(tuples.row_count, nodes, {}, weights, distinct=True)

    def _merge(self) -> None:
        if len(self._waiting) > 1:
            words = [
                np.concatenate(each)
                for each in zip(*(tuples.words for tuples in self._waiting), strict=True)
            ]
            weights = None
            if any(each.weights is not None for each in self._waiting):
                weights = np.concatenate([each.weights_or_ones() for each in self._waiting])
            self._waiting = [self._merged(_Tuples(words, weights))]
        self._waiting_rows = self._merged_rows = sum(each.row_count for each in self._waiting)

    def _merged(self, tuples: _Tuples) -> _Tuples:
        """The tuples sorted, each once."""
        if not self._counted:
            tuples = _Tuples(tuples.words, None)
        runs = tuples.runs_merged(counted=self._counted)
        if 2 * runs.row_count <= tuples.row_count:
            tuples = runs
        return tuples.sorted().runs_merged(counted=self._counted)


def subtract_counts(nodes: tuple[int, ...], more: Embeddings, less: Embeddings) -> Embeddings:
    """Subtracts the multiplicities of ``less`` from those of ``more``; drops zeros.

    Args:
        nodes: Query nodes.
        more: As `TupleCounts.found` returns them. No count may be 2**63.
        less: Likewise; no tuple may have a larger count than in ``more``.
    """
    assert more.weights is not None
    assert less.weights is not None
    sides = (_packed([side.nodes[node] for node in nodes], _BITS) for side in (more, less))
    words = [np.concatenate(each) for each in zip(*sides, strict=True)]
    # Modulo 2**64, which exceeds all differences by far.
    tuples = _Tuples(words, np.concatenate([more.weights, np.uint64(0) - less.weights])).sorted()
    assert tuples.weights is not None
    first = tuples.firsts()
    weights = np.add.reduceat(tuples.weights, first) if len(first) else tuples.weights
    kept = np.flatnonzero(weights)
    columns = _unpacked([each[first[kept]] for each in tuples.words], len(nodes), _BITS)
    return Embeddings(
        len(kept), dict(zip(nodes, columns, strict=True)), {}, weights[kept], distinct=True
    )


def multiply_counts(found: Embeddings, times: int) -> Embeddings:
    """Multiplies each tuple's multiplicity, saturating at `MAX_WEIGHT`."""
    if not times:
        nodes = {node: column[:0] for node, column in found.nodes.items()}
        return Embeddings(0, nodes, {}, np.zeros(0, dtype=np.uint64), distinct=True)
    assert found.weights is not None
    most = int(MAX_WEIGHT)
    fitting = found.weights <= np.uint64((most - 1) // times)
    weights = np.where(fitting, found.weights * np.uint64(min(times, most)), MAX_WEIGHT)
    return replace(found, weights=weights)


@value(frozen=True, slots=True, eq=False)
class _Tuples:
    """Tuples as words, the most significant word first; ``weights`` is None for one each."""

    words: list[NDArray[np.uint64]]
    weights: NDArray[np.uint64] | None

    @property
    def row_count(self) -> int:
        return len(self.words[0])

    def weights_or_ones(self) -> NDArray[np.uint64]:
        return np.ones(self.row_count, np.uint64) if self.weights is None else self.weights

    def firsts(self) -> NDArray[np.int64]:
        """Indexes at which runs of equal adjacent tuples begin."""
        begins = np.ones(self.row_count, dtype=np.bool_)
        begins[1:] = False
        for each in self.words:
            begins[1:] |= each[1:] != each[:-1]
        return np.flatnonzero(begins)

    def sorted(self) -> _Tuples:
        if len(self.words) == 1 and self.weights is None:
            return _Tuples([np.sort(self.words[0])], None)
        if len(self.words) == 1:
            order = np.argsort(self.words[0], kind="stable")  # a merge sort, fast on sorted pieces
        else:
            order = np.lexsort(self.words[::-1])
        weights = None if self.weights is None else self.weights[order]
        return _Tuples([each[order] for each in self.words], weights)

    def runs_merged(self, *, counted: bool) -> _Tuples:
        """Merges runs of equal adjacent tuples."""
        rows, first = self.row_count, self.firsts()
        if len(first) == rows:
            return self
        weights = None
        if counted and self.weights is None:
            weights = np.diff(first, append=rows).astype(np.uint64)
        elif self.weights is not None:
            weights = _sums_of_runs(self.weights, first)
        return _Tuples([each[first] for each in self.words], weights)


def _sums_of_runs(weights: NDArray[np.uint64], first: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sums per run, saturating at `MAX_WEIGHT`. Two halves are summed, so that neither wraps."""
    half = np.uint64(32)
    low = np.add.reduceat(weights & _LOW, first)
    high = np.add.reduceat(weights >> half, first) + (low >> half)
    sums: NDArray[np.uint64] = high << half | low & _LOW
    sums[high >> np.uint64(31) > 0] = MAX_WEIGHT
    return sums


def _packed(columns: Sequence[NDArray[np.uint32]], bits: int) -> list[NDArray[np.uint64]]:
    """Packs as many nodes per word as fit, the first node most significant."""
    width = _WORD // bits
    words = []
    for first in range(0, len(columns), width):
        word = columns[first].astype(np.uint64)
        for column in columns[first + 1 : first + width]:
            word <<= np.uint64(bits)
            word |= column
        words.append(word)
    return words


def _unpacked(
    words: Sequence[NDArray[np.uint64]], count: int, bits: int
) -> list[NDArray[np.uint32]]:
    width, low = _WORD // bits, np.uint64((1 << bits) - 1)
    columns = []
    for number, word in enumerate(words):
        here = range(min(width, count - number * width))
        shifts = [np.uint64(place * bits) for place in reversed(here)]
        columns += [(word >> shift & low).astype(np.uint32) for shift in shifts]
    return columns
