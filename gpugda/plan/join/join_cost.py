"""Cost of a join: tested pairs plus created rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join.join_rates import FURTHER_LINK_DAMPING, ROW_COST, combined_selectivity

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.join.join_rates import Corrections, RateKey, Rates
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["JoinCost", "links_among"]

_MIN_ROWS = 1e-3
"""Smaller row estimates count as this many, to avoid division by zero."""


def links_among(bound: BoundQuery, nodes: Sequence[int]) -> dict[int, list[BoundRelationship]]:
    """Per query node of a set, its relationships to other nodes of the set, without loops."""
    around: dict[int, list[BoundRelationship]] = {node: [] for node in nodes}
    for each in bound.relationships:
        if each.source in around and each.target in around and each.source != each.target:
            around[each.source].append(each)
            around[each.target].append(each)
    return around


class JoinCost:
    """Cost model of joining some query nodes in a given order.

    Args:
        bound: The pattern.
        order: The query nodes in join order.
        rates: The candidate counts and extension rates.
    """

    def __init__(self, bound: BoundQuery, order: Sequence[int], rates: Rates) -> None:
        self._order = order
        self._rates = rates
        self._around = links_among(bound, order)

    def of(self, counted: Set[int] = frozenset(), *, counts_last: bool = False) -> float:
        """Cost of the join, in tested pairs, if some nodes are only counted per row.

        ``counts_last``: True if no rows are created for the last node.
        """
        rows, cost = 1.0, 0.0
        bound_nodes, reached = set[int](), set[int]()
        waiting = set(counted)
        core = [node for node in self._order if node not in counted]
        for node in core:
            pairs, factor = self._added(node, bound_nodes, reached)
            is_made = node != core[-1] or not counts_last
            cost += rows * (pairs + (ROW_COST * factor if is_made else 0.0))
            rows *= factor
            if not waiting:
                continue
            ready = {
                each
                for each in waiting
                if all(link.other_end(each) in bound_nodes for link in self._around[each])
            }
            for each in ready:
                pairs, factor = self._step(each, self._around[each], reached)
                cost += rows * pairs
                rows *= min(1.0, factor)
                cost += rows * ROW_COST
            waiting -= ready
        return cost

    def rows(self, comparisons: Sequence[Comparison] = ()) -> list[float]:
        """Estimated rows after each node of the order."""
        nodes = [each for each in comparisons if each.left.is_node and each.right.is_node]
        rows, found = 1.0, list[float]()
        bound_nodes, reached = set[int](), set[int]()
        for node in self._order:
            rows *= self._added(node, bound_nodes, reached)[1]
            for each in nodes:
                ends = {each.left.position, each.right.position}
                rows *= each.selectivity if node in ends and ends <= bound_nodes else 1.0
            found.append(rows)
        return found

    def corrections(
        self, made: Sequence[int], comparisons: Sequence[Comparison] = ()
    ) -> Corrections:
        """Correction factors for the rates, from the rows that a run made after each node."""
        expected = self.rows(comparisons)
        found: dict[RateKey, float] = {}
        bound_nodes, reached = set[int](), set[int]()
        for number, node in enumerate(self._order):
            links = self._selecting(node, bound_nodes)
            before = number and made[number - 1] / max(expected[number - 1], _MIN_ROWS)
            ratio = made[number] / max(expected[number], _MIN_ROWS) / (before or 1.0)
            # The inverse of `combined_selectivity`, as if every relationship selected equally.
            correction = ratio ** (
                1 / (sum([FURTHER_LINK_DAMPING**each for each in range(len(links))]) or 1)
            )
            for each in links:
                other = each.other_end(node)
                found[each.position, other, other in reached] = correction
                if other not in reached:
                    found[each.position, node, False] = correction
            self._added(node, bound_nodes, reached)
        return {key: factor for key, factor in found.items() if factor > 0}

    def _selecting(self, node: int, bound_nodes: Set[int]) -> list[BoundRelationship]:
        """Relationships to bound nodes, without the implied ones."""
        links = [each for each in self._around[node] if each.other_end(node) in bound_nodes]
        return [each for each in links if each.position not in self._rates.implied]

    def _added(self, node: int, bound_nodes: set[int], reached: set[int]) -> tuple[float, float]:
        """Adds a node to the bound ones; returns tested pairs and rows out, each per row in."""
        links: list[BoundRelationship] = []
        others: list[int] = []
        for each in self._around[node]:  # without calls: a search adds thousands of nodes
            other = each.target if node == each.source else each.source
            if other in bound_nodes:
                links.append(each)
                others.append(other)
        found = self._step(node, links, reached)
        bound_nodes.add(node)
        if links:
            reached.add(node)
            reached.update(others)
        return found

    def _step(
        self, node: int, around: Sequence[BoundRelationship], reached: Set[int]
    ) -> tuple[float, float]:
        """Tested pairs and rows out, each per row in."""
        count = max(self._rates.counts[node], 1.0)
        if not around:
            return 0.0, count
        if len(around) == 1:  # most steps, and nothing is combined
            rate = self._rate(around[0], node, reached)
            return rate, rate / count * count if rate < count else count
        links = [each for each in around if each.position not in self._rates.implied]
        rates = [self._rate(each, node, reached) for each in links]
        fewest = min(rates)
        if len(rates) > 1 and any(each.other_end(node) not in reached for each in links):
            # The join starts here: the other rates apply to nodes reached along the base list.
            followed = rates.index(fewest)
            all_reached = {*reached, *(each.other_end(node) for each in links)}
            rates = [self._rate(each, node, all_reached) for each in links]
            rates[followed] = fewest
        shares = [rate / count for rate in rates]
        return fewest, count * combined_selectivity(shares)

    def _rate(self, each: BoundRelationship, node: int, reached: Set[int]) -> float:
        other = each.other_end(node)
        return self._rates.of(each.position, other, reached=other in reached)
