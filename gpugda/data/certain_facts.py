"""What plans and steps of queries take for certain of a graph, beside its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics import GraphStatistics

__all__ = ["keeps_facts"]


def keeps_facts(older: DataGraph, graph: DataGraph) -> bool:
    """Whether all holds of a graph that plans may have taken for certain of an earlier state.

    These are the names; that there is nothing at all, or no loop of a type; the most relationships
    that lie between two nodes, and that a node has; which labels no node has together; and that
    relationships run upwards. What plans take from statistics besides only makes them fast or slow.

    Args:
        older: An earlier state.
        graph: A later one of the same database.
    """
    return (
        graph.labels is older.labels
        and graph.types is older.types
        and graph.runs_upwards == older.runs_upwards
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
    """The same of what was found out of the earlier state when somebody asked."""
    known = graph.known_bounds()
    return all(
        graph.labels_apart(*key[1:]) if key[0] == "labels apart" else known.get(key) == value
        for key, value in older.known_bounds().items()
    )
