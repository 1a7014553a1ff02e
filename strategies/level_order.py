"""The order of query nodes with the least estimated cost, given some bound nodes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.plan.cardinality import closing_rate, extension_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["OrderSearch", "components"]

_MAX_SEARCHED = 10
"""With more query nodes, the cheapest next node is taken: there are 2^n sets of nodes."""


def components(bound: BoundQuery) -> list[frozenset[int]]:
    """Connected components of the query nodes; the one with the most relationships first."""
    links = {node.position: {node.position} for node in bound.nodes}
    for each in bound.relationships:
        joined = links[each.source] | links[each.target]
        for node in joined:
            links[node] = joined
    found = dict.fromkeys(frozenset(each) for each in links.values())
    weight = {each: sum(one.source in each for one in bound.relationships) for each in found}
    return sorted(found, key=lambda each: (-weight[each], min(each)))


class OrderSearch:
    """Costs of search sequences.

    A level costs the rows of the previous level times the work per row: the entries of the shortest
    list, and a search in each other list. The estimated rows of a set of bound nodes are those of
    the cheapest order that binds it, so that it suffices to enumerate sets instead of permutations.

    Args:
        bound: The query.
        searches: True to search for the cheapest order, False for the order of the query text.
    """

    def __init__(self, bound: BoundQuery, *, searches: bool) -> None:
        self._bound = bound
        self._searches = searches
        self._at: list[list[tuple[BoundRelationship, int]]] = [[] for _ in bound.nodes]
        for each in bound.relationships:
            if each.source != each.target:
                self._at[each.source].append((each, each.target))
                self._at[each.target].append((each, each.source))

    def order(
        self, first: Sequence[int], part: frozenset[int], rows: float
    ) -> tuple[list[int], float]:
        """The other nodes of a component in order, and the cost of all levels.

        Args:
            first: Nodes that are bound.
            part: The component.
            rows: Estimated number of rows that bind them.
        """
        left = part - set(first)
        if self._searches and 1 < len(left) <= _MAX_SEARCHED:
            return self._cheapest(frozenset(first), left, rows)
        order, cost, bound = list[int](), rows, frozenset(first)
        while left:
            check_time()
            linked = [node for node in sorted(left) if self._links(node, bound)]
            node = linked[0]
            if self._searches:
                node = min(linked, key=lambda each: self._level(each, bound))
            work, rate = self._level(node, bound)
            order.append(node)
            cost += rows * work
            rows *= rate
            bound, left = bound | {node}, left - {node}
        return order, cost

    def best(self, part: frozenset[int]) -> list[int]:
        """All nodes of a component in the cheapest order."""
        starts = sorted(part)
        if not self._searches:
            starts = starts[:1]
        found = []
        for node in starts:
            rest, cost = self.order([node], part, self._bound.nodes[node].cardinality)
            found.append((cost, [node, *rest]))
        return min(found)[1]

    # ------------------------------------------------------------------ all orders
    def _cheapest(
        self, first: frozenset[int], left: frozenset[int], rows: float
    ) -> tuple[list[int], float]:
        states: dict[frozenset[int], tuple[float, float, list[int]]] = {first: (rows, rows, [])}
        for _ in left:
            following: dict[frozenset[int], tuple[float, float, list[int]]] = {}
            for bound, (cost, before, order) in states.items():
                for node in sorted(left - bound):
                    if not self._links(node, bound):
                        continue
                    work, rate = self._level(node, bound)
                    state = cost + before * work, before * rate, [*order, node]
                    known = following.get(bound | {node})
                    if known is None or state < known:
                        following[bound | {node}] = state
            states = following
        (cost, _, order), *_ = states.values()
        return order, cost

    def _links(self, node: int, bound: frozenset[int]) -> list[tuple[BoundRelationship, int]]:
        return [link for link in self._at[node] if link[1] in bound]

    def _level(self, node: int, bound: frozenset[int]) -> tuple[float, float]:
        """The work per row, and the number of rows per row."""
        nodes, links = self._bound.nodes, self._links(node, bound)
        rates = [extension_rate(each, nodes[end]) for each, end in links]
        followed = min(range(len(links)), key=rates.__getitem__)
        closing = [
            closing_rate(each, nodes[each.source], nodes[each.target])
            for number, (each, _) in enumerate(links)
            if number != followed
        ]
        rate = rates[followed] * prod(closing)
        return rates[followed] * len(links) + rate, rate
