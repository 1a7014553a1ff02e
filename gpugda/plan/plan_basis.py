"""Facts of a data graph that a plan rests on: while they hold, later states use the same plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.identifiers import NameTable
    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )

__all__ = ["PlanBasis"]

_MAX_CHANGE = 1.1
"""Factor by which a count may grow or shrink before estimates are made anew."""
_FEW = 16
"""Counts may differ by this many in any case."""
_MAX_PATTERNS = 512
"""With more counts of patterns than this, comparing them takes longer than a new plan."""


@value(frozen=True, slots=True, eq=False)
class PlanBasis:
    """What a plan was made from.

    A plan is right as long as names keep their ids and no count begins or ceases to be zero; it is
    good as long as the counts are similar.

    Args:
        labels: Label names and their ids.
        types: Type names and their ids.
        statistics: The statistics at that time.
    """

    labels: NameTable
    types: NameTable
    statistics: GraphStatistics

    @classmethod
    def of(cls, graph: DataGraph) -> PlanBasis:
        """The facts of a graph. A property that is read later adds its count to the graph's own."""
        statistics = graph.statistics
        frozen = replace(
            statistics,
            distinct_counts=dict(statistics.distinct_counts),
            relationship_distinct_counts=dict(statistics.relationship_distinct_counts),
        )
        return cls(graph.labels, graph.types, frozen)

    def holds_for(self, graph: DataGraph) -> bool:
        """True if a plan made from these facts is right and good for the graph."""
        then, now = self.statistics, graph.statistics
        return (
            self.labels is graph.labels
            and self.types is graph.types
            and _are_similar(
                (then.node_count, then.relationship_count),
                (now.node_count, now.relationship_count),
            )
            and _are_similar(then.label_counts, now.label_counts)
            and _are_similar(then.type_counts, now.type_counts)
            and _are_similar(then.loop_counts, now.loop_counts)
            and _have_similar(then.distinct_counts, now.distinct_counts)
            and _have_similar(then.relationship_distinct_counts, now.relationship_distinct_counts)
            and _have_similar_patterns(then, now)
        )


def _are_similar(then: Sequence[int], now: Sequence[int]) -> bool:
    return then == now or (len(then) == len(now) and all(map(_is_similar, then, now)))


def _is_similar(then: int | None, now: int | None) -> bool:
    if then == now:
        return True
    if not then or not now:  # zero or unknown
        return False
    return abs(then - now) <= _FEW or max(then, now) <= _MAX_CHANGE * min(then, now)


def _have_similar(then: Mapping[str, int | None], now: Mapping[str, int | None]) -> bool:
    return then.keys() == now.keys() and all(
        _is_similar(count, now[key]) for key, count in then.items()
    )


def _have_similar_patterns(then: GraphStatistics, now: GraphStatistics) -> bool:
    before, after = then.pattern_counts, now.pattern_counts
    if before is after:
        return True
    if len(before) > _MAX_PATTERNS or before.keys() != after.keys():
        return False
    if then.pattern_counts_complete != now.pattern_counts_complete:
        return False
    if then.pattern_counts_typed != now.pattern_counts_typed:
        return False
    return all(_is_similar(count, after[key]) for key, count in before.items())
