"""The order in which query nodes are joined, by the score of GSI."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["by_frequency", "node_order"]


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
