"""Statistics after changes, recounted only where something changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.increments.rows import Ends
from gpugda.data.increments.searching import lower_bound, run_bounds
from gpugda.data.labels import distinct_label_sets, label_ids_of
from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.pattern_counts import Triples, pattern_counts
from gpugda.data.runs import places_in_runs
from gpugda.data.statistics import ANY, DegreeSummary, GraphStatistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.types import NameId

__all__ = ["Side", "changed_statistics", "max_parallel", "max_parallel_undirected"]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A graph before or after the changes, and its part that the other side does not have.

    Args:
        label_offsets: Label offsets of all nodes.
        label_ids: Label ids of all nodes.
        outgoing: Rows by start node.
        incoming: Rows by end node.
        relationships: Relationships that only this side has; ``ids`` are indexes.
        touched: These, and those that only the other side has, without ids; -1 for nodes that this
            side does not have.
        nodes: ``int64``: nodes that only this side has, or whose labels differ on the other.
        label_count: The number of labels after the changes.
        type_count: The number of types after the changes.
    """

    label_offsets: NDArray[np.uint32]
    label_ids: NDArray[NameId]
    outgoing: CsrParts
    incoming: CsrParts
    relationships: Ends
    touched: Ends
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

    def patterns(self, statistics: GraphStatistics) -> dict[tuple[int, int, int], int]:
        """Pattern counts over the changed relationships and all relationships of ``nodes``.

        Only entries of the kinds that ``statistics`` holds.
        """
        starts, types, ends = self._touched()
        if not len(starts):
            return {}
        nodes, places = np.unique(np.concatenate([starts, ends]), return_inverse=True)
        offsets, ids = label_ids_of(self.label_offsets, self.label_ids, nodes)
        codes = distinct_label_sets(offsets.astype(np.uint32), ids, self.label_count)
        examples = np.unique(codes, return_index=True)[1].tolist()
        sets = [tuple(ids[offsets[each] : offsets[each + 1]].tolist()) for each in examples]
        of_ends = codes[places.reshape(-1)]
        triples = Triples(len(sets), self.type_count, limited=False)
        triples.count(of_ends[: len(starts)], types, of_ends[len(starts) :])
        complete, typed = statistics.pattern_counts_complete, statistics.pattern_counts_typed
        return pattern_counts(triples, sets, complete, typed).counts

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


def changed_statistics(
    statistics: GraphStatistics, old: Side, new: Side, node_count: int
) -> GraphStatistics:
    """The statistics after the changes, except for the counts of property values.

    Equal to those of a rebuilt graph, except where equality would need a scan of the whole graph:
    the largest degree never decreases, types that had parallel relationships keep that flag, and
    closing rates are not sampled again.

    Args:
        statistics: The statistics before.
        old: The graph before.
        new: The graph after.
        node_count: The number of nodes after.
    """
    type_counts = _padded(statistics.type_counts, new.type_count) + new.types() - old.types()
    total = int(type_counts.sum())
    parallel, has_parallel = _parallel(statistics, new)
    return replace(
        statistics,
        node_count=node_count,
        relationship_count=total,
        label_counts=_sums(statistics.label_counts, old.labels(), new.labels()),
        type_counts=tuple(type_counts.tolist()),
        pattern_counts=_patterns(statistics, old, new),
        outgoing_degrees=_degrees(
            statistics.outgoing_degrees, old, new, type_counts, outgoing=True
        ),
        incoming_degrees=_degrees(
            statistics.incoming_degrees, old, new, type_counts, outgoing=False
        ),
        parallel_types=parallel,
        has_parallel=has_parallel,
        loop_counts=_sums(statistics.loop_counts, old.loops(), new.loops()),
    )


def _padded(counts: tuple[Any, ...], length: int) -> NDArray[np.int64]:
    found = np.zeros(length, dtype=np.int64)
    found[: len(counts)] = counts
    return found


def _sums(
    before: tuple[int, ...], less: NDArray[np.int64], more: NDArray[np.int64]
) -> tuple[int, ...]:
    return tuple((_padded(before, len(more)) + more - less).tolist())


def _patterns(
    statistics: GraphStatistics, old: Side, new: Side
) -> Mapping[tuple[int, int, int], int]:
    less, more = old.patterns(statistics), new.patterns(statistics)
    if less == more:
        return statistics.pattern_counts
    found = dict(statistics.pattern_counts)
    for counts, sign in ((less, -1), (more, 1)):
        for key, count in counts.items():
            found[key] = found.get(key, 0) + sign * count
    for key in less.keys() | more.keys():
        if not found[key]:
            del found[key]
    return found


