"""Search for the count plan of a pattern; it needs no device."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gpugda.deadline import deadline_after
from gpugda.plan.counting.clashes import Clashes
from gpugda.plan.counting.components import find_factors
from gpugda.plan.counting.costs import Costs, may_reach_rows
from gpugda.plan.counting.count_plan import (
    Attempt,
    Eliminate,
    Join,
    Part,
    Product,
    Search,
    Sum,
)
from gpugda.plan.counting.eliminate import best_elimination
from gpugda.plan.counting.implied import without_implied
from gpugda.plan.counting.include_exclude import (
    find_node_terms,
    find_terms,
    loosened_term,
    pairs_to_loosen,
    unequal_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.join.join_rates import CandidateCounts, Rates
    from gpugda.plan.plan import BoundQuery
    from gpugda.thresholds import CountThresholds

__all__ = ["CountSearch", "first_plan", "plan_of_part"]

P = TypeVar("P", bound=Part)


def first_plan(
    bound: BoundQuery,
    candidates: CandidateCounts,
    thresholds: CountThresholds,
    took: float | None = None,
    *,
    grouped: bool = False,
    streamed: bool = False,
) -> FirstPlan:
    """The first thing to do: most queries are small and are joined before any estimation.

    Args:
        bound: The pattern.
        candidates: Candidate counts of its query nodes.
        thresholds: The device's thresholds.
        took: Seconds that joining the whole pattern took earlier; None if it was not done.
        grouped: True if groups are counted; the join then does not run at once.
        streamed: True if the graph is streamed in segments; then no attempt with a budget is made.
    """
    if took is not None:
        return Search(thresholds.search_share * took)
    if not may_reach_rows(bound, candidates, thresholds.search_rows):
        return Search()
    found: FirstPlan = Search()
    links = len(bound.relationships)
    seconds = min(thresholds.first_seconds * links**3, thresholds.max_first_seconds)
    if seconds > 0 and not streamed:
        most = seconds * thresholds.max_first_pairs
        found = Attempt(seconds, Join(), found, thresholds.search_pairs, most)
    return _at_once(found, thresholds) if thresholds.joins_first and not grouped else found


def plan_of_part(part: Part, thresholds: CountThresholds) -> FirstPlan:
    """The first thing to do for a part, whose plan was found from estimated candidates."""
    return _at_once(part.plan, thresholds) if thresholds.joins_first else part.plan


def _at_once(otherwise: FirstPlan, thresholds: CountThresholds) -> Attempt:
    return Attempt(None, Join(), otherwise, max_pairs=thresholds.max_pairs_at_once)


class _TooLongError(Exception):
    """The search took longer than it can gain."""


class _TimeLimit:
    """The time limit of a search; its own object, so a search and its costs form no cycle."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.ends: float | None = None

    def check(self) -> None:
        """Raises if the query, or the search, has to end."""
        self._check()
        if self.ends is not None and time.monotonic() > self.ends:
            raise _TooLongError


