"""The order in which query nodes are added, from counted candidates.

More than 300 lines: the searches for an order stand beside the growth that they compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, overload

from gpugda.plan.cardinality import extension_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "Growth",
    "MostGrowth",
    "connected",
    "join_cost",
    "near_of",
    "node_order",
    "planned_order",
]

_MOST_STARTS = 6
"""Starts that are tried per component: those with the fewest candidates."""
NEAR = 1.5
"""Orders whose estimates differ by less are told apart by what they cost if degrees are uneven."""
_NEAR_UPWARDS = 8.0
"""The same where all relationships run to the node of higher degree: they are uneven there."""
_FEW = 1 << 14
"""Orders that cost less are not told apart: that takes longer than the join."""


class Growth:
    """For `node_order`: the estimate for the whole graph, in proportion to the candidates left."""

    def __init__(self, bound: BoundQuery, candidates: CandidateCounts) -> None:
        self._relationships = bound.relationships
        self._before = [max(each.cardinality, 1.0) for each in bound.nodes]
        self._left = [
            min(1.0, candidates.count(node) / before) for node, before in enumerate(self._before)
        ]

    def __call__(self, position: int, end: int) -> float:
        """Mean number of fitting relationships of a candidate of this end."""
        each = self._relationships[position]
        return each.cardinality * self._left[each.other_end(end)] / self._before[end]


class MostGrowth:
    """What it is where degrees are uneven.

    Either the candidates that are left have most relationships that fit, for having few is what
    others were left out for; or nodes that are met along relationships have more than the mean.
    """

    def __init__(self, bound: BoundQuery, candidates: CandidateCounts, graph: DataGraph) -> None:
        self._relationships = bound.relationships
        self._counts = [max(candidates.count(node), 1) for node in range(len(bound.nodes))]
        self._met = _GrowthOfMet(bound, graph)

    def __call__(self, position: int, end: int) -> float:
        """Fitting relationships of a candidate of this end."""
        each = self._relationships[position]
        return max(self._met(position, end), each.cardinality / self._counts[end])


class _GrowthOfMet:
    """Fitting relationships of a node that was met along one, by estimates of the plan."""

    def __init__(self, bound: BoundQuery, graph: DataGraph) -> None:
        self._bound = bound
        self._graph = graph
        self._skews: dict[tuple[tuple[int, ...] | None, bool | None], float] = {}

    def __call__(self, position: int, end: int) -> float:
        each = self._bound.relationships[position]
        kind = each.types, each.source == end if each.directed else None
        skew = self._skews.get(kind)
        if skew is None:
            skew = self._skews[kind] = self._skew(*kind)
        return skew * each.cardinality / max(self._bound.nodes[end].cardinality, 1.0)

    def _skew(self, types: tuple[int, ...] | None, outgoing: bool | None) -> float:
        """Of the lists that are followed; ``outgoing``: None for both directions."""
        return max(
            self._graph.skew(kind, outgoing=direction)
            for kind in types or (None,)
            for direction in ((True, False) if outgoing is None else (outgoing,))
        )


def node_order(
    bound: BoundQuery,
    node_count: Callable[[int], float],
    growth: Callable[[int, int], float],
    leaves: Collection[int] = (),
    comparisons: Collection[Comparison] = (),
    most_growth: Callable[[int, int], float] | None = None,
    near: float = NEAR,
) -> list[int]:
    """Component after component; in each the start and the greedy order of least estimated cost.

    Args:
        bound: The query.
        node_count: Candidates of a query node.
        growth: For a query relationship and one of its ends, the mean number of fitting
            relationships of a candidate of this end.
        leaves: Query nodes that are not to be added.
        comparisons: Of nodes, each leaves a share of the rows that have both.
        most_growth: As ``growth``, where degrees are uneven: decides between orders that cost about
            the same.
        near: So many times as much as the best one, at most.
    """
    estimate = _Estimate(bound, node_count, growth, leaves)
    for each in comparisons:
        estimate.compare(each)
    components = _components(bound, leaves)
    orders = [estimate.best(component) for component in components]
    if most_growth is not None and max((each.cost for each in orders), default=0.0) >= _FEW:
        most = _Estimate(bound, node_count, most_growth, leaves)
        orders = [
            min(estimate.near(component, best, most, near), key=most.cost)
            for component, best in zip(components, orders, strict=True)
        ]
    orders.sort(key=lambda order: (order.rows, order.nodes))
    return [node for order in orders for node in order.nodes]


def near_of(graph: DataGraph) -> float:
    """By which factor estimates for orders of this graph may be wrong."""
    return _NEAR_UPWARDS if graph.runs_upwards else NEAR


def planned_order(bound: BoundQuery) -> list[int]:
    """The order by the estimates of the plan, before candidates are counted."""
    nodes, relationships = bound.nodes, bound.relationships

    def growth(position: int, end: int) -> float:
        return extension_rate(relationships[position], nodes[end])

    return node_order(bound, lambda node: nodes[node].cardinality, growth)


def join_cost(bound: BoundQuery, graph: DataGraph, leaves: Collection[int] = ()) -> float:
    """Pairs and rows of the best order by the estimates of the plan, before anything is counted.

    Args:
        bound: The query.
        graph: Says how uneven degrees are.
        leaves: Query nodes with one relationship that are not to be added.
    """
    growth = _GrowthOfMet(bound, graph)
    estimate = _Estimate(bound, lambda node: bound.nodes[node].cardinality, growth, leaves)
    return sum(estimate.best(component).cost for component in _components(bound, leaves))


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
    cost: float
    rows: float
    nodes: tuple[int, ...]


class _Estimate:
    def __init__(
        self,
        bound: BoundQuery,
        node_count: Callable[[int], float],
        growth: Callable[[int, int], float],
        leaves: Collection[int],
    ) -> None:
        self._counts = [node_count(node) for node in range(len(bound.nodes))]
        # Of each node its neighbours, how many of them a candidate has in the mean, and which
        # share of all.
        self._adjacent: list[list[tuple[int, float, float]]] = [[] for _ in bound.nodes]
        left_out = set(leaves)
        for each in bound.relationships:
            source, target = each.source, each.target
            if source != target and source not in left_out and target not in left_out:
                self._add(source, target, growth(each.position, source))
                self._add(target, source, growth(each.position, target))
        # Of each node those that it is compared with, and which share of all pairs passes.
        self._compared: list[list[tuple[int, float]]] = [[] for _ in bound.nodes]
        self._has_comparisons = False

    def _add(self, node: int, other: int, neighbours: float) -> None:
        share = neighbours / (self._counts[other] or 1)
        self._adjacent[node].append((other, neighbours, share))

    def compare(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        if left.is_node and right.is_node:
            self._has_comparisons = True
            self._compared[left.position].append((right.position, comparison.selectivity))
            self._compared[right.position].append((left.position, comparison.selectivity))

    def best(self, component: list[int]) -> _Ordered:
        first, *others = sorted(component, key=lambda node: (self._counts[node], node))
        best = self._from(first, component)
        for start in others[: _MOST_STARTS - 1]:
            best = self._from(start, component, best) or best
        return best

    def near(
        self, component: list[int], best: _Ordered, most: _Estimate, near: float
    ) -> list[_Ordered]:
        """The best order, and those that cost little more.

        They have other starts, or are those that are best where degrees are uneven: of nodes that
        seem to be alike, what is reached along short lists comes first.
        """
        starts = sorted(component, key=lambda node: (self._counts[node], node))[:_MOST_STARTS]
        limit = _Ordered(near * best.cost, best.rows, best.nodes)
        found = [self._from(each, component, limit) for each in starts if each != best.nodes[0]]
        uneven = [self._judged(most._from(each, component).nodes) for each in starts]
        found += [each for each in uneven if each.cost < limit.cost]
        return [best, *(each for each in found if each is not None)]

    def cost(self, order: _Ordered) -> float:
        """What an order costs by these estimates."""
        return self._judged(order.nodes).cost

    def _judged(self, order: tuple[int, ...]) -> _Ordered:
        """An order that was found by others."""
        reached = {order[0]}
        rows = cost = float(self._counts[order[0]])
        for node in order[1:]:
            around = [each for each in self._adjacent[node] if each[0] in reached]
            back = [
                (growth, share)
                for other, _, _ in around
                for end, growth, share in self._adjacent[other]
                if end == node
            ]
            factor = (self._counts[node] or 1.0) * prod(min(share, 1.0) for _, share in back)
            cost += rows * (min(growth for growth, _ in back) + factor)
            rows *= factor
            reached.add(node)
        return _Ordered(cost, rows, order)

    @overload
    def _from(self, start: int, component: list[int]) -> _Ordered: ...

    @overload
    def _from(self, start: int, component: list[int], best: _Ordered) -> _Ordered | None: ...

    def _from(
        self, start: int, component: list[int], best: _Ordered | None = None
    ) -> _Ordered | None:
        """The order that begins there; None as soon as it is no cheaper than the best one."""
        order, rows = [start], float(self._counts[start])
        cost = rows
        if best is not None and not cost < best.cost:
            return None
        # Rows per row but those that cost much are late, pairs per row, rows per row, node.
        choices: dict[int, tuple[float, float, float, int]] = {}
        reached = {start}
        while len(order) < len(component):
            for other, growth, share in self._adjacent[order[-1]]:
                if other not in reached:
                    known = choices.get(other)
                    if known is None:
                        fewest, factor = growth, self._counts[other] or 1.0
                    else:
                        _, fewest, factor, _ = known
                        if growth < fewest:
                            fewest = growth
                    factor *= share
                    # Of equal growth, the node on which more hangs comes first.
                    choices[other] = factor + fewest * 1e-3, fewest, factor, other
            offers: Iterable[tuple[float, float, float, int]] = choices.values()
            if self._has_comparisons:
                offers = [self._compared_with(each, reached) for each in offers]
            _, pairs, factor, node = min(offers)
            cost += rows * (pairs + factor)
            if best is not None and not cost < best.cost:
                return None
            rows *= factor
            order.append(node)
            reached.add(node)
            del choices[node]
        return _Ordered(cost, rows, tuple(order))

    def _compared_with(
        self, choice: tuple[float, float, float, int], reached: Collection[int]
    ) -> tuple[float, float, float, int]:
        """A choice that knows what comparisons with nodes that are there leave."""
        _, fewest, factor, node = choice
        for other, share in self._compared[node]:
            factor *= share if other in reached else 1.0
        return factor + fewest * 1e-3, fewest, factor, node