# ------------------------------------------------------------------ parallel relationships
def _parallel(statistics: GraphStatistics, new: Side) -> tuple[tuple[bool, ...], bool]:
    flags = _padded(statistics.parallel_types, new.type_count).astype(np.bool_)
    some = new.relationships
    flags[max_parallel(new) > 1] = True
    has = statistics.has_parallel or bool(flags.any()) or _beside_others(new.outgoing, some)
    return tuple(flags.tolist()), has


def max_parallel(new: Side) -> NDArray[np.int64]:
    """Per type, the most relationships parallel to a created one, itself included; 0 if none."""
    return _most(new, _parallel_with(new.outgoing, new.relationships))


def max_parallel_undirected(new: Side) -> NDArray[np.int64]:
    """Like `max_parallel`, with start and end in either order. A loop counts once."""
    some = new.relationships
    turned = Ends(some.ends, some.types, some.starts, some.ids)
    back = np.where(some.starts == some.ends, 0, _parallel_with(new.outgoing, turned))
    return _most(new, _parallel_with(new.outgoing, some) + back)


def _most(new: Side, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.zeros(new.type_count, dtype=np.int64)
    np.maximum.at(found, new.relationships.types, counts)
    return found


def _parallel_with(csr: CsrParts, some: Ends) -> NDArray[np.int64]:
    """Number of relationships with the same start, type and end as each of ``some``."""
    _, low, high = run_bounds(csr, some.starts, some.types)
    first = lower_bound(csr.neighbours, low, high, some.ends)
    return lower_bound(csr.neighbours, low, high, some.ends + 1) - first


def _beside_others(csr: CsrParts, some: Ends) -> bool:
    """True if one of them has a parallel relationship, of any type."""
    first = csr.run_offsets[some.starts].astype(np.int64)
    counts = csr.run_offsets[some.starts + 1] - first
    owner = np.repeat(np.arange(len(some)), counts)
    runs = first[owner] + places_in_runs(counts)
    low, high = csr.run_starts[runs].astype(np.int64), csr.run_starts[runs + 1].astype(np.int64)
    ends = some.ends[owner]
    found = lower_bound(csr.neighbours, low, high, ends + 1)
    found -= lower_bound(csr.neighbours, low, high, ends)
    return bool((np.bincount(owner, weights=found, minlength=1) > 1).any())


# ------------------------------------------------------------------ degrees
@dataclass(frozen=True, slots=True, eq=False)
class _Lengths:
    """Lengths of the runs, or rows, whose relationships changed."""

    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _degrees(
    before: Mapping[int, DegreeSummary],
    old: Side,
    new: Side,
    type_counts: NDArray[np.int64],
    *,
    outgoing: bool,
) -> dict[int, DegreeSummary]:
    less, more = _changed_runs(old, outgoing), _changed_runs(new, outgoing)
    found = dict(before)
    for kind in sorted_distinct(less.kinds, more.kinds).tolist():
        summary = _summary(
            before.get(kind, DegreeSummary()),
            less.lengths[less.kinds == kind],
            more.lengths[more.kinds == kind],
            int(type_counts.sum() if kind == ANY else type_counts[kind]),
        )
        found.pop(kind, None)
        if summary is not None:
            found[kind] = summary
    return found


def _changed_runs(side: Side, outgoing: bool) -> _Lengths:
    """Lengths of changed runs by type, and of changed rows as type ``ANY``."""
    csr = side.outgoing if outgoing else side.incoming
    owners = side.touched.starts if outgoing else side.touched.ends
    here = owners >= 0
    count = max(1, side.type_count)
    pairs = np.divmod(sorted_distinct(owners[here] * count + side.touched.types[here]), count)
    _, low, high = run_bounds(csr, *pairs)
    rows = sorted_distinct(pairs[0])
    degrees = csr.row_offsets[rows + 1].astype(np.int64) - csr.row_offsets[rows]
    kinds = np.concatenate([pairs[1], np.full(len(rows), ANY)])
    lengths = np.concatenate([high - low, degrees])
    return _Lengths(kinds[lengths > 0], lengths[lengths > 0])


def _summary(
    before: DegreeSummary, less: NDArray[np.int64], more: NDArray[np.int64], total: int
) -> DegreeSummary | None:
    """None if no node is left. The largest degree never decreases: that would need a scan."""
    count = before.node_count - len(less) + len(more)
    if not count:
        return None
    squares = round(before.reached * round(before.mean * before.node_count))
    squares += int((more**2).sum()) - int((less**2).sum())
    largest = max(before.largest, int(more.max(initial=0)))
    return DegreeSummary(largest, total / count, count, squares / total)
