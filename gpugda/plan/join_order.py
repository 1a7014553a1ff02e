"""The order in which query nodes are added, from counted candidates."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, prod
from typing import TYPE_CHECKING, Final, overload

from gpugda.caching import LruCache
from gpugda.plan.join_rates import Rates, kept_share
from gpugda.plan.small_orders import MOST_NODES, SmallOrders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "connected",
    "join_cost",
    "node_order",
    "planned_order",
]

_MOST_STARTS = 6
"""Starts that are tried per component: those with the fewest candidates."""
_orders: Final[LruCache[object, tuple[int, ...]]] = LruCache(512)
"""By all that they hang on: new texts often have other names only."""


def node_order(
    bound: BoundQuery,
    rates: Rates,
    leaves: Collection[int] = (),
    comparisons: Collection[Comparison] = (),
) -> list[int]:
    """Component after component; in each the start and the greedy order of least estimated cost.

    Args:
        bound: The query.
        rates: How many there are of what.
        leaves: Query nodes that are not to be added.
        comparisons: Of nodes, each leaves a share of the rows that have both.
    """
    estimate = _Estimate(bound, rates, leaves)
    for each in comparisons:
        estimate.compare(each)
    components = _components(bound, leaves)

    def found() -> tuple[int, ...]:
        orders = [estimate.best(component) for component in components]
        orders.sort(key=lambda order: (order.rows, order.nodes))
        return tuple([node for order in orders for node in order.nodes])

    return list(_orders.get((tuple(map(tuple, components)), estimate.key()), found))


def planned_order(bound: BoundQuery) -> list[int]:
    """The order by the estimates of the plan, before candidates are counted."""
    return node_order(bound, Rates(bound))


def join_cost(bound: BoundQuery, leaves: Collection[int] = ()) -> float:
    """Pairs and rows of the best order by the estimates of the plan, before anything is counted.

    Args:
        bound: The query.
        leaves: Query nodes with one relationship that are not to be added.
    """
    estimate = _Estimate(bound, Rates(bound), leaves)
    orders = [estimate.best(component) for component in _components(bound, leaves)]
    return sum(each.cost + 2 * each.rows for each in orders)


def _components(bound: BoundQuery, leaves: Collection[int]) -> list[list[int]]:
    pairs = ((each.source, each.target) for each in bound.relationships)
    components = connected(len(bound.nodes), pairs)
    left = ([node for node in each if node not in leaves] for each in components)
    return [each for each in left if each]


def connected(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The numbers 0 … count-1, rising, those together that pairs connect."""
    members = [[number] for number in range(count)]  # of the part that each number is in
    for one, other in pairs:
        part, joined = members[one], members[other]
        if part is not joined:
            part += joined
            for number in joined:
                members[number] = part
    return [sorted(part) for part in {id(each): each for each in members}.values()]


@dataclass(frozen=True, slots=True)
class _Ordered:
    """An order; the cost is that of its pairs and rows but for the last rows."""

    cost: float
    rows: float
    nodes: tuple[int, ...]


