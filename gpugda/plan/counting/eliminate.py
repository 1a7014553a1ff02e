"""The query nodes of one pattern whose elimination makes counting it cheapest."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from gpugda.plan.counting.degree_messages import fewest_eliminated, find_degrees
from gpugda.plan.counting.row_messages import Independence, choose_rows, with_rows
from gpugda.plan.counting.table_messages import split_off, table_cost
from gpugda.plan.join_cost import JoinCost
from gpugda.plan.join_order import Growth, MostGrowth, node_order
from gpugda.plan.row_tests import is_single

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Set

    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.counting.degree_messages import Eliminable
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.thresholds import CountThresholds

__all__ = ["Elimination", "may_have"]

_LONGEST_CYCLE = 4
_MOST_REORDERED = 8
"""Of more nodes the order is taken to stay the same where some are counted: finding it is dear."""


def may_have(bound: BoundQuery, candidates: CandidateCounts, rows: float) -> bool:
    """Could there be so many embeddings?"""
    most = 1
    for node in range(len(bound.nodes)):
        most *= candidates.count(node)
        if most >= rows:
            return True
    return False


class Elimination:
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
        kept = lru_cache(thresholds.most_orders)
        self._orders = kept(self._node_order)
        self._order_without = order or self._orders
        self._problem = problem
        self._thresholds = thresholds
        self._check = check
        bound, candidates = problem.bound, problem.candidates
        self._bound = bound
        self._grouped = frozenset(problem.grouped)
        self._all = frozenset(range(len(bound.nodes)))
        # Asked for again and again.
        self._growth = cache(Growth(bound, candidates))
        self._most_growth = cache(MostGrowth(bound, candidates, problem.graph))
        self._cost_of_nodes = kept(lambda nodes: self._join_cost(nodes).of())

    @property
    def orders_kept(self) -> int:
        """Of so many sets of query nodes the order is kept: long paths have no end of sets."""
        return self._orders.cache_info().currsize

    @property
    def pairs(self) -> float:
        """What joining everything is expected to cost, all rows made."""
        return self._cost_of_nodes(self._all)

    @property
    def is_large(self) -> bool:
        """May joining everything take longer than finding a plan?"""
        thresholds = self._thresholds
        may_be = may_have(self._bound, self._problem.candidates, thresholds.search_rows)
        return may_be and self.pairs >= thresholds.search_pairs

    @property
    def cost_of_join(self) -> float:
        """What joining everything is expected to cost; rows of the last node are only counted."""
        if self._grouped:
            return self.pairs
        order = self._order(self._all)
        # A cycle is counted by its paths to the last node but one.
        order = order[:-1] if self.is_cycle else order
        return self._cost_in(order).of(counts_last=True)

    @cached_property
    def is_cycle(self) -> bool:
        """Is it one that is counted without rows?"""
        if not self._thresholds.counts_cycles or len(self._all) > _LONGEST_CYCLE:
            return False
        return self._problem.is_cycle(self._problem)

    def best(self) -> Eliminate | None:
        """The cheapest; None where joining everything is cheaper."""
        # Rows that are grouped are made in any case: fewer with leaves that are seldom there.
        kept = self._grouped | self._rare() if self._grouped else self._grouped
        problem, is_large = self._problem, self.is_large
        found = find_degrees(self._bound, problem.graph, problem.masks, kept, searching=is_large)
        if found is None:
            return None
        plan = self._with_tables(found) if is_large else found.plan
        fewest = 1 if plan.tables else fewest_eliminated(self._grouped)
        if len(plan.leaves) + sum(map(len, plan.rows)) + len(plan.tables) < fewest:
            return None
        is_more = self._grouped or plan.rows or plan.tables
        return plan if is_more or self._degrees_pay(found) else None

    def cost(self, plan: Eliminate) -> float:
        """What joining the core, and the parts that send tables, is expected to cost."""
        counted = frozenset(node for group in plan.rows for node in group)
        cost = self._join_cost(plan.joined).of(counted)
        for each in plan.tables:
            own = table_cost(each.separator, self._problem.candidates.count, self._thresholds)
            cost += self.cost(each.plan) + own
        return cost

    def _with_tables(self, found: Eliminable) -> Eliminate:
        """With tables and rows; tables of two nodes only where all else is dear."""
        thresholds = self._thresholds
        plan = self._split(found, tuple(each for each in thresholds.separators if each == 1))
        if 2 not in thresholds.separators or (cost := self.cost(plan)) < thresholds.pair_pairs:
            return plan
        other = self._split(found, thresholds.separators)
        return other if self.cost(other) < thresholds.pair_gain * cost else plan

    def _split(self, found: Eliminable, separators: tuple[int, ...]) -> Eliminate:
        plan = split_off(
            found,
            self._problem.masks.comparisons,
            self._grouped,
            self._cost_of_nodes,
            self._problem.candidates.count,
            self._is_single,
            replace(self._thresholds, separators=separators),
        )
        return self._with_rows(found, plan, (), makes_rows=bool(self._grouped))

    def _with_rows(
        self, found: Eliminable, plan: Eliminate, separator: Collection[int], *, makes_rows: bool
    ) -> Eliminate:
        """With nodes counted per row, in parts that send tables, too, where that pays."""
        tables = tuple(
            replace(each, plan=self._with_rows(found, each.plan, each.separator, makes_rows=True))
            for each in plan.tables
        )
        plan = replace(plan, tables=tables)
        inner = plan.joined.difference(separator, *(each.separator for each in tables))
        groups = [each for each in found.countable if inner.issuperset(each)]
        if not groups:
            return plan
        order = self._order(plan.joined)
        cost = self._cost_in(order)
        lowest = cost.of(counts_last=not (makes_rows or plan.leaves or tables))
        if lowest < self._thresholds.row_pairs:
            return plan
        may_add = Independence(self._bound, order, found.clash).may_add
        few = len(order) <= _MOST_REORDERED
        costs = partial(self._cost_counting, plan.joined) if few else cost.of
        chosen = choose_rows(groups, may_add, costs, lowest, self._thresholds.row_doubt)
        return with_rows(plan, chosen) if chosen else plan

    def _cost_counting(self, joined: frozenset[int], counted: Set[int]) -> float:
        """Of a join that counts some nodes per row, in the order that the others then have."""
        order = [*self._order(joined - counted), *sorted(counted)]
        return self._cost_in(order).of(counted)

    def _degrees_pay(self, found: Eliminable) -> bool:
        """Is eliminating leaves cheaper than joining them?

        Joining may count the last node of a cycle by intersection, without making its rows.
        """
        return (
            not found.has_cycle
            or math.prod(
                self._growth(position, group.anchor)
                for group in found.plan.groups
                for position in group.relationships
            )
            >= self._thresholds.cyclic_growth
        )

    def _rare(self) -> frozenset[int]:
        """Query nodes of which the nodes at the other end have less than one in the mean."""
        return frozenset(
            leaf
            for each in self._bound.relationships
            for leaf, anchor in ((each.target, each.source), (each.source, each.target))
            if self._per_candidate(each, leaf, anchor) < 1
        )

    def _per_candidate(self, each: BoundRelationship, leaf: int, anchor: int) -> float:
        """Relationships of a candidate: those that have none are left out already."""
        count = self._problem.candidates.count
        left = min(1.0, count(leaf) / max(self._bound.nodes[leaf].cardinality, 1.0))
        return each.cardinality * left / max(count(anchor), 1)

    def _is_single(self, each: BoundRelationship) -> bool:
        return is_single(each, self._problem.graph)

    def _join_cost(self, nodes: frozenset[int]) -> JoinCost:
        return self._cost_in(self._order(nodes))

    def _cost_in(self, order: list[int]) -> JoinCost:
        return JoinCost(self._bound, order, self._problem.candidates.count, self._most_growth)

    def _order(self, nodes: frozenset[int]) -> list[int]:
        self._check()  # of all that a search does, this is done most often
        return self._order_without(self._all - nodes)

    def _node_order(self, left_out: frozenset[int]) -> list[int]:
        problem = self._problem
        return node_order(
            self._bound,
            problem.candidates.count,
            self._growth,
            left_out,
            problem.masks.comparisons,
            self._most_growth,
        )
