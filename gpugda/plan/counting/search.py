"""Finds the count plan of a pattern; needs no device."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gpugda.deadline import deadline_after
from gpugda.plan.counting.clashes import Clashes
from gpugda.plan.counting.components import find_factors
from gpugda.plan.counting.costs import Costs, may_have
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
    nodes_apart,
    pairs_to_loosen,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan
    from gpugda.plan.counting.problem import CountProblem
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
    """What is done first: most queries are small, and joined before anything is estimated.

    Args:
        bound: The pattern.
        candidates: Of its query nodes.
        thresholds: When what pays.
        took: Seconds that joining everything took before, if that was done.
        grouped: Are groups counted? They are not made at once.
        streamed: Nor are these before a caller can leave.
    """
    if took is not None:
        return Search(thresholds.search_share * took)
    if not may_have(bound, candidates, thresholds.search_rows):
        return Search()
    found: FirstPlan = Search()
    links = len(bound.relationships)
    seconds = min(thresholds.first_seconds * links**3, thresholds.most_first_seconds)
    if seconds > 0 and not streamed:
        found = Attempt(seconds, Join(), found, least_pairs=thresholds.search_pairs)
    return Attempt(None, Join(), found) if thresholds.tries_at_once and not grouped else found


def plan_of_part(part: Part, thresholds: CountThresholds) -> FirstPlan:
    """What is done first to count a part, whose plan was found from estimated candidates."""
    return Attempt(None, Join(), part.plan) if thresholds.tries_at_once else part.plan


class _TooLongError(Exception):
    """It would never pay."""


class _Patience:
    """How long is searched; by itself, so that a search and its costs do not hold each other."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.ends: float | None = None

    def check(self) -> None:
        """Raises where the query, or the search, shall end."""
        self._check()
        if self.ends is not None and time.monotonic() > self.ends:
            raise _TooLongError


class CountSearch:
    """Finds the cheapest plan.

    Args:
        problem: What is counted.
        thresholds: When what pays.
        check: Raises where the query shall end: plans of large queries take long.
        order: Of joining, by the query nodes that are not joined; None: it is found here.
        in_parts: May it be counted in parts?
    """

    def __init__(
        self,
        problem: CountProblem,
        thresholds: CountThresholds,
        check: Callable[[], None],
        order: Callable[[frozenset[int]], list[int]] | None = None,
        *,
        in_parts: bool = True,
    ) -> None:
        self._problem = problem
        self._thresholds = thresholds
        self._patience = _Patience(check)
        self._order = order
        self._nested = 0 if in_parts else thresholds.most_nested
        self._costs = Costs(problem, thresholds, self._patience.check, order)

    @property
    def pairs(self) -> float:
        """What joining everything is expected to cost."""
        return self._costs.of_all_rows

    def plan(self, seconds: float | None = None) -> CountPlan:
        """The plan; to join everything where it is not found in so many seconds."""
        self._patience.ends = deadline_after(seconds)
        try:
            return self._best(*self._without_implied(), self._nested)[0]
        except _TooLongError:
            return Join()

    def _without_implied(self) -> tuple[CountProblem, Costs]:
        problem = self._problem
        bound = without_implied(problem.bound, problem.graph)
        if bound is problem.bound:
            return problem, self._costs
        problem = replace(problem, bound=bound)
        return problem, Costs(problem, self._thresholds, self._patience.check, self._order)

    def _best(self, problem: CountProblem, costs: Costs, nested: int) -> tuple[CountPlan, float]:
        """A plan, and what it costs, in pairs; ``nested``: levels of parts that it is in."""
        thresholds = self._thresholds
        found = best_elimination(problem, costs, thresholds)
        plan: CountPlan = found or Join()
        cost = costs.of_plan(found) if found else costs.of_joining
        if cost < thresholds.part_pairs or nested >= thresholds.most_nested:
            return plan, cost
        if problem.masks.comparisons or (not problem.grouped and costs.is_cycle):
            return plan, cost
        parts = self._in_parts(problem, thresholds.part_gain * cost, nested + 1)
        return (plan, cost) if parts is None else parts

    def _in_parts(
        self, problem: CountProblem, most: float, nested: int
    ) -> tuple[CountPlan, float] | None:
        """Factors, or terms, if they cost less than ``most``."""
        clashes = Clashes(problem.bound, problem.graph)
        if factors := find_factors(problem, clashes):
            planned, total = self._planned(problem, factors, most, nested)
            return (Product(planned), total) if planned else None
        if apart := nodes_apart(problem.bound):
            terms = find_node_terms(problem, apart)
            planned_terms, total = self._planned(problem, terms, most, nested)
            if planned_terms:
                return Sum(planned_terms), total
        return self._with_clashes(problem, clashes, most, nested)

    def _with_clashes(
        self, problem: CountProblem, clashes: Clashes, most: float, nested: int
    ) -> tuple[Sum, float] | None:
        """As a sum over relationships that may be the same."""
        if not (pairs := clashes.pairs()):
            return None
        plan, least = self._best_of(problem, loosened_term(problem, pairs), nested)
        if least > most or not isinstance(plan, (Eliminate, Product)):
            return None
        loosened = pairs_to_loosen(problem.bound, plan, pairs, self._thresholds.most_loosened)
        for loose in loosened:
            terms = find_terms(problem, clashes, loose)
            planned_terms, total = self._planned(problem, terms, most, nested)
            if planned_terms:
                return Sum(planned_terms), total
        return None

    def _planned(
        self, problem: CountProblem, parts: Iterable[P], most: float, nested: int
    ) -> tuple[tuple[P, ...], float]:
        """The parts with their plans, and what they cost; none if that is more than ``most``."""
        planned, total = [], 0.0
        for each in parts:
            plan, cost = self._best_of(problem, each, nested)
            total += cost + self._thresholds.part_cost
            if total > most:
                return (), total
            planned.append(replace(each, plan=plan))
        return tuple(planned), total

    def _best_of(self, problem: CountProblem, part: Part, nested: int) -> tuple[CountPlan, float]:
        own = problem.of(part)
        return self._best(own, Costs(own, self._thresholds, self._patience.check), nested)
