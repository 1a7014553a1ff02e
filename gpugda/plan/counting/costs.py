"""Costs of counting a pattern, in tested pairs: joins, messages, and whole count plans."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.caching import cached_method
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_order import node_order
from gpugda.plan.join.join_rates import Rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from gpugda.plan.counting.count_plan import Eliminate, TableMessage
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.join.join_rates import CandidateCounts
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.thresholds import CountThresholds

__all__ = ["Costs", "may_reach_rows"]

_LONGEST_CYCLE = 4
_TRIANGLE = 3
_ORIENTED_PATH_SHARE = 0.25
"""Cost ratio of oriented to all two-step paths. At most a sixth of all two-step paths begins at the
lowest node and ascends, but each one costs more than reading a list entry."""


def may_reach_rows(bound: BoundQuery, candidates: CandidateCounts, rows: float) -> bool:
    """True if the product of the candidate counts reaches this number of rows."""
    most = 1
    for node in range(len(bound.nodes)):
        most *= candidates.count(node)
        if most >= rows:
            return True
    return False


class Costs:
    """Cost model of one pattern.

    Args:
        problem: The count problem.
        thresholds: The device's thresholds.
        check: Called often; raises when the search has to end.
        order: Maps the query nodes left out to the join order of the others; None computes it here.
        rates: The rates of the pattern; None computes them here.
    """

    def __init__(
        self,
        problem: CountProblem,
        thresholds: CountThresholds,
        check: Callable[[], None],
        order: Callable[[frozenset[int]], list[int]] | None = None,
        rates: Rates | None = None,
    ) -> None:
        most = thresholds.max_orders
        self._orders = cached_method(self._node_order, most)
        self._order_without = order or self._orders
        self._problem = problem
        self._thresholds = thresholds
        self._check = check
        bound, candidates = problem.bound, problem.candidates
        self._all = frozenset(range(len(bound.nodes)))
        self.rates = rates or Rates(bound, candidates, problem.corrections, thresholds=thresholds)
        self.of_rows = cached_method(self._of_rows, most)

    @property
    def orders_kept(self) -> int:
        """Number of cached orders, which is bounded: long paths have very many node sets."""
        return self._orders.cache_info().currsize

    def _of_rows(self, nodes: frozenset[int]) -> float:
        return self.join(self.order(nodes)).of()

    def order(self, nodes: frozenset[int]) -> list[int]:
        """The join order of some query nodes."""
        self._check()  # the most frequent operation of a search
        return self._order_without(self._all - nodes)

    def join(self, order: list[int]) -> JoinCost:
        """The cost model of joining query nodes in an order."""
        return JoinCost(self._problem.bound, order, self.rates)

    def of_counting(self, joined: frozenset[int], counted: Set[int]) -> float:
        """Cost of a join that counts some nodes per row, with the order of the other nodes."""
        order = [*self.order(joined - counted), *sorted(counted)]
        return self.join(order).of(counted)

    def per_candidate(self, each: BoundRelationship, leaf: int, anchor: int) -> float:
        """Mean fitting relationships per candidate of an anchor, from the plan's estimates."""
        count, nodes = self._problem.candidates.count, self._problem.bound.nodes
        left = min(1.0, count(leaf) / max(nodes[leaf].cardinality, 1.0))
        return each.cardinality * left / max(count(anchor), 1)

    @property
    def of_all_rows(self) -> float:
        """Cost of joining the whole pattern and creating all rows."""
        return self.of_rows(self._all)

    @property
    def are_large(self) -> bool:
        """True if joining the whole pattern may cost more than searching for a plan."""
        thresholds, problem = self._thresholds, self._problem
        may_be = may_reach_rows(problem.bound, problem.candidates, thresholds.search_rows)
        return may_be and self.of_all_rows >= thresholds.search_pairs

    @property
    def of_joining(self) -> float:
        """Cost of joining the whole pattern; without groups, the last node is only counted."""
        if self._problem.grouped:
            return self.of_all_rows
        order = self.order(self._all)
        # A cycle is counted from its paths to the second to last node.
        order = order[:-1] if self.is_cycle else order
        return self.join(order).of(counts_last=True)

    @cached_property
    def is_cycle(self) -> bool:
        """True if the pattern is a cycle that a special kernel counts without rows."""
        if not self._thresholds.counts_cycles or len(self._all) > _LONGEST_CYCLE:
            return False
        return self._problem.is_cycle(self._problem)

    def of_table(self, separator: Iterable[int]) -> float:
        """Cost of a table message, without the join of its part."""
        thresholds = self._thresholds
        counts = [self._problem.candidates.count(each) for each in separator]
        cells = thresholds.cell_cost * math.prod(counts) if len(counts) > 1 else 0
        return thresholds.table_cost + cells

    def of_plan(self, plan: Eliminate) -> float:
        """Cost of joining the core and the parts that send table messages."""
        counted = frozenset([node for group in plan.rows for node in group])
        cost = self.of_counting(plan.joined, counted)
        for each in plan.tables:
            cost += self._of_part(each) + self.of_table(each.separator)
        return cost

    def _of_part(self, each: TableMessage) -> float:
        plan, (first, *others), problem = each.plan, each.separator, self._problem
        if (
            others
            or plan.messages
            or not problem.can_sum_cycle(problem, plan.core, plan.joined, first)
        ):
            return self.of_plan(plan)
        return self.of_summing_cycle(plan.joined, first)

    def of_summing_cycle(self, nodes: frozenset[int], first: int) -> float:
        """Cost of summing the cycles at each candidate of one of their nodes.

        For squares, all two-step paths over both sides are visited. For triangles, each of which is
        found once, a share of the two-step paths over one side is visited.
        """
        if len(nodes) == _TRIANGLE:
            one, other = sorted(nodes - {first})
            all_paths = self.join([first, one, other]).of(counts_last=True)
            return _ORIENTED_PATH_SHARE * all_paths + self.join([first, one]).of()
        ends = [{each.source, each.target} for each in self._problem.bound.relationships]
        sides = frozenset[int]().union(*(pair for pair in ends if first in pair)) & nodes - {first}
        (opposite,) = nodes - sides - {first}
        joins = (self.join([first, side, opposite]) for side in sides)
        return math.fsum(each.of(counts_last=True) for each in joins)

    def _node_order(self, left_out: frozenset[int]) -> list[int]:
        problem = self._problem
        return node_order(problem.bound, self.rates, left_out, problem.masks.comparisons)
