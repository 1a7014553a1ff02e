"""Facts about a data graph that query plans rely on for correctness, besides its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.data.statistics.parallel import ParallelCounts

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )

__all__ = ["assumptions_hold"]


def assumptions_hold(older: DataGraph, graph: DataGraph) -> bool:
    """True if all facts that plans may rely on for an earlier state still hold.

    These facts are: the label and type names; that the graph, or a type's loops, are empty; the
    maximum number of relationships between two nodes, and the maximum degrees; which pairs of
    labels no node has together; and that relationships run upwards. Other statistics affect only
    the speed of plans.

    Args:
        older: An earlier state.
        graph: A later state of the same database.
    """
    return (
        graph.labels is older.labels
        and graph.types is older.types
        and graph.is_degree_oriented == older.is_degree_oriented
        and _bounds(graph.statistics) == _bounds(older.statistics)
        and _keeps_found(older, graph)
    )


def _bounds(statistics: GraphStatistics) -> tuple[object, ...]:
    return (
        statistics.node_count == 0,
        statistics.relationship_count == 0,
        [count > 0 for count in statistics.loop_counts],
        statistics.parallel_types,
        statistics.has_parallel,
        {kind: each.largest for kind, each in statistics.outgoing_degrees.items()},
        {kind: each.largest for kind, each in statistics.incoming_degrees.items()},
    )


def _keeps_found(older: DataGraph, graph: DataGraph) -> bool:
    """True if the bounds that were computed on demand for the earlier state still hold."""
    known = graph.known_bounds()
    for key, value in older.known_bounds().items():
        if key[0] == "labels disjoint":
            holds = graph.labels_disjoint(*key[1:])
        elif isinstance(value, ParallelCounts):
            holds = key in known and value.holds(known[key])
        else:
            holds = known.get(key) == value
        if not holds:
            return False
    return True
