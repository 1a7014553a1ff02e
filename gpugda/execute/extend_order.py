"""The order in which query nodes are added, from counted candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gpugda.execute.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery

__all__ = ["node_order"]

_MOST_STARTS = 6
"""Starts that are tried per component: those with the fewest candidates."""


def node_order(
    bound: BoundQuery,
    node_count: Callable[[int], int],
    growth: Callable[[int, int], float],
    leaves: Collection[int] = (),
    comparisons: Collection[Comparison] = (),
) -> list[int]:
    """Component after component; in each the start and the greedy order of least estimated cost.

    Args:
        bound: The query.
        node_count: Candidates of a query node.
        growth: For a query relationship and one of its ends, the mean number of fitting
            relationships of a candidate of this end.
        leaves: Query nodes with one relationship that are not to be added.
        comparisons: Of nodes, each leaves a share of the rows that have both.
    """
    estimate = _Estimate(bound, node_count, growth, leaves)
    for each in comparisons:
        estimate.compare(each)
    orders = [estimate.best(component) for component in _components(bound, leaves)]
    orders.sort(key=lambda order: (order.rows, order.nodes))
    return [node for order in orders for node in order.nodes]


def _components(bound: BoundQuery, leaves: Collection[int]) -> list[list[int]]:
    group = list(range(len(bound.nodes)))
    for each in bound.relationships:
        old, new = group[each.source], group[each.target]
        group = [new if number == old else number for number in group]
    return [
        [node for node, number in enumerate(group) if number == wanted and node not in leaves]
        for wanted in dict.fromkeys(group)
    ]


@dataclass(frozen=True, slots=True)
class _Ordered:
    cost: float
    rows: float
    nodes: tuple[int, ...]


class _Estimate:
    def __init__(
        self,
        bound: BoundQuery,
        node_count: Callable[[int], int],
        growth: Callable[[int, int], float],
        leaves: Collection[int],
    ) -> None:
        self._counts = [node_count(node) for node in range(len(bound.nodes))]
        # Of each node its neighbours, and how many of them a candidate has in the mean.
        self._adjacent: list[list[tuple[int, float]]] = [[] for _ in bound.nodes]
        left_out = set(leaves)
        for each in bound.relationships:
            ends = (each.source, each.target)
            if each.source != each.target and left_out.isdisjoint(ends):
                for node, other in (ends, ends[::-1]):
                    self._adjacent[node].append((other, growth(each.position, node)))

        # Of each node those that it is compared with, and which share of all pairs passes.
        self._compared: list[list[tuple[int, float]]] = [[] for _ in bound.nodes]

    def compare(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        if left.is_node and right.is_node:
            self._compared[left.position].append((right.position, comparison.selectivity))
            self._compared[right.position].append((left.position, comparison.selectivity))

    def best(self, component: list[int]) -> _Ordered:
        starts = sorted(component, key=lambda node: (self._counts[node], node))
        return min(
            (self._from(start, component) for start in starts[:_MOST_STARTS]),
            key=lambda each: each.cost,
        )

    def _from(self, start: int, component: list[int]) -> _Ordered:
        order, rows = [start], float(self._counts[start])
        cost = rows
        growths: dict[int, list[float]] = {}
        reached = {start}
        while len(order) < len(component):
            for other, growth in self._adjacent[order[-1]]:
                if other not in reached:
                    growths.setdefault(other, []).append(growth)
            choices = (self._choice(node, each, reached) for node, each in growths.items())
            _, pairs, factor, node = min(choices)
            cost += rows * (pairs + factor)
            rows *= factor
            order.append(node)
            reached.add(node)
            del growths[node]
        return _Ordered(cost, rows, tuple(order))

    def _choice(
        self, node: int, growths: list[float], reached: Collection[int]
    ) -> tuple[float, float, float, int]:
        """(rows per row but those that cost much are late, pairs per row, rows per row, node)."""
        count = max(self._counts[node], 1)
        factor, fewest = float(count), min(growths)
        for growth in growths:
            factor *= growth / count
        for other, share in self._compared[node]:
            factor *= share if other in reached else 1.0
        # Of equal growth, the node on which more hangs comes first.
        return factor + fewest * 1e-3, fewest, factor, node
