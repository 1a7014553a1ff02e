"""What a join costs: pairs that are tested, and rows that are made."""

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
"""Fewer rows are not told apart from none."""


def links_among(bound: BoundQuery, nodes: Sequence[int]) -> dict[int, list[BoundRelationship]]:
    """Of each of some query nodes, its relationships to others of them."""
    around: dict[int, list[BoundRelationship]] = {node: [] for node in nodes}
    for each in bound.relationships:
        if each.source in around and each.target in around and each.source != each.target:
            around[each.source].append(each)
            around[each.target].append(each)
    return around


class JoinCost:
    """Of some query nodes, in an order.

    Args:
        bound: The pattern.
        order: Of the nodes.
        rates: How many there are of what.
    """

    def __init__(self, bound: BoundQuery, order: Sequence[int], rates: Rates) -> None:
        self._order = order
        self._rates = rates
        self._around = links_among(bound, order)

    def of(self, counted: Set[int] = frozenset(), *, counts_last: bool = False) -> float:
        """What the join costs where some of the nodes are only counted per row.

        ``counts_last``: No rows of the last node are made.
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
        """Rows after each node of the order."""
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
        """What rates lack or have too much where a run made so many rows after each node."""
        expected = self.rows(comparisons)
        found: dict[RateKey, float] = {}
        reached, met = set[int](), set[int]()
        for number, node in enumerate(self._order):
            links = self._selecting(node, reached)
            before = number and made[number - 1] / max(expected[number - 1], _LEAST)
            ratio = made[number] / max(expected[number], _LEAST) / (before or 1.0)
            # As in `kept_share`, where all of them select.
            each_one = ratio ** (1 / (sum([EACH_FURTHER**each for each in range(len(links))]) or 1))
            for each in links:
                other = each.other_end(node)
                found[each.position, other, other in met] = each_one
                if other not in met:
                    found[each.position, node, False] = each_one
            self._added(node, reached, met)
        return {key: factor for key, factor in found.items() if factor > 0}

    def _selecting(self, node: int, reached: Set[int]) -> list[BoundRelationship]:
        """Relationships to nodes that are there, but for implied ones."""
        links = [each for each in self._around[node] if each.other_end(node) in reached]
        return [each for each in links if each.position not in self._rates.implied]

    def _added(self, node: int, reached: set[int], met: set[int]) -> tuple[float, float]:
        """Pairs, and rows, per row where this node is added to those; it then is one of them."""
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
        """Pairs, and rows, per row."""
        count = max(self._rates.counts[node], 1.0)
        if not around:
            return 0.0, count
        links = [each for each in around if each.position not in self._rates.implied]
        growths = [self._growth(each, node, met) for each in links]
        fewest = min(growths)
        if len(growths) > 1 and any(each.other_end(node) not in met for each in links):
            # Where the join starts: the others know that one was followed.
            followed = growths.index(fewest)
            there = {*met, *(each.other_end(node) for each in links)}
            growths = [self._growth(each, node, there) for each in links]
            growths[followed] = fewest
        shares = [growth / count for growth in growths]
        return fewest, count * kept_share(shares)

    def _growth(self, each: BoundRelationship, node: int, met: Set[int]) -> float:
        other = each.other_end(node)
        return self._rates.of(each.position, other, met=other in met)