class _Estimate:
    def __init__(self, bound: BoundQuery, rates: Rates, leaves: Collection[int]) -> None:
        self._counts = rates.counts
        self._list_search, self._order_pairs = rates.list_search, rates.order_pairs
        # Of each node its neighbours, and how many of them a candidate has in the mean, if the join
        # starts there and if it was met.
        self._adjacent: list[list[tuple[int, float, float]]] = [[] for _ in bound.nodes]
        left_out = {*leaves}
        for each in bound.relationships:
            source, target = each.source, each.target
            if source == target or each.position in rates.implied:
                continue
            if source not in left_out and target not in left_out:
                at_source, at_target = rates.at_ends[each.position]
                self._adjacent[source].append((target, *at_source))
                self._adjacent[target].append((source, *at_target))
        # Of each node those that it is compared with, and which share of all pairs passes.
        self._compared: list[list[tuple[int, float]]] = [[] for _ in bound.nodes]
        self._has_comparisons = False

    def compare(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        if left.is_node and right.is_node:
            self._has_comparisons = True
            self._compared[left.position].append((right.position, comparison.selectivity))
            self._compared[right.position].append((left.position, comparison.selectivity))

    def key(self) -> object:
        """The same of two that find the same orders of the same components."""
        return (
            tuple(self._counts),
            tuple(map(tuple, self._adjacent)),
            tuple(map(tuple, self._compared)),
            self._list_search,
            self._order_pairs,
        )

    def best(self, component: list[int]) -> _Ordered:
        first, *others = sorted(component, key=lambda node: (self._counts[node], node))
        best = self._from(first, component)
        for start in others[: _MOST_STARTS - 1]:
            best = self._from(start, component, best) or best
        if self._compares_all(component, best.cost):
            orders = SmallOrders(self._counts, self._adjacent, self._compared, self._list_search)
            return _Ordered(best.cost, best.rows, orders.best(component))
        return best

    def _compares_all(self, component: list[int], cost: float) -> bool:
        """Are there few nodes, in cycles, and would joining them take far longer?"""
        size = len(component)
        if size > MOST_NODES or cost < self._order_pairs * factorial(size):
            return False
        pairs = sum([len({each[0] for each in self._adjacent[node]}) for node in component])
        return pairs >= 2 * size

    @overload
    def _from(self, start: int, component: list[int]) -> _Ordered: ...

    @overload
    def _from(self, start: int, component: list[int], best: _Ordered) -> _Ordered | None: ...

    def _from(
        self, start: int, component: list[int], best: _Ordered | None = None
    ) -> _Ordered | None:
        """The order that begins there; None as soon as it is no cheaper than the best one."""
        order, rows, size = [start], float(self._counts[start]), len(component)
        cost = rows
        if best is not None and not cost < best.cost:
            return None
        reached = {start}
        shares: dict[int, list[float]] = {}  # of what each relationship to a node leaves
        # Rows per row but those that cost much are late, pairs per row, rows per row, node.
        choices: dict[int, tuple[float, float, float, int]] = {}
        self._reach(start, 1, reached, shares, choices)
        for joined in range(2, size + 1):
            offers: Iterable[tuple[float, float, float, int]] = choices.values()
            if self._has_comparisons:
                offers = [self._compared_with(each, reached) for each in offers]
            _, pairs, factor, node = min(offers)
            # All orders make the same rows in the end, whatever is expected of them.
            cost += rows * (max(pairs - factor, 0.0) if joined == size else pairs + factor)
            if best is not None and not cost < best.cost:
                return None
            rows *= factor
            order.append(node)
            reached.add(node)
            if joined == 2:  # who led to others has as many as nodes that were met
                shares, choices = {}, {}
                self._reach(start, 2, reached, shares, choices)
            else:
                del choices[node]
            self._reach(node, 2, reached, shares, choices)
        return _Ordered(cost, rows, tuple(order))

    def _reach(
        self,
        node: int,
        place: int,
        reached: Collection[int],
        shares: dict[int, list[float]],
        choices: dict[int, tuple[float, float, float, int]],
    ) -> None:
        """What can be added now that a node is there; ``place``: of its growths that count."""
        for each in self._adjacent[node]:
            other, growth = each[0], each[place]
            if other in reached:
                continue
            count = self._counts[other] or 1.0
            share = growth / count if growth < count else 1.0
            known = shares.get(other)
            # Of nodes that lead to as many rows, the one that most relationships select, for it
            # cannot lead to many more; of equal ones that on which more hangs.
            if known is None:
                shares[other] = [share]
                factor = by_chance = count * share
            else:
                # A start that one relationship is followed from was met along it.
                known.append(share if place == 2 else min(each[2] / count, 1.0))
                fewest = choices[other][1]
                if fewest < growth:
                    growth = fewest
                factor, by_chance = count * kept_share(known), count * prod(known)
            choices[other] = by_chance + growth * 1e-3, growth, factor, other

    def _compared_with(
        self, choice: tuple[float, float, float, int], reached: Collection[int]
    ) -> tuple[float, float, float, int]:
        """A choice that knows what comparisons with nodes that are there leave."""
        key, fewest, factor, node = choice
        for other, share in self._compared[node]:
            if other in reached:
                key, factor = key * share, factor * share
        return key, fewest, factor, node
