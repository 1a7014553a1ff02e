"""The order in which query nodes are joined: by the score of GSI, or by the cost of each step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda_strategies.level_order import OrderSearch, components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["by_frequency", "node_order", "order_of_cycles"]

_MAX_ORDERED = 8
"""Maximum number of nodes of a pattern whose order is searched for: 2^n sets of nodes are tried."""


def node_order(
    bound: BoundQuery,
    count: Callable[[int], float],
    frequency: Callable[[BoundRelationship], float],
) -> list[tuple[int, bool]]:
    """Query nodes in order; True for the first of each component.

    The score of a node is its number of candidates divided by its degree, multiplied by the number
    of data relationships with the types of each relationship that links it to joined nodes. The
    node with the lowest score comes next, among linked nodes if there are any.

    Args:
        bound: The query.
        count: Number of candidates of a query node.
        frequency: Number of data relationships with the types of a query relationship.
    """
    links: dict[int, list[tuple[int, BoundRelationship]]] = {n.position: [] for n in bound.nodes}
    for each in bound.relationships:
        if each.source != each.target:
            links[each.source].append((each.target, each))
            links[each.target].append((each.source, each))
    scores = {node: count(node) / max(len(links[node]), 1) for node in links}
    order: list[tuple[int, bool]] = []
    reached: set[int] = set()
    while scores:
        linked = reached & scores.keys()
        chosen = min(linked or scores.keys(), key=lambda node: (scores[node], node))
        order.append((chosen, not linked))
        del scores[chosen]
        for other, each in links[chosen]:
            if other in scores:
                reached.add(other)
                scores[other] *= max(frequency(each), 1.0)
    return order


def order_of_cycles(bound: BoundQuery, counts: Sequence[float]) -> list[tuple[int, bool]] | None:
    """The order with the least estimated cost; None for trees and for large patterns.

    The score of `node_order` multiplies by the relationships of every link, as if a link that
    closes a cycle made rows. In trees no relationship closes one.

    Args:
        bound: The query.
        counts: Number of candidates of each query node.
    """
    links = sum(each.source != each.target for each in bound.relationships)
    parts = components(bound)
    if len(bound.nodes) > _MAX_ORDERED or links <= len(bound.nodes) - len(parts):
        return None
    search = OrderSearch(_with_counts(bound, counts), searches=True)
    return [(node, not at) for part in parts for at, node in enumerate(search.best(part))]


def _with_counts(bound: BoundQuery, counts: Sequence[float]) -> BoundQuery:
    """The query with counted candidates; relationships keep as large a share as both their ends."""
    shares = [
        min(count / max(each.cardinality, 1.0), 1.0)
        for each, count in zip(bound.nodes, counts, strict=True)
    ]
    nodes = [
        replace(each, cardinality=float(count))
        for each, count in zip(bound.nodes, counts, strict=True)
    ]
    relationships = [
        replace(each, cardinality=each.cardinality * shares[each.source] * shares[each.target])
        for each in bound.relationships
    ]
    return replace(bound, nodes=tuple(nodes), relationships=tuple(relationships))


def by_frequency(
    nodes: Iterable[int],
    relationships: Sequence[BoundRelationship],
    frequency: Callable[[BoundRelationship], float],
) -> list[int]:
    """Nodes around another one, the one with the rarest relationship first."""
    rarest = {
        node: min(frequency(each) for each in relationships if node in (each.source, each.target))
        for node in nodes
    }
    return sorted(rarest, key=lambda node: (rarest[node], node))
