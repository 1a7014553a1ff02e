"""Elimination: query nodes behind a separator send a message over it.

The part behind a separator is counted once per data node of the separator, not once per row, and
the rows of the rest, the core, are multiplied with these counts. The message has one of four forms:

| separator | what is eliminated | message |
| --- | --- | --- |
| one node | leaves | degrees of the node |
| one or two nodes | a part, which has a core and messages of its own | sums over its rows |
| one node | a triangle or square | sums over its two-step paths, without rows |
| all neighbours | one node | number of matches per row |

Disconnected parts (`components`) are eliminated behind an empty separator: their counts are
multiplied. This is the sum over a tree of parts that makes joins of trees linear (M. Yannakakis,
Algorithms for acyclic database schemes, 1981), where parts may have cycles. Relationships between
two nodes of a separator are joined in the part and in the rest, so at most one may fit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.caching import cached_method
from gpugda.plan.counting.count_plan import Eliminate, TableMessage
from gpugda.plan.counting.degree_messages import find_degree_messages, min_eliminated
from gpugda.plan.counting.row_messages import Countable, Independence, with_rows
from gpugda.plan.counting.separators import PossibleElimination, Separators, bits_of, each_bit
from gpugda.plan.join.join_order import connected_components
from gpugda.plan.row_tests import is_single

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from gpugda.plan.counting.costs import Costs
    from gpugda.plan.counting.count_plan import InterchangeableNodes
    from gpugda.plan.counting.degree_messages import Eliminable
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.thresholds import CountThresholds

    Nodes = int
    """A bitmap of query nodes."""

__all__ = ["Elimination", "best_elimination"]

_CYCLES = (3, 4)
_MAX_REORDERED = 8
"""For more nodes the join order is assumed not to change if some are counted: it is costly."""


def best_elimination(
    problem: CountProblem, costs: Costs, thresholds: CountThresholds
) -> Eliminate | None:
    """The cheapest elimination; None if joining the whole pattern is cheaper.

    Args:
        problem: The count problem.
        costs: The costs of its pattern.
        thresholds: The device's thresholds.
    """
    grouped, is_large = frozenset(problem.grouped), costs.are_large
    # Rows that are grouped are created anyway; joining rare leaves reduces their number.
    kept = grouped | _rare(problem, costs) if grouped else grouped
    found = find_degree_messages(
        problem.bound, problem.graph, problem.masks, kept, searching=is_large
    )
    if found is None:
        return None
    plan = _searched(found, problem, kept, costs, thresholds) if is_large else found.plan
    fewest = 1 if plan.tables else min_eliminated(grouped)
    if len(plan.leaves) + sum(map(len, plan.rows)) + len(plan.tables) < fewest:
        return None
    is_more = grouped or plan.rows or plan.tables
    return plan if is_more or _degrees_pay(plan, costs, thresholds) else None


def _searched(
    found: Eliminable,
    problem: CountProblem,
    kept: Set[int],
    costs: Costs,
    thresholds: CountThresholds,
) -> Eliminate:
    """Searches all message forms; separators of two nodes only if all other plans are expensive."""
    groups = Countable(found, problem.graph, problem.masks).groups()
    countable = [each for each in groups if kept.isdisjoint(each)]
    of_one = tuple(each for each in thresholds.separators if each == 1)
    with_one = replace(thresholds, separators=of_one)
    plan = Elimination(found, problem, countable, costs, with_one).plan()
    if 2 not in thresholds.separators or (cost := costs.of_plan(plan)) < thresholds.pair_pairs:
        return plan
    other = Elimination(found, problem, countable, costs, thresholds).plan()
    return other if costs.of_plan(other) < thresholds.pair_gain * cost else plan


def _rare(problem: CountProblem, costs: Costs) -> frozenset[int]:
    """Query nodes of which a candidate at the other end has fewer than one on average."""
    return frozenset(
        leaf
        for each in problem.bound.relationships
        for leaf, anchor in ((each.target, each.source), (each.source, each.target))
        if costs.per_candidate(each, leaf, anchor) < 1
    )


def _degrees_pay(plan: Eliminate, costs: Costs, thresholds: CountThresholds) -> bool:
    """True if eliminating leaves is cheaper than joining them.

    A join may count the last node of a cycle by intersection without creating its rows.
    """
    links, count = plan.core.relationships, len(plan.core.nodes)
    parts = connected_components(count, [(each.source, each.target) for each in links])
    if len(links) <= count - len(parts):
        return True
    growth = math.prod(
        costs.rates.of(
            position, group.anchor, reached=True
        )  # the anchor is reached along the cycle
        for group in plan.groups
        for position in group.relationships
    )
    return growth >= thresholds.cyclic_growth


class Elimination:
    """Search for further eliminations in a pattern whose leaves are eliminated.

    Args:
        found: The pattern.
        problem: The count problem.
        countable: Groups of query nodes, each of which could be counted per row by itself.
        costs: The costs of the pattern.
        thresholds: The device's thresholds.
    """

    def __init__(
        self,
        found: Eliminable,
        problem: CountProblem,
        countable: Sequence[InterchangeableNodes],
        costs: Costs,
        thresholds: CountThresholds,
    ) -> None:
        self._found = found
        self._problem = problem
        self._countable = countable
        self._costs = costs
        self._thresholds = thresholds
        self._separators = Separators(found, problem.masks.comparisons)
        self._cost = cache(lambda nodes: costs.of_rows(frozenset(each_bit(nodes))))
        self._can_sum_cycle = cached_method(self._is_summable_cycle)
        self._cost_of_part = cached_method(self._part_cost)
        core = found.plan.core
        self._degrees = [(each, bits_of(each.separator)) for each in found.plan.degrees]
        self._tests = [(each, self._separators.tested(each)) for each in core.tests]

    def plan(self) -> Eliminate:
        """The plan of a greedy search that applies the cheapest elimination repeatedly."""
        plan, grouped = self._found.plan, self._problem.grouped
        whole = (1 << len(plan.core.nodes)) - 1 & ~bits_of(plan.leaves)
        return self._eliminated(whole, 0, bits_of(grouped), makes_rows=bool(grouped))

    def _eliminated(
        self, nodes: Nodes, separator: Nodes, kept: Nodes, *, makes_rows: bool
    ) -> Eliminate:
        """The plan of some nodes, including the separator; nodes in ``kept`` are not eliminated."""
        tables: list[TableMessage] = []
        if self._can_sum_cycle(nodes, separator):
            return self._core(nodes, separator, tables)
        while (best := self._cheapest(nodes, kept)) is not None:
            at = best.separator
            inner = self._eliminated(best.beyond | at, at, at, makes_rows=True)
            tables.append(TableMessage(tuple(each_bit(at)), inner))
            nodes &= ~best.beyond
            kept |= at
        plan = self._core(nodes, separator, tables)
        inner_nodes = frozenset(each_bit(nodes & ~separator)).difference(
            *(each.separator for each in tables)
        )
        return self._with_rows(plan, inner_nodes, makes_rows=makes_rows)

    def _cheapest(self, nodes: Nodes, kept: Nodes) -> PossibleElimination | None:
        """The elimination with the least remaining cost, if it gains enough."""
        thresholds, best = self._thresholds, None
        if (lowest := self._cost(nodes)) < thresholds.table_pairs:
            return None
        most = thresholds.table_gain * lowest
        for each in self._possible_eliminations(nodes, kept):
            cost = self._costs.of_table(each_bit(each.separator))
            for part in (nodes & ~each.beyond, each.beyond | each.separator):
                if cost > most:
                    break
                cost += self._cost_of_part(part, each.separator)
            if cost < most or (cost == most and best is None):
                most, best = cost, each
        return best

    def _possible_eliminations(self, nodes: Nodes, kept: Nodes) -> Iterator[PossibleElimination]:
        thresholds, separators = self._thresholds, self._separators
        if 1 in thresholds.separators:
            yield from separators.at_one_node(nodes, kept)
            yield from self._cycles(nodes, kept)
        if 2 not in thresholds.separators or self._cost(nodes) < thresholds.pair_pairs:
            return
        if nodes.bit_count() > thresholds.max_pair_nodes:
            return
        graph, count = self._problem.graph, self._problem.candidates.count
        for a, b in combinations(each_bit(nodes), 2):
            if count(a) * count(b) <= thresholds.max_cells:
                yield from separators.at_two_nodes(a, b, nodes, kept, lambda e: is_single(e, graph))

    def _cycles(self, nodes: Nodes, kept: Nodes) -> Iterator[PossibleElimination]:
        """Eliminations of a whole cycle of which the rest needs one node only."""
        if nodes.bit_count() not in _CYCLES or (kept & nodes).bit_count() > 1:
            return
        if self._costs.is_cycle and not self._problem.grouped:
            return  # the whole cycle is counted from one half
        for node in each_bit(kept & nodes or nodes):
            beyond = nodes & ~(1 << node)
            if self._can_sum_cycle(nodes, 1 << node) and self._separators.is_apart(
                1 << node, beyond
            ):
                yield PossibleElimination(1 << node, beyond)

    def _is_summable_cycle(self, nodes: Nodes, separator: Nodes) -> bool:
        """True if these nodes form a cycle that can be summed without rows at the separator."""
        if nodes.bit_count() not in _CYCLES or separator.bit_count() != 1:
            return False
        problem, core = self._problem, self._found.plan.core
        beyond = nodes & ~separator
        if any(read & beyond for _, read in self._degrees):
            return False
        first = separator.bit_length() - 1
        # The nodes of a test are all inside, or the test belongs to the rest.
        tests = tuple([test for test, tested in self._tests if tested & beyond])
        pattern = replace(core, tests=tests)
        return problem.can_sum_cycle(problem, pattern, frozenset(each_bit(nodes)), first)

    def _part_cost(self, nodes: Nodes, separator: Nodes) -> float:
        """Cost of joining a part, or of summing it without a join."""
        if not self._can_sum_cycle(nodes, separator):
            return self._cost(nodes)
        return self._costs.of_summing_cycle(frozenset(each_bit(nodes)), separator.bit_length() - 1)

    def _core(self, nodes: Nodes, separator: Nodes, tables: list[TableMessage]) -> Eliminate:
        """The plan of some nodes: the part to join and the messages to it."""
        core = self._found.plan.core
        # Messages that depend on the separator alone belong to the rest.
        degrees = [each for each, read in self._degrees if not read & ~nodes and read & ~separator]
        tests = tuple([test for test, tested in self._tests if not tested & ~nodes])
        plan = Eliminate(replace(core, tests=tests), (*degrees, *tables))
        others = frozenset(range(len(core.nodes))).difference(each_bit(nodes), plan.leaves)
        return replace(plan, outside=others)

    def _with_rows(self, plan: Eliminate, nodes: frozenset[int], *, makes_rows: bool) -> Eliminate:
        """The plan with those of the given nodes counted per row for which it pays."""
        costs, thresholds = self._costs, self._thresholds
        groups = [each for each in self._countable if nodes.issuperset(each)]
        if not groups:
            return plan
        order = costs.order(plan.joined)
        cost = costs.join(order)
        lowest = cost.of(counts_last=not (makes_rows or plan.leaves or plan.tables))
        if lowest < thresholds.row_pairs:
            return plan
        independence = Independence(self._problem.bound, order, self._found.clash)
        of = partial(costs.of_counting, plan.joined) if len(order) <= _MAX_REORDERED else cost.of
        chosen = independence.choose(groups, of, lowest, thresholds.row_uncertainty)
        return with_rows(plan, chosen) if chosen else plan
