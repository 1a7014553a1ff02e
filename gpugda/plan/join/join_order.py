"""Exhaustive search of join orders for a few query nodes, for joins large enough to pay for it.

The estimated rows of a set of query nodes are independent of the join order: the smallest estimate
of all orders is taken, as the others miss selective relationships.
"""

from __future__ import annotations

from math import factorial, inf, prod
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from gpugda.caching import LruCache
from gpugda.plan.join.join_rates import ROW_COST, Rates, combined_selectivity
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery

    Adjacent = Sequence[Sequence[tuple[int, float, float]]]
    Compared = Sequence[Sequence[tuple[int, float]]]

__all__ = [
    "MAX_NODES",
    "ExhaustiveOrders",
    "Order",
    "best_order",
    "connected_components",
    "join_cost",
    "node_order",
    "planned_order",
]

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


class Order(NamedTuple):
    """Query nodes in join order.

    Args:
        cost: Estimated pairs and rows of the join, without the rows of the last node.
        nodes: The query nodes.
    """

    cost: float
    nodes: tuple[int, ...]


_MAX_STARTS = 6
"""Start nodes tried per component: those with the fewest candidates."""
_orders: Final[LruCache[object, Order]] = LruCache(512)
"""Orders by everything that determines them: new query texts often differ only in names."""


def node_order(
    bound: BoundQuery,
    rates: Rates,
    leaves: Collection[int] = (),
    comparisons: Collection[Comparison] = (),
) -> list[int]:
    """The nodes of `best_order`; a list of the caller's own."""
    return list(best_order(bound, rates, leaves, comparisons).nodes)


def best_order(
    bound: BoundQuery,
    rates: Rates,
    leaves: Collection[int] = (),
    comparisons: Collection[Comparison] = (),
) -> Order:
    """Orders the nodes component by component, each by its cheapest start with greedy extension.

    Args:
        bound: The query.
        rates: The candidate counts and extension rates.
        leaves: Query nodes to leave out of the order.
        comparisons: Comparisons; one between two nodes reduces the rows by its selectivity.
    """
    estimate = _Estimate(bound, rates, leaves)
    for each in comparisons:
        estimate.compare(each)
    components = _components(bound, leaves)

    def found() -> Order:
        orders = [estimate.best(component) for component in components]
        orders.sort(key=lambda order: (order.rows, order.nodes))
        rows, cost = 1.0, 0.0
        for order in orders:
            cost += rows * order.cost
            rows *= order.rows
        return Order(cost, tuple([node for order in orders for node in order.nodes]))

    return _orders.get((tuple(map(tuple, components)), estimate.key()), found)


def planned_order(bound: BoundQuery) -> list[int]:
    """The order by the plan's estimates, before candidates are counted."""
    return node_order(bound, Rates(bound))


def join_cost(bound: BoundQuery, leaves: Collection[int] = ()) -> float:
    """Cost (pairs and rows) of the best order by the plan's estimates, before anything is counted.

    Args:
        bound: The query.
        leaves: Query nodes with one relationship to leave out of the order.
    """
    estimate = _Estimate(bound, Rates(bound), leaves)
    orders = [estimate.best(component) for component in _components(bound, leaves)]
    return sum(each.cost + 2 * each.rows for each in orders)


def _components(bound: BoundQuery, leaves: Collection[int]) -> list[list[int]]:
    """Components of the ordered nodes: parts that are left out may have connected them."""
    left_out = {*leaves}
    pairs = [
        (each.source, each.target)
        for each in bound.relationships
        if each.source not in left_out and each.target not in left_out
    ]
    components = connected_components(len(bound.nodes), pairs)
    return [each for each in components if each[0] not in left_out]


