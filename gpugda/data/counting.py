"""Gathers the statistics of a data graph, in pieces of a million relationships."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.closing import sampled_closing_rates
from gpugda.data.pattern_counts import Triples, pattern_counts
from gpugda.data.statistics import ANY, DegreeSummary, GraphStatistics
from gpugda.data.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.column import Column
    from gpugda.data.csr import Csr

__all__ = ["LabelSets", "gather_statistics"]

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class LabelSets:
    """Which labels the nodes have.

    Args:
        codes: ``int32[n]``, position in ``sets``.
        sets: Label ids of each distinct set.
        label_count: Number of labels that there are.
    """

    codes: NDArray[np.int32]
    sets: Sequence[Sequence[int]]
    label_count: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some relationships, those of consecutive nodes."""

    starts: NDArray[np.uint32]
    types: NDArray[np.uint16]
    ends: NDArray[np.uint32]


def gather_statistics(
    label_sets: LabelSets,
    type_count: int,
    outgoing: Csr,
    incoming: Csr,
    node_properties: Mapping[str, Column],
    relationship_properties: Mapping[str, Column],
) -> GraphStatistics:
    """Counts everything that ``GraphStatistics`` holds."""
    triples = Triples(len(label_sets.sets), type_count)
    parallel_seen = threading.Event()

    def count(piece: _Piece) -> NDArray[np.int64]:
        triples.count(label_sets.codes[piece.starts], piece.types, label_sets.codes[piece.ends])
        if not parallel_seen.is_set() and _any_parallel(piece):
            parallel_seen.set()
        return np.bincount(piece.types[piece.starts == piece.ends], minlength=type_count)

    loops = in_threads(lambda nodes: count(_piece(outgoing, *nodes)), list(_pieces(outgoing)))
    loop_counts = sum(loops, np.zeros(type_count, dtype=np.int64))
    found, complete = pattern_counts(triples, label_sets.sets)
    run_lengths = np.diff(outgoing.run_starts)
    return GraphStatistics(
        node_count=outgoing.node_count,
        relationship_count=outgoing.relationship_count,
        label_counts=_label_counts(label_sets),
        type_counts=_sums(outgoing.run_types, run_lengths, type_count),
        pattern_counts=found,
        pattern_counts_complete=complete,
        outgoing_degrees=_degree_summaries(outgoing, type_count),
        incoming_degrees=_degree_summaries(incoming, type_count),
        parallel_types=_parallel_types(outgoing, type_count),
        has_parallel=parallel_seen.is_set(),
        loop_counts=tuple(loop_counts.tolist()),
        closing_rates=sampled_closing_rates(outgoing, incoming),
        distinct_counts=_distinct_counts(node_properties),
        relationship_distinct_counts=_distinct_counts(relationship_properties),
    )


def _pieces(csr: Csr) -> Iterator[tuple[int, int]]:
    """The first node and the one after the last of each piece."""
    first, node_count = 0, csr.node_count
    while first < node_count:
        limit = int(csr.row_offsets[first]) + _PIECE
        last = int(np.searchsorted(csr.row_offsets, limit, side="right")) - 1
        last = max(first + 1, last)  # at least one node, however many relationships it has
        yield first, last
        first = last


def _piece(csr: Csr, first: int, last: int) -> _Piece:
    nodes = np.arange(first, last, dtype=np.uint32)
    runs = slice(int(csr.run_offsets[first]), int(csr.run_offsets[last]))
    run_lengths = np.diff(csr.run_starts[runs.start : runs.stop + 1])
    return _Piece(
        starts=np.repeat(nodes, np.diff(csr.row_offsets[first : last + 1])),
        types=np.repeat(csr.run_types[runs], run_lengths),
        ends=csr.neighbours[int(csr.row_offsets[first]) : int(csr.row_offsets[last])],
    )


def _any_parallel(piece: _Piece) -> bool:
    pairs = piece.starts.astype(np.uint64)
    pairs <<= np.uint64(32)
    pairs |= piece.ends
    pairs.sort()
    return bool((pairs[1:] == pairs[:-1]).any())


def _sums(kinds: NDArray[np.uint16], amounts: NDArray[np.uint32], count: int) -> tuple[int, ...]:
    # As doubles, which are exact up to 2^53.
    return tuple(np.bincount(kinds, weights=amounts, minlength=count).astype(np.int64).tolist())


def _label_counts(label_sets: LabelSets) -> tuple[int, ...]:
    counts = np.zeros(label_sets.label_count, dtype=np.int64)
    per_set = np.bincount(label_sets.codes, minlength=len(label_sets.sets))
    for labels, count in zip(label_sets.sets, per_set.tolist(), strict=True):
        counts[list(labels)] += count
    return tuple(counts.tolist())


def _degree_summaries(csr: Csr, type_count: int) -> dict[int, DegreeSummary]:
    lengths = np.diff(csr.run_starts)
    largest = np.zeros(type_count, dtype=np.uint32)
    np.maximum.at(largest, csr.run_types, lengths)
    nodes = np.bincount(csr.run_types, minlength=type_count).tolist()
    totals = _sums(csr.run_types, lengths, type_count)
    squares = np.bincount(
        csr.run_types, weights=lengths.astype(np.float64) ** 2, minlength=type_count
    )
    summaries = {
        each: DegreeSummary(
            int(largest[each]),
            totals[each] / nodes[each],
            nodes[each],
            float(squares[each]) / totals[each],
        )
        for each in range(type_count)
        if nodes[each]
    }
    degrees = csr.degrees()
    having = int(np.count_nonzero(degrees))
    if having:
        mean = csr.relationship_count / having
        reached = float((degrees.astype(np.float64) ** 2).sum()) / csr.relationship_count
        summaries[ANY] = DegreeSummary(int(degrees.max()), mean, having, reached)
    return summaries


def _parallel_types(csr: Csr, type_count: int) -> tuple[bool, ...]:
    # Rows are sorted, so parallel relationships lie side by side within a run.
    same = csr.neighbours[1:] == csr.neighbours[:-1]
    same[csr.run_starts[1:-1].astype(np.int64) - 1] = False
    runs = np.searchsorted(csr.run_starts, np.flatnonzero(same), side="right") - 1
    parallel = np.zeros(type_count, dtype=np.bool_)
    parallel[csr.run_types[runs]] = True
    return tuple(parallel.tolist())


def _distinct_counts(properties: Mapping[str, Column]) -> dict[str, int | None]:
    return {key: column.distinct_count for key, column in properties.items()}
