"""The order in which query nodes are added, from counted candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["node_order"]

_MOST_STARTS = 6
"""Starts that are tried per component: those with the fewest candidates."""


def node_order(
    bound: BoundQuery,
    node_count: Callable[[int], int],
    growth: Callable[[int, int], float],
    leaves: Collection[int] = (),
) -> list[int]:
    """Component after component; in each the start and the greedy order of least estimated cost.

    Args:
        bound: The query.
        node_count: Candidates of a query node.
        growth: For a query relationship and one of its ends, the mean number of fitting
            relationships of a candidate of this end.
        leaves: Query nodes with one relationship that are not to be added.
    """
    estimate = _Estimate(bound, node_count, growth, leaves)
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
        self._node_count = node_count
        self._growth = growth
        self._adjacent: list[list[tuple[int, BoundRelationship]]] = [[] for _ in bound.nodes]
        for each in bound.relationships:
            if each.source != each.target and not {each.source, each.target} & {*leaves}:
                self._adjacent[each.source].append((each.target, each))
                self._adjacent[each.target].append((each.source, each))

    def best(self, component: list[int]) -> _Ordered:
        starts = sorted(component, key=lambda node: (self._node_count(node), node))
        return min(
            (self._from(start, component) for start in starts[:_MOST_STARTS]),
            key=lambda each: each.cost,
        )

    def _from(self, start: int, component: list[int]) -> _Ordered:
        order, rows = [start], float(self._node_count(start))
        cost = rows
        while len(order) < len(component):
            _, pairs, factor, node = min(self._choices(order))
            cost += rows * (pairs + factor)
            rows *= factor
            order.append(node)
        return _Ordered(cost, rows, tuple(order))

    def _choices(self, order: list[int]) -> list[tuple[float, float, float, int]]:
        """(rows per row but those that cost much are late, pairs per row, rows per row, node)."""
        reached = set(order)
        choices = []
        for node, adjacent in enumerate(self._adjacent):
            growths = [
                self._growth(each.position, other) for other, each in adjacent if other in reached
            ]
            if node in reached or not growths:
                continue
            count = max(self._node_count(node), 1)
            factor = float(count)
            for growth in growths:
                factor *= growth / count
            # Of equal growth, the node on which more hangs comes first.
            choices.append((factor + min(growths) * 1e-3, min(growths), factor, node))
        return choices
