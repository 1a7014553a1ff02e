"""What counting a pattern costs, in pairs that are tested: joins, messages, and whole plans."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.caching import cached_method
from gpugda.plan.join_cost import JoinCost
from gpugda.plan.join_order import node_order
from gpugda.plan.join_rates import Rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.counting.count_plan import Eliminate, TableMessage
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.thresholds import CountThresholds

__all__ = ["Costs", "may_have"]

_LONGEST_CYCLE = 4
_TRIANGLE = 3
_SHARE_OF_WAYS = 0.25
"""Of all ways of two relationships, at most a sixth begins at the lowest node and rises; but each
takes longer than to look at an entry."""


def may_have(bound: BoundQuery, candidates: CandidateCounts, rows: float) -> bool:
    """Could there be so many embeddings?"""
    most = 1
    for node in range(len(bound.nodes)):
        most *= candidates.count(node)
        if most >= rows:
            return True
    return False


class Costs:
    """Of one pattern.

    Args:
        problem: What is counted.
        thresholds: When what pays.
        check: Called often: it raises when it is time to give up.
        order: Of joining, by the query nodes that are not joined; None: it is found here.
    """

    def __init__(
        self,
        problem: CountProblem,
        thresholds: CountThresholds,
        check: Callable[[], None],
        order: Callable[[frozenset[int]], list[int]] | None = None,
    ) -> None:
        most = thresholds.most_orders
        self._orders = cached_method(self._node_order, most)
        self._order_without = order or self._orders
        self._problem = problem
        self._thresholds = thresholds
        self._check = check
        bound, candidates = problem.bound, problem.candidates
        self._all = frozenset(range(len(bound.nodes)))
        self.rates = Rates(bound, candidates, problem.corrections, thresholds=thresholds)
        self.of_rows = cached_method(self._of_rows, most)

    @property
    def orders_kept(self) -> int:
        """Of so many sets of query nodes the order is kept: long paths have no end of sets."""
        return self._orders.cache_info().currsize

    def _of_rows(self, nodes: frozenset[int]) -> float:
        return self.join(self.order(nodes)).of()

    def order(self, nodes: frozenset[int]) -> list[int]:
        """Of joining some query nodes."""
        self._check()  # of all that a search does, this is done most often
        return self._order_without(self._all - nodes)

    def join(self, order: list[int]) -> JoinCost:
        """Of joining query nodes in an order."""
        return JoinCost(self._problem.bound, order, self.rates)

    def of_counting(self, joined: frozenset[int], counted: Set[int]) -> float:
        """Of a join that counts some nodes per row, in the order that the others then have."""
        order = [*self.order(joined - counted), *sorted(counted)]
        return self.join(order).of(counted)

    def per_candidate(self, each: BoundRelationship, leaf: int, anchor: int) -> float:
        """Relationships of a candidate: those that have none are left out already."""
        count, nodes = self._problem.candidates.count, self._problem.bound.nodes
        left = min(1.0, count(leaf) / max(nodes[leaf].cardinality, 1.0))
        return each.cardinality * left / max(count(anchor), 1)

    @property
    def of_all_rows(self) -> float:
        """Of joining everything, all rows made."""
        return self.of_rows(self._all)

    @property
    def are_large(self) -> bool:
        """May joining everything take longer than finding a plan?"""
        thresholds, problem = self._thresholds, self._problem
        may_be = may_have(problem.bound, problem.candidates, thresholds.search_rows)
        return may_be and self.of_all_rows >= thresholds.search_pairs

    @property
    def of_joining(self) -> float:
        """Of joining everything; where no groups are asked for, rows of the last are not made."""
        if self._problem.grouped:
            return self.of_all_rows
        order = self.order(self._all)
        # A cycle is counted by its paths to the last node but one.
        order = order[:-1] if self.is_cycle else order
        return self.join(order).of(counts_last=True)

    @cached_property
    def is_cycle(self) -> bool:
        """Is it one that is counted without rows?"""
        if not self._thresholds.counts_cycles or len(self._all) > _LONGEST_CYCLE:
            return False
        return self._problem.is_cycle(self._problem)

    def of_table(self, separator: Iterable[int]) -> float:
        """Of a table message beside its join."""
        thresholds = self._thresholds
        counts = [self._problem.candidates.count(each) for each in separator]
        cells = thresholds.cell_cost * math.prod(counts) if len(counts) > 1 else 0
        return thresholds.table_cost + cells

    def of_plan(self, plan: Eliminate) -> float:
        """Of joining the core, and the parts that send tables."""
        counted = frozenset([node for group in plan.rows for node in group])
        cost = self.of_counting(plan.joined, counted)
        for each in plan.tables:
            cost += self._of_part(each) + self.of_table(each.separator)
        return cost

    def _of_part(self, each: TableMessage) -> float:
        plan, (first, *others), problem = each.plan, each.separator, self._problem
        if others or plan.messages or not problem.adds_up(problem, plan.core, plan.joined, first):
            return self.of_plan(plan)
        return self.of_adding_up(plan.joined, first)

    def of_adding_up(self, nodes: frozenset[int], first: int) -> float:
        """Of adding cycles up by one of their nodes.

        For squares its ways of two links over both sides are gone through; for triangles, each of
        which is found once, some of the ways over one side.
        """
        if len(nodes) == _TRIANGLE:
            one, other = sorted(nodes - {first})
            all_ways = self.join([first, one, other]).of(counts_last=True)
            return _SHARE_OF_WAYS * all_ways + self.join([first, one]).of()
        ends = [{each.source, each.target} for each in self._problem.bound.relationships]
        sides = frozenset[int]().union(*(pair for pair in ends if first in pair)) & nodes - {first}
        (opposite,) = nodes - sides - {first}
        ways = (self.join([first, side, opposite]) for side in sides)
        return math.fsum(each.of(counts_last=True) for each in ways)

    def _node_order(self, left_out: frozenset[int]) -> list[int]:
        problem = self._problem
        return node_order(problem.bound, self.rates, left_out, problem.masks.comparisons)
