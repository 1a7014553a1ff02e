"""Rates of steps on cycles of the query graph, where to take ends as independent is far too low.

In real graphs neighbours of one node are often neighbours of each other, and who is reached along
a relationship has more of them than others. Elsewhere expectations stay as they are.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from gpugda.data.statistics import ANY
from gpugda.plan.cardinality import label_share, selectivity
from gpugda.plan.plan import BoundRelationship

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gpugda.data.statistics import GraphStatistics
    from gpugda.plan.plan import BoundNode

__all__ = ["with_cycle_rates"]


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
    """Those whose ends are joined without them, too.

    With some of them as a tree, every other one closes a cycle with those between its ends.
    """
    parents: list[tuple[int, int] | None] = [None] * node_count  # node and relationship
    closing = []
    root_of = list(range(node_count))
    for each in relationships:
        if root_of[each.source] == root_of[each.target]:
            closing.append(each)
        else:
            _hang(parents, root_of, each)
    on_cycles = set()
    for each in closing:
        if each.source != each.target:
            on_cycles.add(each.position)
            on_cycles |= _between(parents, each.source) ^ _between(parents, each.target)
    return on_cycles


def _hang(
    parents: list[tuple[int, int] | None], root_of: list[int], link: BoundRelationship
) -> None:
    """Makes a tree of two: the source, turned into the root of its tree, goes below the target."""
    node, above = link.source, (link.target, link.position)
    while True:
        following, parents[node] = parents[node], above
        if following is None:
            break
        node, above = following[0], (node, following[1])
    old, new = root_of[link.source], root_of[link.target]
    root_of[:] = [new if root == old else root for root in root_of]


def _between(parents: Sequence[tuple[int, int] | None], node: int) -> set[int]:
    """The relationships from a node to its root."""
    found = set()
    above = parents[node]
    while above is not None:
        found.add(above[1])
        above = parents[above[0]]
    return found


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
    return BoundRelationship(  # replace() takes ten times as long, for each relationship of a text
        each.position,
        each.name,
        each.source,
        each.target,
        each.directed,
        each.types,
        each.predicates,
        each.clause,
        each.cardinality,
        closing=(after_two, after_three),
        reached=reached,
    )


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
