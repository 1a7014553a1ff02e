"""Chooses a count plan, or returns the result if a first attempt completed the join."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.extend.memory import check_room
from gpugda.match.extend.prepared_core import NOTHING, PreparedCore, groups_of_rows
from gpugda.match.extend.report import describe_attempt
from gpugda.match.need import Rows
from gpugda.match.special.unrestricted import sums_triangles
from gpugda.plan.counting.count_plan import Attempt, Eliminate, Join, Search
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.counting.search import CountSearch, first_plan

if TYPE_CHECKING:
    from collections.abc import Set

    from gpugda.match.extend.join_builder import JoinBuilder
    from gpugda.match.extend.prepared_core import Goal
    from gpugda.match.extend.prepared_join import PreparedJoin
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan
    from gpugda.plan.plan import BoundQuery
    from gpugda.thresholds import CountThresholds

__all__ = ["Attempts", "plan_key"]


def plan_key(goal: Goal, thresholds: CountThresholds) -> object:
    """What the count plan depends on apart from the query."""
    return goal.nodes, goal.in_parts, thresholds.separators


Completed: TypeAlias = "PreparedJoin | Embeddings"
"""The result of an attempt: a join that has counted, or all groups."""


class Attempts:
    """The attempts of one query in one run.

    Args:
        joins: The query's joins.
        goal: What is made of the rows.
        thresholds: Thresholds of the count plans.
    """

    def __init__(self, joins: JoinBuilder, goal: Goal, thresholds: CountThresholds) -> None:
        self._joins = joins
        self._goal = goal
        self._thresholds = thresholds

    def decide(self, wanted: Rows) -> tuple[CountPlan, Completed | None]:
        """The plan that counts the query, and its result if an attempt already computed it.

        ``wanted``: columns of the last table.
        """
        thresholds = self._thresholds
        plan, done = self._plan_for(thresholds, first=True)
        if self._has_room(plan, wanted):
            return plan, done
        small = tuple(each for each in thresholds.separators if each < 2)
        plan, _ = self._plan_for(replace(thresholds, separators=small), first=False)
        if self._has_room(plan, wanted):
            return plan, None
        return Join(), None

    def _has_room(self, plan: CountPlan, wanted: Rows) -> bool:
        counting = self._goal.counting
        if not isinstance(plan, Eliminate):
            return True
        return self._joins.has_room(plan, wanted, counting=counting)

    def _plan_for(
        self, thresholds: CountThresholds, *, first: bool
    ) -> tuple[CountPlan, Completed | None]:
        query, goal = self._joins.query, self._goal
        key = plan_key(goal, thresholds)
        given = goal.first if first else Search()
        if given is not None and not isinstance(given, (Attempt, Search)):
            return given, None
        if key in query.plans:
            return query.plans[key], None
        before = query.join_seconds
        problem = self._problem()
        plan = given or first_plan(
            query.bound,
            problem.candidates,
            thresholds,
            before,
            grouped=goal.grouped is not None,
            streamed=goal.grouped is not None and goal.grouped.streamed,
        )
        found, done = self._run(plan, problem, thresholds)
        if not self._searches_again(before):
            query.plans[key] = found
        return found, done

    def _problem(self) -> CountProblem:
        query, run = self._joins.query, self._joins.run
        graph, nodes = run.graph.graph, tuple(sorted(self._goal.nodes))
        candidates = self._joins.candidates
        pattern, masks = query.bound, query.masks
        if not run.placement.is_whole:
            return CountProblem(pattern, graph, masks, candidates, nodes, _is_cycle)
        can_sum_cycle = _sums_any if sums_triangles(run.graph) else _sums_squares
        rows = query.feedback.corrections
        return CountProblem(
            pattern, graph, masks, candidates, nodes, _is_cycle, can_sum_cycle, rows
        )

    def _searches_again(self, before: float | None) -> bool:
        """True if the first join took so long that a plan search may pay off for the next run."""
        join_seconds = self._joins.query.join_seconds
        return (
            before is None
            and join_seconds is not None
            and join_seconds > self._thresholds.search_again_seconds
        )

    def _run(
        self, plan: FirstPlan, problem: CountProblem, thresholds: CountThresholds
    ) -> tuple[CountPlan, Completed | None]:
        search: CountSearch | None = None
        query = self._joins.query
        while isinstance(plan, (Attempt, Search)):
            if isinstance(plan, Attempt) and plan.seconds is None:
                pairs = query.join_cost
            else:
                search = search or self._search(problem, thresholds)
                if isinstance(plan, Search):
                    return search.plan(plan.seconds), None
                pairs = search.pairs
            if plan.is_worthwhile(pairs):
                done = self._attempt(plan)
                describe_attempt(self._joins.run.report, plan, is_done=done is not None)
                if done is not None:
                    return plan.quick, done
            plan = plan.otherwise
        return plan, None

    def _search(self, problem: CountProblem, thresholds: CountThresholds) -> CountSearch:
        query = self._joins.query
        return CountSearch(
            problem,
            thresholds,
            self._joins.run.check_deadline,
            query.order,
            query.rates if problem.candidates is query.candidates else None,
            # Nothing is known here of what parts produce: the cost of another plan must be
            # comparable.
            in_parts=self._goal.in_parts and not query.feedback.replan_reason,
        )

    def _attempt(self, attempt: Attempt) -> Completed | None:
        """The result of joining everything within the attempt's budget, or None."""
        assert isinstance(attempt.quick, Join)
        grouped, seconds = self._goal.grouped, attempt.seconds
        whole = self._joins.run.report
        # A separate report: an attempt that may be abandoned reports no steps and no progress.
        report = StrategyReport(whole.timings, candidates=whole.candidates, explored=whole.explored)
        report.corrections = whole.corrections
        run = replace(self._joins.run, report=report)
        if grouped is None:
            if seconds is None:
                return self._counted(run, at_once=True)
            return run.attempt(seconds, partial(self._counted, at_once=False))
        assert seconds is not None  # groups always have a time budget
        found = run.attempt(seconds, self._groups)
        if found is not None:
            whole.steps.add_later(lambda: report.steps)
        return found

    def _counted(self, run: Run, *, at_once: bool) -> PreparedJoin | None:
        if at_once and not run.placement.is_whole:
            return None  # segments would have to be waited for
        joined = self._joins.within(run).joined(Join(), NOTHING, counting=True)
        if not at_once:
            check_room(run.workspace, joined.steps, joined.windows.pending_bytes)
        started = run.graph.context.clock()
        with run.stage("join"):
            joined.windows.count_all(at_once=at_once)
        if joined.windows.counted is None:
            return None
        self._joins.query.join_seconds = run.graph.context.clock() - started
        return joined

    def _groups(self, run: Run) -> Embeddings:
        joins, grouped = self._joins.within(run), self._goal.grouped
        assert grouped is not None
        wanted = Rows(frozenset(grouped.nodes), frozenset())
        joined = joins.joined(Join(), wanted, counting=False)
        check_room(run.workspace, joined.steps, joined.windows.pending_bytes)
        started = run.graph.context.clock()
        rows = joins.grouped(grouped, joined)
        query = joins.query
        ended = partial(joins.judge, joined, plan_key(self._goal, self._thresholds), started)
        core = PreparedCore(query.bound, query.masks.comparisons, joined, rows, ended)
        (found,) = groups_of_rows(run, core, grouped)
        query.join_seconds = run.graph.context.clock() - started
        return found


def _is_cycle(problem: CountProblem) -> bool:
    rows = {node: node for node in range(len(problem.bound.nodes))}
    from gpugda.match.special.cycles import find_cycle  # few queries are cycles

    return find_cycle(problem.bound, problem.graph, problem.masks, rows, first=0) is not None


def _sums_squares(problem: CountProblem, pattern: BoundQuery, nodes: Set[int], first: int) -> bool:
    from gpugda.match.special.square_sums import find_square_at

    return find_square_at(pattern, nodes, first, problem.graph, problem.masks) is not None


def _sums_any(problem: CountProblem, pattern: BoundQuery, nodes: Set[int], first: int) -> bool:
    from gpugda.match.special.square_sums import find_square_at
    from gpugda.match.special.triangle_sums import find_triangle_at

    find = find_triangle_at if len(nodes) < _SQUARE else find_square_at
    return find(pattern, nodes, first, problem.graph, problem.masks) is not None


_SQUARE: Final = 4
