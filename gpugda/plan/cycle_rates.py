"""Rates of steps on cycles of the query graph, where to take ends as independent is far too low.

In real graphs neighbours of one node are often neighbours of each other, and who is reached along
a relationship has more of them than others. Elsewhere expectations stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from gpugda.data.statistics import ANY
from gpugda.plan.cardinality import label_share, selectivity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gpugda.data.statistics import GraphStatistics
    from gpugda.plan.plan import BoundNode, BoundRelationship

__all__ = ["with_cycle_rates"]

_MOST_LOOKED_AT = 256
"""Query relationships up to which it is looked for each whether it lies on a cycle."""


def with_cycle_rates(
    relationships: Sequence[BoundRelationship],
    nodes: Sequence[BoundNode],
    statistics: GraphStatistics,
) -> tuple[BoundRelationship, ...]:
    """The same, those on cycles with what the graph's statistics say of them."""
    found = tuple(relationships)
    on_cycles = _on_cycles(found, len(nodes))
    return tuple(
        _on_cycle(each, nodes, statistics) if each.position in on_cycles else each for each in found
    )


def _on_cycles(relationships: Sequence[BoundRelationship], node_count: int) -> Collection[int]:
    joined = _components(relationships, node_count)
    ends = {node for each in relationships for node in (each.source, each.target)}
    if len(relationships) == len(ends) - len({joined[node] for node in ends}):
        return ()  # trees
    if len(relationships) > _MOST_LOOKED_AT:
        return {each.position for each in relationships}
    on_cycles = set()
    for number, each in enumerate(relationships):
        parts = _components([*relationships[:number], *relationships[number + 1 :]], node_count)
        if each.source != each.target and parts[each.source] == parts[each.target]:
            on_cycles.add(each.position)
    return on_cycles


def _components(relationships: Sequence[BoundRelationship], node_count: int) -> list[int]:
    """One query node of each node's component."""
    parent = list(range(node_count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for each in relationships:
        parent[root(each.source)] = root(each.target)
    return [root(node) for node in range(node_count)]


def _on_cycle(
    each: BoundRelationship, nodes: Sequence[BoundNode], statistics: GraphStatistics
) -> BoundRelationship:
    kinds = (ANY,) if each.types is None else each.types
    count = statistics.relationship_count
    distinct = statistics.relationship_distinct_counts
    kept = prod(selectivity(predicate, distinct, count) for predicate in each.predicates)
    ways = kept if each.directed else 2 * kept
    after_two, after_three = (
        ways * sum(statistics.closing_rates.get((length, kind), 0.0) for kind in kinds)
        for length in (2, 3)
    )
    reached = (
        _reached(
            kinds, nodes[each.source], statistics, (True,) if each.directed else (True, False)
        ),
        _reached(
            kinds, nodes[each.target], statistics, (False,) if each.directed else (True, False)
        ),
    )
    return replace(each, closing=(after_two, after_three), reached=reached)


def _reached(
    kinds: Sequence[int],
    node: BoundNode,
    statistics: GraphStatistics,
    directions: Sequence[bool],
) -> float:
    """How many times as many relationships a candidate has if it was reached along one."""
    candidates = statistics.node_count * label_share(node.labels, statistics)
    total = weighed = 0.0
    for kind in kinds:
        for outgoing in directions:
            degrees = statistics.degrees(None if kind == ANY else kind, outgoing=outgoing)
            count = degrees.mean * degrees.node_count
            total += count
            weighed += degrees.reached * candidates
    return max(1.0, weighed / total) if total else 1.0
