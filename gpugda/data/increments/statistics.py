"""Statistics after changes, recounted only where something changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.increments.rows import Ends
from gpugda.data.increments.searching import bounds_of_rows, equal_range, run_bounds
from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.runs import places_in_runs
from gpugda.data.statistics.graph_statistics import (
    ANY,
    DegreeSummary,
    GraphStatistics,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.increments.nodes import NodeNumbers
    from gpugda.data.increments.sides import Side

__all__ = ["changed_statistics", "max_parallel", "max_parallel_undirected"]


def changed_statistics(
    statistics: GraphStatistics,
    old: Side,
    new: Side,
    nodes: NodeNumbers,
    max_parallel_after: NDArray[np.int64],
) -> GraphStatistics:
    """The statistics after the changes, except for the counts of property values.

    Equal to those of a rebuilt graph, except where equality would need a scan of the whole graph:
    the largest degree never decreases, types that had parallel relationships keep that flag, and
    closing rates are not sampled again.

    Args:
        statistics: The statistics before.
        old: The graph before.
        new: The graph after.
        nodes: Old and new node numbers.
        max_parallel_after: `max_parallel` of the graph after.
    """
    type_counts = _padded(statistics.type_counts, new.type_count) + new.types() - old.types()
    total = int(type_counts.sum())
    parallel, has_parallel = _parallel(statistics, new, max_parallel_after)
    type_totals = [*type_counts.tolist(), total]
    return replace(
        statistics,
        node_count=nodes.splice.new_count,
        relationship_count=total,
        label_counts=_sums(statistics.label_counts, old.labels(), new.labels()),
        type_counts=tuple(type_counts.tolist()),
        pattern_counts=_patterns(statistics, old, new),
        outgoing_degrees=_degrees(
            statistics.outgoing_degrees, _changed_runs(old, new, nodes, outgoing=True), type_totals
        ),
        incoming_degrees=_degrees(
            statistics.incoming_degrees, _changed_runs(old, new, nodes, outgoing=False), type_totals
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
def _parallel(
    statistics: GraphStatistics, new: Side, most: NDArray[np.int64]
) -> tuple[tuple[bool, ...], bool]:
    flags = _padded(statistics.parallel_types, new.type_count).astype(np.bool_)
    some = new.relationships
    flags[most > 1] = True
    has = statistics.has_parallel or bool(flags.any()) or _any_is_parallel(new.outgoing, some)
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
    if not len(some):
        return some.ids
    _, low, high = run_bounds(csr, some.starts, some.types)
    return equal_range(csr.neighbours, low, high, some.ends)[1]


def _any_is_parallel(csr: CsrParts, some: Ends) -> bool:
    """True if one of them has a parallel relationship, of any type."""
    first, last = bounds_of_rows(csr.run_offsets, some.starts)
    counts = last - first
    owner = np.arange(len(some)).repeat(counts)
    low, high = bounds_of_rows(csr.run_starts, first[owner] + places_in_runs(counts))
    found = equal_range(csr.neighbours, low, high, some.ends[owner])[1]
    return bool((np.bincount(owner, weights=found, minlength=1) > 1).any())


# ------------------------------------------------------------------ degrees
class _Runs(NamedTuple):
    """Runs, and rows, whose relationships changed.

    kinds: Type of each run; the number of types for a row.
    before: Lengths before.
    after: Lengths after.
    """

    kinds: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


def _degrees(
    known: Mapping[int, DegreeSummary], runs: _Runs, type_totals: list[int]
) -> Mapping[int, DegreeSummary]:
    """The summaries after the changes.

    Args:
        known: The summaries before.
        runs: The changed runs and rows.
        type_totals: Relationships per type after the changes, then of all types.
    """
    if not len(runs.kinds):
        return known
    found = dict(known)
    for kind in set(runs.kinds.tolist()):
        some = runs.kinds == kind
        key = ANY if kind + 1 == len(type_totals) else kind
        summary = _summary(
            known.get(key, DegreeSummary()), runs.before[some], runs.after[some], type_totals[kind]
        )
        found.pop(key, None)
        if summary is not None:
            found[key] = summary
    return found


def _changed_runs(old: Side, new: Side, nodes: NodeNumbers, *, outgoing: bool) -> _Runs:
    """The runs, and rows, that lost or gained relationships."""
    gone, came, csr = old.relationships, new.relationships, old.outgoing
    if not len(gone) and not len(came):
        return _Runs(gone.ids, gone.ids, gone.ids)
    ends = gone.starts, came.starts
    if not outgoing:
        csr, ends = old.incoming, (gone.ends, came.ends)
    # Created nodes are numbered behind all old ones.
    known, count = nodes.old_numbers(ends[1]), nodes.splice.count
    owners = np.concatenate([ends[0], np.where(known < 0, count + ends[1], known)])
    types = np.concatenate([gone.types, came.types])
    kinds = new.type_count + 1
    keys = np.concatenate([owners * kinds + types, owners * kinds + new.type_count])
    distinct = sorted_distinct(keys)
    signs = np.ones((2, len(owners)), dtype=np.int64)
    signs[:, : len(gone)] = -1
    gains = np.bincount(distinct.searchsorted(keys), weights=signs.ravel()).astype(np.int64)
    owners, kinds_of = np.divmod(distinct, kinds)
    before = np.zeros(len(distinct), dtype=np.int64)
    is_row = kinds_of == new.type_count
    is_old = owners < count
    runs, rows = (is_old & ~is_row).nonzero()[0], (is_old & is_row).nonzero()[0]
    _, low, high = run_bounds(csr, owners[runs], kinds_of[runs])
    before[runs] = high - low
    low, high = bounds_of_rows(csr.row_offsets, owners[rows])
    before[rows] = high - low
    return _Runs(kinds_of, before, before + gains)


def _summary(
    known: DegreeSummary, before: NDArray[np.int64], after: NDArray[np.int64], total: int
) -> DegreeSummary | None:
    """None if no node is left. The largest degree never decreases: that would need a scan."""
    count = known.node_count + int(np.count_nonzero(after)) - int(np.count_nonzero(before))
    if not count:
        return None
    squares = round(known.reached * round(known.mean * known.node_count))
    squares += int(after @ after) - int(before @ before)
    return DegreeSummary(
        max(known.largest, int(after.max())), total / count, count, squares / total
    )
