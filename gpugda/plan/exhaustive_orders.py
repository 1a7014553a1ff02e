"""Exhaustive search of join orders for a few query nodes, for joins large enough to pay for it.

The estimated rows of a set of query nodes are independent of the join order: the smallest estimate
of all orders is taken, as the others miss selective relationships.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from gpugda.plan.join_rates import ROW_COST, combined_selectivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    Adjacent = Sequence[Sequence[tuple[int, float, float]]]
    Compared = Sequence[Sequence[tuple[int, float]]]

__all__ = ["MAX_NODES", "ExhaustiveOrders"]

MAX_NODES = 5
"""Five nodes have up to 120 orders."""


class ExhaustiveOrders:
    """Exhaustive order search in one component.

    Args:
        counts: Candidates per query node.
        adjacent: Per node: (neighbour, mean degree of all candidates, mean degree of candidates
            that were reached along another relationship). The first applies at the join's start.
        compared: Per node: (compared node, selectivity).
        list_search: See `CountThresholds`.
    """

    def __init__(
        self, counts: Sequence[float], adjacent: Adjacent, compared: Compared, list_search: float
    ) -> None:
        self._counts = counts
        self._compared = compared
        self._list_search = list_search
        # (degree, degree if reached) of the relationships from a first node to a second node.
        self._links: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for node, others in enumerate(adjacent):
            for other, first, if_reached in others:
                self._links.setdefault((node, other), []).append((first, if_reached))
        self._rows: dict[frozenset[int], float] = {}

    def best(self, component: Sequence[int]) -> tuple[int, ...]:
        """The nodes in the cheapest order."""
        self._lowest_cost, self._best_order = inf, tuple(component)
        for node in sorted(component, key=lambda each: (self._counts[each], each)):
            self._extend((node,), self._counts[node] * ROW_COST, frozenset(component) - {node})
        return self._best_order

    def _extend(self, order: tuple[int, ...], cost: float, remaining: frozenset[int]) -> None:
        if cost >= self._lowest_cost:
            return
        if not remaining:
            self._lowest_cost, self._best_order = cost, order
            return
        rows = self._rows_of(frozenset(order))
        for node in remaining:
            pairs = self._pairs(order, node)
            if pairs is None:
                continue
            # All orders produce the same final rows, so these do not count.
            made = self._rows_of(frozenset((*order, node))) if len(remaining) > 1 else 0.0
            self._extend((*order, node), cost + rows * pairs + ROW_COST * made, remaining - {node})

    def _pairs(self, order: tuple[int, ...], node: int) -> float | None:
        """List entries that this step reads per row: the list of the last bound node."""
        place = int(len(order) > 1)
        found = [each[place] for other in order for each in self._links.get((other, node), ())]
        if not found:
            return None
        last = found.pop()
        return min(last, self._list_search * min(found)) if found else last

    def _rows_of(self, nodes: frozenset[int]) -> float:
        found = self._rows.get(nodes)
        if found is None:
            found = self._rows[nodes] = min(self._row_estimates(nodes), default=inf)
        return found

    def _row_estimates(self, nodes: frozenset[int]) -> list[float]:
        """Row estimates, one for each node that can come last."""
        if len(nodes) == 1:
            return [self._counts[each] for each in nodes]
        found = []
        for node in nodes:
            before = nodes - {node}
            if any((other, node) in self._links for other in before):
                found.append(self._rows_of(before) * self._factor(before, node))
        return found

    def _factor(self, before: frozenset[int], node: int) -> float:
        count, place = self._counts[node] or 1.0, int(len(before) > 1)
        shares = [
            each[place or number > 0] / count
            for other in before
            for number, each in enumerate(self._links.get((other, node), ()))
        ]
        factor = count * combined_selectivity(shares)
        for other, share in self._compared[node]:
            if other in before:
                factor *= share
        return factor
