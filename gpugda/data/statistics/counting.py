"""Collects the statistics of a data graph, in pieces that fit the processor's cache."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.data.statistics.graph_statistics import (
    ANY,
    DegreeSummary,
    GraphStatistics,
)
from gpugda.data.statistics.pattern_counts import (
    Triples,
    pattern_counts,
)
from gpugda.data.threads import beside, in_threads, pieces_of
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.sorting import RowFacts
    from gpugda.data.values.column import Column
    from gpugda.types import NameId

__all__ = ["LabelSets", "RowCounter", "RunLengths", "gather_statistics", "sampled_closing_rates"]

_SAMPLES: Final = 4096
_PER_RELATIONSHIP: Final = 4
"""Samples per relationship: small graphs have few paths, so they are sampled less."""
_MAX_RUNS: Final = 1 << 20
"""Maximum number of runs inspected: samples are dropped where nodes have thousands of types."""
_MIN_SAMPLES: Final = 64
_RATES_PIECE: Final = 1 << 15
"""Nodes whose degrees are computed at a time."""


def sampled_closing_rates(outgoing: Csr, incoming: Csr) -> dict[tuple[int, int], float]:
    """Mean number of relationships from one end of a path to the other.

    Returns:
        By path length (2 or 3) and type id, or ``ANY``; rates of 0 are left out.
    """
    both = _Neighbours(outgoing, incoming)
    paths = both.paths_before()
    if not len(paths) or paths[-1] <= 0:
        return {}
    random = np.random.default_rng(0)
    count = min(_SAMPLES, _PER_RELATIONSHIP * outgoing.relationship_count)
    centers = np.searchsorted(paths, random.random(count) * paths[-1], side="right")
    degrees = both.degrees(centers)
    first, second = random.integers(degrees), random.integers(degrees - 1)
    second += second >= first
    starts, ends = both.at(centers, first), both.at(centers, second)
    found = _rates(outgoing, 2, starts, ends, np.ones(count))
    degrees = both.degrees(ends)
    further = both.at(ends, random.integers(degrees))
    # An end with d neighbours begins d - 1 such paths, of which one was drawn.
    weights = np.where(further == centers, 0, degrees - 1).astype(np.float64)
    return found | _rates(outgoing, 3, starts, further, weights)


class _Neighbours:
    """The rows of both directions as one adjacency list."""

    def __init__(self, outgoing: Csr, incoming: Csr) -> None:
        self._outgoing, self._incoming = outgoing, incoming

    def paths_before(self) -> NDArray[np.float64]:
        """``float64[n]``: paths of length two through the nodes 0 to v (inclusive prefix sum)."""
        # Floats are exact here. In pieces that fit the cache, as graphs may have very many nodes.
        paths: NDArray[np.float64] = np.empty(self._outgoing.node_count)
        for piece in pieces_of(len(paths), _RATES_PIECE):
            counts = np.zeros(piece.stop - piece.start)
            for csr in (self._outgoing, self._incoming):
                counts += np.diff(csr.row_offsets[piece.start : piece.stop + 1])
            np.multiply(counts, counts - 1, out=paths[piece])
        return np.cumsum(paths, out=paths)

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Degrees, both directions together, of the given nodes."""
        return _degrees(self._outgoing, nodes) + _degrees(self._incoming, nodes)

    def at(self, nodes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The neighbours at the given positions of the nodes' rows."""
        found = np.empty(len(nodes), dtype=np.int64)
        own = _degrees(self._outgoing, nodes)
        is_out = places < own
        for csr, which, before in (
            (self._outgoing, is_out, 0),
            (self._incoming, ~is_out, own[~is_out]),
        ):
            entries = csr.row_offsets[nodes[which]].astype(np.int64) + places[which] - before
            found[which] = csr.neighbours[entries]
        return found


def _degrees(csr: Csr, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return csr.row_offsets[nodes + 1].astype(np.int64) - csr.row_offsets[nodes]


def _rates(
    csr: Csr,
    length: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[tuple[int, int], float]:
    starts, ends, weights = _first(csr, starts, ends, weights)
    weights = np.where(starts == ends, 0.0, weights)
    total = 2.0 * float(weights.sum())  # each pair is tested in both directions
    if not total:
        return {}
    sums: dict[int, float] = {}
    for sources, targets in ((starts, ends), (ends, starts)):
        types, amounts = _between(csr, sources, targets, weights)
        for kind, amount in zip(types.tolist(), amounts.tolist(), strict=True):
            for each in (kind, ANY):
                sums[each] = sums.get(each, 0.0) + amount
    return {(length, kind): amount / total for kind, amount in sums.items() if amount}


def _first(csr: Csr, *samples: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The first samples (starts, ends, weights) whose runs stay within ``_MAX_RUNS``."""
    nodes = np.stack(samples[:2])
    runs = csr.run_offsets[nodes + 1].astype(np.int64) - csr.run_offsets[nodes]
    seen = np.cumsum(runs.sum(axis=0))
    count = max(int(np.searchsorted(seen, _MAX_RUNS)), _MIN_SAMPLES)
    return tuple(each[:count] for each in samples)


def _between(
    csr: Csr, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distinct types, and the weighted number of relationships of each from sources to targets."""
    first = csr.run_offsets[sources].astype(np.int64)
    runs_each = csr.run_offsets[sources + 1] - first
    sample = np.repeat(np.arange(len(sources)), runs_each)
    places = places_in_runs(runs_each)
    runs = first[sample] + places
    low, high = csr.run_starts[runs].astype(np.int64), csr.run_starts[runs + 1].astype(np.int64)
    wanted = targets[sample]
    begins = _searched(csr, low, high, wanted)
    found = np.zeros(len(runs), dtype=np.int64)
    # Few runs contain the target: entries are counted only in those.
    there = np.flatnonzero(begins < high)
    there = there[csr.neighbours[begins[there]] == wanted[there]]
    found[there] = _searched(csr, begins[there], high[there], wanted[there] + 1) - begins[there]
    amounts = found * weights[sample]
    types, numbers = np.unique(csr.run_types[runs], return_inverse=True)
    sums = np.bincount(numbers.reshape(-1), weights=amounts, minlength=len(types))
    return types.astype(np.int64), sums.astype(np.float64)


def _searched(
    csr: Csr, low: NDArray[np.int64], high: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Lower bound in each run: the first entry whose neighbour is at least ``wanted``."""
    found = low.copy()
    open_runs = np.flatnonzero(low < high)
    low, high, wanted = low[open_runs], high[open_runs], wanted[open_runs]
    while len(open_runs):
        middle = (low + high) >> 1
        below = csr.neighbours[middle] < wanted
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        ended = low == high
        found[open_runs[ended]] = low[ended]
        still = ~ended
        open_runs, low, high = open_runs[still], low[still], high[still]
        wanted = wanted[still]
    return found


_PIECE = 1 << 19


@value(frozen=True, slots=True)
class LabelSets:
    """The labels of all nodes, dictionary-encoded as label sets.

    Args:
        codes: ``int32[n]``: position in ``sets``.
        sets: Label ids of each distinct set.
        label_count: The number of labels.
    """

    codes: NDArray[np.int32]
    sets: Sequence[Sequence[int]]
    label_count: int


class RunLengths(NamedTuple):
    """Per type: longest run, number of runs, sum of their lengths, and sum of squared lengths."""

    largest: list[int]
    counts: list[int]
    totals: list[int]
    squares: list[float]


class RowCounter(Protocol):
    """Counts in CSR rows faster than NumPy; returns None where it cannot."""

    def lengths(
        self, starts: NDArray[np.uint32], kinds: NDArray[NameId] | None, type_count: int
    ) -> RunLengths | None:
        """Summary of run lengths by type.

        Args:
            starts: Start of each run, and the end of the last one.
            kinds: Type of each run; None if there is only one type.
            type_count: The number of types.
        """

    def labelled(
        self, label_sets: LabelSets, type_count: int, outgoing: Csr
    ) -> NDArray[np.int64] | None:
        """Relationships per (start's label set, type, end's label set), indexed as in `Triples`."""


def gather_statistics(
    label_sets: LabelSets,
    type_count: int,
    outgoing: Csr,
    incoming: Csr,
    node_properties: Mapping[str, Column],
    relationship_properties: Mapping[str, Column],
    facts: RowFacts | None = None,
    counter: RowCounter | None = None,
) -> GraphStatistics:
    """Counts everything that ``GraphStatistics`` holds, except the ``facts`` that are given.

    ``counter`` is tried first.
    """
    closing_rates = beside(
        lambda: sampled_closing_rates(outgoing, incoming), outgoing.relationship_count
    )
    lengths, degrees = _lengths(outgoing, type_count, counter)
    known = facts and _known_triples(label_sets, lengths, outgoing, counter)
    if facts is not None and known is not None:
        triples, loop_counts = known, facts.loop_counts
    else:
        triples, loop_counts = _count_relationships(label_sets, type_count, outgoing)
    patterns = pattern_counts(triples, label_sets.sets)
    parallel_types = facts.parallel_types if facts else _parallel_types(outgoing, type_count)
    return GraphStatistics(
        node_count=outgoing.node_count,
        relationship_count=outgoing.relationship_count,
        label_counts=_label_counts(label_sets),
        type_counts=tuple(lengths.totals),
        pattern_counts=patterns.counts,
        pattern_counts_complete=patterns.complete,
        pattern_counts_typed=patterns.typed,
        outgoing_degrees=_degree_summaries(lengths, degrees),
        incoming_degrees=_degree_summaries(*_lengths(incoming, type_count, counter)),
        parallel_types=parallel_types,
        has_parallel=facts.has_parallel if facts else _has_parallel(outgoing, parallel_types),
        loop_counts=loop_counts,
        closing_rates=closing_rates(),
        distinct_counts=_distinct_counts(node_properties),
        relationship_distinct_counts=_distinct_counts(relationship_properties),
    )


def _count_relationships(
    label_sets: LabelSets, type_count: int, outgoing: Csr
) -> tuple[Triples, tuple[int, ...]]:
    """Relationships per label sets and type, and loops per type."""
    triples = Triples(len(label_sets.sets), type_count)
    loop_counts = np.zeros(type_count, dtype=np.int64)
    lock = threading.Lock()

    def count(piece: slice) -> None:
        starts, types = outgoing.entries(piece)
        ends = outgoing.neighbours[piece]
        if len(label_sets.sets) == 1:
            triples.count(None, types, None)
        else:
            triples.count(_at(label_sets.codes, starts), types, _at(label_sets.codes, ends))
        loops = types[starts == ends]
        if len(loops):
            with lock:
                np.add.at(loop_counts, loops, 1)

    in_threads(count, pieces_of(outgoing.relationship_count, _PIECE))
    return triples, tuple(loop_counts.tolist())


def _at(codes: NDArray[np.int32], nodes: NDArray[np.uint32]) -> NDArray[np.int32]:
    # All are node indexes: mode="clip" only avoids NumPy's bounds check.
    return np.take(codes, nodes, mode="clip")


def _pieces(csr: Csr) -> Iterator[tuple[int, int]]:
    """First node and end (exclusive) of each piece."""
    first, node_count = 0, csr.node_count
    while first < node_count:
        limit = np.uint32(min(int(csr.row_offsets[first]) + _PIECE, csr.relationship_count))
        last = int(np.searchsorted(csr.row_offsets, limit, side="right")) - 1
        last = max(first + 1, last)  # at least one node, whatever its degree
        yield first, last
        first = last


def _has_parallel(csr: Csr, parallel_types: tuple[bool, ...]) -> bool:
    return any(parallel_types) or (len(parallel_types) > 1 and _any_parallel(csr))


def _any_parallel(csr: Csr) -> bool:
    """True if two relationships, of any types, have the same start and end."""
    seen = threading.Event()

    def look(nodes: tuple[int, int]) -> None:
        if seen.is_set():
            return
        first, last = (int(csr.row_offsets[node]) for node in nodes)
        pairs = csr.entries(slice(first, last))[0].astype(np.uint64)
        pairs <<= np.uint64(32)
        pairs |= csr.neighbours[first:last]
        pairs.sort()
        if bool((pairs[1:] == pairs[:-1]).any()):
            seen.set()

    in_threads(look, list(_pieces(csr)))
    return seen.is_set()


def _label_counts(label_sets: LabelSets) -> tuple[int, ...]:
    counts = np.zeros(label_sets.label_count, dtype=np.int64)
    per_set = np.bincount(label_sets.codes, minlength=len(label_sets.sets))
    for labels, count in zip(label_sets.sets, per_set.tolist(), strict=True):
        counts[list(labels)] += count
    return tuple(counts.tolist())


def _degree_summaries(runs: RunLengths, degrees: RunLengths) -> dict[int, DegreeSummary]:
    each = list(enumerate(zip(*runs, strict=True)))
    whole = [(ANY, numbers) for numbers in zip(*degrees, strict=True)]
    return {
        kind: DegreeSummary(largest, total / nodes, nodes, squares / total)
        for kind, (largest, nodes, total, squares) in each + whole
        if nodes
    }


def _lengths(
    csr: Csr, type_count: int, counter: RowCounter | None
) -> tuple[RunLengths, RunLengths]:
    """Summary of run lengths by type, and of row lengths (degrees)."""
    if counter is not None:
        runs = counter.lengths(csr.run_starts, csr.run_types, type_count)
        rows = counter.lengths(csr.row_offsets, None, 1)
        if runs is not None and rows is not None:
            return runs, rows
    degrees = csr.degrees()
    squares = float((degrees.astype(np.float64) ** 2).sum())
    largest, having = int(degrees.max(initial=0)), int(np.count_nonzero(degrees))
    rows = RunLengths([largest], [having], [csr.relationship_count], [squares])
    return _run_lengths(csr, type_count), rows


def _known_triples(
    label_sets: LabelSets, lengths: RunLengths, outgoing: Csr, counter: RowCounter | None
) -> Triples | None:
    """The result of `_count_relationships` without scanning the relationships in Python."""
    set_count, type_count = len(label_sets.sets), len(lengths.totals)
    if set_count == 1:
        return Triples.of_counts(np.array(lengths.totals, dtype=np.int64), 1, type_count)
    counts = None if counter is None else counter.labelled(label_sets, type_count, outgoing)
    return None if counts is None else Triples.of_counts(counts, set_count, type_count)


def _run_lengths(csr: Csr, type_count: int) -> RunLengths:
    largest = np.zeros(type_count, dtype=np.uint32)
    sums = np.zeros((3, type_count))
    lock = threading.Lock()

    def add(piece: slice) -> None:
        kinds = csr.run_types[piece]
        lengths = np.diff(csr.run_starts[piece.start : piece.stop + 1])
        weights = lengths.astype(np.float64)
        found = [None, weights, weights**2]
        counts = [np.bincount(kinds, weights=each, minlength=type_count) for each in found]
        with lock:
            sums[:] += counts
            np.maximum.at(largest, kinds, lengths)

    in_threads(add, pieces_of(len(csr.run_types), _PIECE))
    # Doubles are exact up to 2^53.
    nodes, totals = sums[:2].astype(np.int64).tolist()
    return RunLengths(largest.tolist(), nodes, totals, sums[2].tolist())


def _parallel_types(csr: Csr, type_count: int) -> tuple[bool, ...]:
    # Rows are sorted, so parallel relationships lie side by side within a run.
    found = np.zeros(type_count, dtype=np.bool_)

    def look(piece: slice) -> None:
        same = csr.neighbours[piece][1:] == csr.neighbours[piece][:-1]
        if not same.any():
            return
        low, high = np.uint32(piece.start), np.uint32(piece.stop)
        first = int(np.searchsorted(csr.run_starts, low, side="right"))
        last = int(np.searchsorted(csr.run_starts, high, side="left"))
        same[csr.run_starts[first:last] - low - np.uint32(1)] = False
        places = np.flatnonzero(same)
        runs = np.searchsorted(
            csr.run_starts[first:last], (places + piece.start).astype(np.uint32), side="right"
        )
        found[csr.run_types[first - 1 + runs]] = True

    # Each piece includes the next entry, which may be parallel to its last one.
    count = csr.relationship_count
    in_threads(
        look,
        [slice(each.start, min(each.stop + 1, count)) for each in pieces_of(count, _PIECE)],
    )
    return tuple(found.tolist())


def _distinct_counts(properties: Mapping[str, Column]) -> dict[str, int | None]:
    return {key: column.distinct_count for key, column in properties.items()}
