"""Chooses a count plan, or returns the result if a first attempt completed the join."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.extend.groups import GroupSums, RowWeights
from gpugda.match.extend.memory import check_room
from gpugda.match.extend.report import (
    describe_attempt,
    describe_groups,
    describe_joined,
    describe_segments,
)
from gpugda.match.matcher import fetch_embeddings
from gpugda.match.need import Rows
from gpugda.match.special.unrestricted import sums_triangles
from gpugda.match.tuple_counts import TupleCounts
from gpugda.plan.counting.count_plan import Attempt, Eliminate, Join, Search
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.counting.search import CountSearch, first_plan
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence, Set

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.device.launch.join import Table
    from gpugda.match.extend.join_builder import JoinBuilder
    from gpugda.match.extend.prepared_join import PreparedJoin
    from gpugda.match.need import Groups
    from gpugda.match.run import Run
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable
    from gpugda.thresholds import CountThresholds


__all__ = [
    "NOTHING",
    "Attempts",
    "Goal",
    "PreparedCore",
    "groups_of_rows",
    "plan_key",
    "weighted_groups",
]

T = TypeVar("T")

NOTHING = Rows(frozenset(), frozenset())
"""No column is needed."""


@value(frozen=True, slots=True, eq=False)
class Goal:
    """What is made of a query's rows.

    Args:
        counting: True if the rows are only counted.
        grouped: The grouping of the rows, or None.
        in_parts: True if counts may be combined from the counts of parts.
        first: The first plan to try; None to choose one.
        join_only: True if everything is joined and nothing else is tried. The memory that this
            needs does not depend on how much is available.
    """

    counting: bool = False
    grouped: Groups | None = None
    in_parts: bool = False
    first: FirstPlan | None = None
    join_only: bool = False

    @property
    def nodes(self) -> frozenset[int]:
        """Query nodes that are grouping keys."""
        return frozenset() if self.grouped is None else frozenset(self.grouped.nodes)

    @property
    def may_be_abandoned(self) -> bool:
        """True if the join may be abandoned because another plan was faster.

        The caller then returns to that plan. Joining with little memory is the last resort, and is
        never abandoned.
        """
        return self.counting and not self.join_only

    @property
    def counts(self) -> bool:
        """True if counts or groups are needed rather than rows."""
        return self.counting or self.grouped is not None


@value(frozen=True, slots=True, eq=False)
class PreparedCore:
    """A join of the core, and what is made of its rows.

    Args:
        bound: The query.
        comparisons: Its comparisons between two variables.
        joined: Makes the rows.
        grouped: Sums or weighs the rows; None if they are passed on unchanged.
        ended: Called when the join is complete.
    """

    bound: BoundQuery
    comparisons: tuple[Comparison, ...]
    joined: PreparedJoin
    grouped: GroupSums | RowWeights | None
    ended: Callable[[], None] | None = None

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of its rows hold."""
        return self.joined.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `PreparedJoin.tables`."""
        return self.joined.tables(enough)

    def counts(self) -> Iterator[int]:
        """See `PreparedJoin.counts`."""
        return self.joined.counts()

    def describe(self, run: Run) -> None:
        """Describes the executed steps in the run's report."""
        if self.ended is not None:
            self.ended()
        comparisons = self.comparisons
        describe_segments(run.report, self.joined)
        describe_joined(run.report, run.graph.graph, self.bound, self.joined, comparisons)
        if self.grouped is not None:
            describe_groups(run.report, self.bound, self.grouped)


def groups_of_rows(run: Run, prepared: PreparedCore, wanted: Groups) -> Generator[Embeddings]:
    """Yields the groups, or rows of the core whose weights are multiplicities."""
    if isinstance(prepared.grouped, GroupSums):
        yield _summed(run, prepared, prepared.grouped)
        return
    with closing(_rows(run, prepared)) as chunks:
        if wanted.streamed:
            yield from chunks
            return
        tuples = TupleCounts(
            wanted.nodes,
            counted=wanted.counted,
            check=run.check_deadline,
            node_count=run.graph.graph.node_count,
        )
        for chunk in chunks:
            with run.stage("tail"):
                tuples.add(chunk)
    yield tuples.found()


def _rows(run: Run, prepared: PreparedCore) -> Generator[Embeddings]:
    if isinstance(prepared.grouped, RowWeights):
        return _weighted_rows(run, prepared, prepared.grouped)
    return fetch_embeddings(run, prepared)


def weighted_groups(
    run: Run,
    prepared: PreparedCore | Embeddings | CountPlan | None,
    wanted: Groups,
    factors: Sequence[NDArray[np.uint32]],
) -> int | None:
    """The sum of each group's multiplicity times the factors of its node.

    Returns None if the sums of the groups are not on the device.
    """
    if prepared is None:
        return 0
    if isinstance(prepared, Embeddings):
        return _weighted_here(prepared, wanted.nodes[0], factors)
    if not isinstance(prepared, PreparedCore) or not isinstance(prepared.grouped, GroupSums):
        return None
    sums = _added(run, prepared, prepared.grouped)
    with run.locked(), run.stage("fetch"):
        return sums.weighted(factors)


def _weighted_here(found: Embeddings, node: int, factors: Sequence[NDArray[np.uint32]]) -> int:
    """As `weighted_groups`, for few groups that an attempt already brought to the host."""
    weights = [1] * found.row_count if found.weights is None else found.weights.tolist()
    columns = [each[found.nodes[node]].tolist() for each in factors]
    return sum(math.prod(each) for each in zip(weights, *columns, strict=True))


def _summed(run: Run, prepared: PreparedCore, sums: GroupSums) -> Embeddings:
    _added(run, prepared, sums)
    with run.locked(), run.stage("fetch"):
        return sums.found()


def _added(run: Run, prepared: PreparedCore, sums: GroupSums) -> GroupSums:
    def add(table: Table | None) -> None:
        if table is not None:
            sums.add(table)

    for _ in _of_each(run, prepared, prepared.joined.cores(), add):
        pass
    return sums


def _of_each(
    run: Run,
    prepared: PreparedCore,
    tables: Iterator[Table | None],
    make: Callable[[Table | None], T],
) -> Generator[T]:
    """Yields ``make`` of each table, called with the device held; describes the join at the end."""
    try:
        while True:
            with run.locked(), run.stage("join"):
                try:
                    table = next(tables)
                except StopIteration:
                    return
                made = make(table)
            yield made
    finally:
        prepared.describe(run)


def _weighted_rows(run: Run, prepared: PreparedCore, rows: RowWeights) -> Generator[Embeddings]:
    """Yields the rows of a core with the products of their messages as weights."""

    def weigh(table: Table | None) -> list[Embeddings]:
        return [] if table is None else list(rows.weighted(table))

    with closing(_of_each(run, prepared, prepared.tables(), weigh)) as made:
        for chunks in made:
            yield from chunks


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