class CountSearch:
    """Searches for the cheapest count plan.

    Args:
        problem: The count problem.
        thresholds: The device's thresholds.
        check: Raises if the query has to end, as planning a large query takes long.
        order: Maps the query nodes left out to the join order of the others; None computes it here.
        rates: The rates of the pattern; None computes them here.
        in_parts: True if the pattern may be counted in parts.
    """

    def __init__(
        self,
        problem: CountProblem,
        thresholds: CountThresholds,
        check: Callable[[], None],
        order: Callable[[frozenset[int]], list[int]] | None = None,
        rates: Rates | None = None,
        *,
        in_parts: bool = True,
    ) -> None:
        self._problem = problem
        self._thresholds = thresholds
        self._time_limit = _TimeLimit(check)
        self._order = order
        self._nested = 0 if in_parts else thresholds.max_nested
        self._costs = Costs(problem, thresholds, self._time_limit.check, order, rates)

    @property
    def pairs(self) -> float:
        """Estimated cost of joining the whole pattern, in pairs."""
        return self._costs.of_all_rows

    def plan(self, seconds: float | None = None) -> CountPlan:
        """The cheapest plan; a join of the whole pattern if the search exceeds its time limit."""
        self._time_limit.ends = deadline_after(seconds)
        try:
            problem, costs = self._without_implied()
            if not costs.are_large and self._thresholds.search_pairs <= self._thresholds.part_pairs:
                # Joining is too cheap for parts, so no cost has to be known.
                return best_elimination(problem, costs, self._thresholds) or Join()
            return self._best(problem, costs, self._nested)[0]
        except _TooLongError:
            return Join()

    def _without_implied(self) -> tuple[CountProblem, Costs]:
        problem = self._problem
        bound = without_implied(problem.bound, problem.graph)
        if bound is problem.bound:
            return problem, self._costs
        problem = replace(problem, bound=bound)
        return problem, Costs(problem, self._thresholds, self._time_limit.check, self._order)

    def _best(self, problem: CountProblem, costs: Costs, nested: int) -> tuple[CountPlan, float]:
        """A plan with its cost in pairs; ``nested``: depth of nested parts."""
        thresholds = self._thresholds
        found = best_elimination(problem, costs, thresholds)
        plan: CountPlan = found or Join()
        cost = costs.of_plan(found) if found else costs.of_joining
        if cost < thresholds.part_pairs or nested >= thresholds.max_nested:
            return plan, cost
        if problem.masks.comparisons or (not problem.grouped and costs.is_cycle):
            return plan, cost
        parts = self._in_parts(problem, thresholds.part_gain * cost, nested + 1)
        return (plan, cost) if parts is None else parts

    def _in_parts(
        self, problem: CountProblem, most: float, nested: int
    ) -> tuple[CountPlan, float] | None:
        """Factors or terms, if their cost is at most ``most``."""
        clashes = Clashes(problem.bound, problem.graph)
        if factors := find_factors(problem, clashes):
            planned, total = self._planned(problem, factors, most, nested)
            return (Product(planned), total) if planned else None
        if apart := unequal_nodes(problem.bound):
            terms = find_node_terms(problem, apart)
            planned_terms, total = self._planned(problem, terms, most, nested)
            if planned_terms:
                return Sum(planned_terms), total
        return self._with_clashes(problem, clashes, most, nested)

    def _with_clashes(
        self, problem: CountProblem, clashes: Clashes, most: float, nested: int
    ) -> tuple[Sum, float] | None:
        """A sum of terms in which relationships may be the same."""
        if not (pairs := clashes.pairs()):
            return None
        plan, least = self._best_of(problem, loosened_term(problem, pairs), nested)
        if least > most or not isinstance(plan, (Eliminate, Product)):
            return None
        loosened = pairs_to_loosen(problem.bound, plan, pairs, self._thresholds.max_dropped_tests)
        for each in loosened:
            # The first term is planned already if no test is left.
            known = (plan, least) if each == pairs else None
            terms = find_terms(problem, clashes, each)
            planned_terms, total = self._planned(problem, terms, most, nested, known)
            if planned_terms:
                return Sum(planned_terms), total
        return None

    def _planned(
        self,
        problem: CountProblem,
        parts: Iterable[P],
        most: float,
        nested: int,
        first: tuple[CountPlan, float] | None = None,
    ) -> tuple[tuple[P, ...], float]:
        """The parts with their plans, and the total cost; no parts if it exceeds ``most``.

        ``first``: the plan of the first part, and its cost, if they are known.
        """
        planned, total = [], 0.0
        for each in parts:
            plan, cost = first or self._best_of(problem, each, nested)
            first = None
            total += cost + self._thresholds.part_cost
            if total > most:
                return (), total
            planned.append(replace(each, plan=plan))
        return tuple(planned), total

    def _best_of(self, problem: CountProblem, part: Part, nested: int) -> tuple[CountPlan, float]:
        own = problem.of(part)
        return self._best(own, Costs(own, self._thresholds, self._time_limit.check), nested)