def connected_components(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Connected components of the numbers 0 … count-1 under the given pairs, each sorted."""
    members = [[number] for number in range(count)]  # the component of each number
    for one, other in pairs:
        part, joined = members[one], members[other]
        if part is not joined:
            part += joined
            for number in joined:
                members[number] = part
    return [sorted(part) for part in {id(each): each for each in members}.values()]


@value(frozen=True, slots=True)
class _Ordered:
    """An order with its cost: its pairs and rows, without the rows of the last node."""

    cost: float
    rows: float
    nodes: tuple[int, ...]


class _Estimate:
    def __init__(self, bound: BoundQuery, rates: Rates, leaves: Collection[int]) -> None:
        self._counts = rates.counts
        self._list_search, self._order_pairs = rates.list_search, rates.order_pairs
        # Per node: (neighbour, mean degree of all candidates, mean degree of candidates that were
        # reached along another relationship). The first rate applies where the join starts.
        self._adjacent: list[list[tuple[int, float, float]]] = [[] for _ in bound.nodes]
        left_out = {*leaves}
        for each in bound.relationships:
            source, target = each.source, each.target
            if source == target or each.position in rates.implied:
                continue
            if source not in left_out and target not in left_out:
                at_source, at_target = rates.end_rates[each.position]
                self._adjacent[source].append((target, *at_source))
                self._adjacent[target].append((source, *at_target))
        # Per node: (compared node, selectivity).
        self._compared: list[list[tuple[int, float]]] = [[] for _ in bound.nodes]
        self._has_comparisons = False

    def compare(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        if left.is_node and right.is_node:
            self._has_comparisons = True
            self._compared[left.position].append((right.position, comparison.selectivity))
            self._compared[right.position].append((left.position, comparison.selectivity))

    def key(self) -> object:
        """Cache key: equal keys give equal orders for equal components."""
        return (
            tuple(self._counts),
            tuple(map(tuple, self._adjacent)),
            tuple(map(tuple, self._compared)),
            self._list_search,
            self._order_pairs,
        )

    def best(self, component: list[int]) -> _Ordered:
        first, *others = sorted(component, key=lambda node: (self._counts[node], node))
        best = self._greedy_from(first, component)
        for start in others[: _MAX_STARTS - 1]:
            best = self._greedy_from(start, component, best) or best
        if self._should_try_all(component, best.cost):
            orders = ExhaustiveOrders(
                self._counts, self._adjacent, self._compared, self._list_search
            )
            return _Ordered(best.cost, best.rows, orders.best(component))
        return best

    def _should_try_all(self, component: list[int], cost: float) -> bool:
        """True if the nodes are few, lie on cycles, and the join costs far more than the search."""
        size = len(component)
        if size > MAX_NODES or cost < self._order_pairs * factorial(size):
            return False
        pairs = sum([len({each[0] for each in self._adjacent[node]}) for node in component])
        return pairs >= 2 * size

    @overload
    def _greedy_from(self, start: int, component: list[int]) -> _Ordered: ...

    @overload
    def _greedy_from(self, start: int, component: list[int], best: _Ordered) -> _Ordered | None: ...

    def _greedy_from(
        self, start: int, component: list[int], best: _Ordered | None = None
    ) -> _Ordered | None:
        """The greedy order from a start node; None once its cost reaches that of the best order."""
        order, rows, size = [start], float(self._counts[start]), len(component)
        cost = rows
        if best is not None and not cost < best.cost:
            return None
        bound_nodes = {start}
        shares: dict[int, list[float]] = {}  # selectivity of each relationship to a node
        # (rank, tested pairs per row, rows out per row, node); a high pair cost raises the rank.
        choices: dict[int, tuple[float, float, float, int]] = {}
        self._update_choices(start, 1, bound_nodes, shares, choices)
        for joined in range(2, size + 1):
            offers: Iterable[tuple[float, float, float, int]] = choices.values()
            if self._has_comparisons:
                offers = [self._compared_with(each, bound_nodes) for each in offers]
            _, pairs, factor, node = min(offers)
            # All orders produce the same final rows, so these do not count.
            cost += rows * (max(pairs - factor, 0.0) if joined == size else pairs + factor)
            if best is not None and not cost < best.cost:
                return None
            rows *= factor
            order.append(node)
            bound_nodes.add(node)
            if joined == 2:  # the start node now has the rate of a reached node
                shares, choices = {}, {}
                self._update_choices(start, 2, bound_nodes, shares, choices)
            else:
                del choices[node]
            self._update_choices(node, 2, bound_nodes, shares, choices)
        return _Ordered(cost, rows, tuple(order))

    def _update_choices(
        self,
        node: int,
        place: int,
        bound_nodes: Collection[int],
        shares: dict[int, list[float]],
        choices: dict[int, tuple[float, float, float, int]],
    ) -> None:
        """Updates the choices after a node was bound; ``place``: index of the rate that applies."""
        for each in self._adjacent[node]:
            other, growth = each[0], each[place]
            if other in bound_nodes:
                continue
            count = self._counts[other] or 1.0
            share = growth / count if growth < count else 1.0
            known = shares.get(other)
            # Among nodes with equal rows, prefer the one that most relationships select, as its
            # estimate is the safest; then the one that unlocks more relationships.
            if known is None:
                shares[other] = [share]
                factor = by_chance = count * share
            else:
                # The base list of a start node was followed, so the start counts as reached.
                known.append(share if place == 2 else min(each[2] / count, 1.0))
                fewest = choices[other][1]
                if fewest < growth:
                    growth = fewest
                factor, by_chance = count * combined_selectivity(known), count * prod(known)
            choices[other] = by_chance + growth * 1e-3, growth, factor, other

    def _compared_with(
        self, choice: tuple[float, float, float, int], bound_nodes: Collection[int]
    ) -> tuple[float, float, float, int]:
        """A choice with the selectivity of comparisons to bound nodes applied."""
        key, fewest, factor, node = choice
        for other, share in self._compared[node]:
            if other in bound_nodes:
                key, factor = key * share, factor * share
        return key, fewest, factor, node
