"""The best of all orders of a few query nodes, for joins that are large enough to compare them.

Rows of a set of query nodes are the same in whichever order they are joined: as many as the way
expects that expects the fewest, for other ways miss what selects.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from gpugda.plan.join_rates import COST_OF_ROW, kept_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    Adjacent = Sequence[Sequence[tuple[int, float, float]]]
    Compared = Sequence[Sequence[tuple[int, float]]]

__all__ = ["MOST_NODES", "SmallOrders"]

MOST_NODES = 5
"""There are up to 120 orders of five."""


class SmallOrders:
    """Of one component.

    Args:
        counts: Of each query node, its candidates.
        adjacent: Of each node its neighbours, and how many of them a candidate has in the mean, if
            the join starts there and if it was met.
        compared: Of each node those that it is compared with, and which share of all pairs passes.
        list_search: See `CountThresholds`.
    """

    def __init__(
        self, counts: Sequence[float], adjacent: Adjacent, compared: Compared, list_search: float
    ) -> None:
        self._counts = counts
        self._compared = compared
        self._list_search = list_search
        # Of two nodes, what leads from the first one to the second one.
        self._links: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for node, others in enumerate(adjacent):
            for other, first, met in others:
                self._links.setdefault((node, other), []).append((first, met))
        self._rows: dict[frozenset[int], float] = {}

    def best(self, component: Sequence[int]) -> tuple[int, ...]:
        """Nodes in the order of least cost."""
        self._least, self._found = inf, tuple(component)
        for node in sorted(component, key=lambda each: (self._counts[each], each)):
            self._go_on((node,), self._counts[node] * COST_OF_ROW, frozenset(component) - {node})
        return self._found

    def _go_on(self, order: tuple[int, ...], cost: float, left: frozenset[int]) -> None:
        if cost >= self._least:
            return
        if not left:
            self._least, self._found = cost, order
            return
        rows = self._rows_of(frozenset(order))
        for node in left:
            pairs = self._pairs(order, node)
            if pairs is None:
                continue
            # All orders make the same rows in the end.
            made = self._rows_of(frozenset((*order, node))) if len(left) > 1 else 0.0
            self._go_on((*order, node), cost + rows * pairs + COST_OF_ROW * made, left - {node})

    def _pairs(self, order: tuple[int, ...], node: int) -> float | None:
        """Entries per row at which this step looks: of the node that came last."""
        place = int(len(order) > 1)
        found = [each[place] for other in order for each in self._links.get((other, node), ())]
        if not found:
            return None
        last = found.pop()
        return min(last, self._list_search * min(found)) if found else last

    def _rows_of(self, nodes: frozenset[int]) -> float:
        found = self._rows.get(nodes)
        if found is None:
            found = self._rows[nodes] = min(self._ways(nodes), default=inf)
        return found

    def _ways(self, nodes: frozenset[int]) -> list[float]:
        """Rows, by the node that comes last."""
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
        factor = count * kept_share(shares)
        for other, share in self._compared[node]:
            if other in before:
                factor *= share
        return factor
