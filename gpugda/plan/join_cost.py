"""Cost of a join: tested pairs plus created rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join_rates import COST_OF_ROW, EACH_FURTHER, kept_share

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.join_rates import Corrections, RateKey, Rates
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["JoinCost", "links_among"]

_LEAST = 1e-3
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
        reached, met = set[int](), set[int]()
        waiting = set(counted)
        core = [node for node in self._order if node not in counted]
        for node in core:
            pairs, factor = self._added(node, reached, met)
            is_made = node != core[-1] or not counts_last
            cost += rows * (pairs + (COST_OF_ROW * factor if is_made else 0.0))
            rows *= factor
            ready = {
                each
                for each in waiting
                if all(link.other_end(each) in reached for link in self._around[each])
            }
            for each in ready:
                pairs, factor = self._step(each, self._around[each], met)
                cost += rows * pairs
                rows *= min(1.0, factor)
                cost += rows * COST_OF_ROW
            waiting -= ready
        return cost

    def rows(self, comparisons: Sequence[Comparison] = ()) -> list[float]:
        """Estimated rows after each node of the order."""
        nodes = [each for each in comparisons if each.left.is_node and each.right.is_node]
        rows, found = 1.0, list[float]()
        reached, met = set[int](), set[int]()
        for node in self._order:
            rows *= self._added(node, reached, met)[1]
            for each in nodes:
                ends = {each.left.position, each.right.position}
                rows *= each.selectivity if node in ends and ends <= reached else 1.0
            found.append(rows)
        return found

    def corrections(
        self, made: Sequence[int], comparisons: Sequence[Comparison] = ()
    ) -> Corrections:
        """Correction factors for the rates, from the rows that a run made after each node."""
        expected = self.rows(comparisons)
        found: dict[RateKey, float] = {}
        reached, met = set[int](), set[int]()
        for number, node in enumerate(self._order):
            links = self._selecting(node, reached)
            before = number and made[number - 1] / max(expected[number - 1], _LEAST)
            ratio = made[number] / max(expected[number], _LEAST) / (before or 1.0)
            # The inverse of `kept_share`, as if every relationship selected equally.
            each_one = ratio ** (1 / (sum([EACH_FURTHER**each for each in range(len(links))]) or 1))
            for each in links:
                other = each.other_end(node)
                found[each.position, other, other in met] = each_one
                if other not in met:
                    found[each.position, node, False] = each_one
            self._added(node, reached, met)
        return {key: factor for key, factor in found.items() if factor > 0}

    def _selecting(self, node: int, reached: Set[int]) -> list[BoundRelationship]:
        """Relationships to bound nodes, without the implied ones."""
        links = [each for each in self._around[node] if each.other_end(node) in reached]
        return [each for each in links if each.position not in self._rates.implied]

    def _added(self, node: int, reached: set[int], met: set[int]) -> tuple[float, float]:
        """Adds a node to the bound ones; returns tested pairs and rows out, each per row in."""
        links = [each for each in self._around[node] if each.other_end(node) in reached]
        found = self._step(node, links, met)
        reached.add(node)
        if links:
            met.add(node)
            met.update([each.other_end(node) for each in links])
        return found

    def _step(
        self, node: int, around: Sequence[BoundRelationship], met: Set[int]
    ) -> tuple[float, float]:
        """Tested pairs and rows out, each per row in."""
        count = max(self._rates.counts[node], 1.0)
        if not around:
            return 0.0, count
        links = [each for each in around if each.position not in self._rates.implied]
        growths = [self._growth(each, node, met) for each in links]
        fewest = min(growths)
        if len(growths) > 1 and any(each.other_end(node) not in met for each in links):
            # At the start of the join: the other rates apply to nodes reached along the base list.
            followed = growths.index(fewest)
            there = {*met, *(each.other_end(node) for each in links)}
            growths = [self._growth(each, node, there) for each in links]
            growths[followed] = fewest
        shares = [growth / count for growth in growths]
        return fewest, count * kept_share(shares)

    def _growth(self, each: BoundRelationship, node: int, met: Set[int]) -> float:
        other = each.other_end(node)
        return self._rates.of(each.position, other, met=other in met)
