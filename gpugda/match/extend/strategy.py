"""The strategy ``extend``: filters candidates, then joins one query node at a time."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from gpugda.data.plan_assumptions import assumptions_hold
from gpugda.deadline import check_deadline
from gpugda.device.graph.lazy_arguments import LazyArguments
from gpugda.device.graph.placement import SegmentedPlacement
from gpugda.device.graph.segments import directory_bytes, whole_bytes
from gpugda.device.launch.small_queries import SmallFilter
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.engine import Engine
from gpugda.match.extend.attempts import (
    NOTHING,
    Attempts,
    Goal,
    PreparedCore,
    groups_of_rows,
    plan_key,
    weighted_groups,
)
from gpugda.match.extend.cache import EarlierPlans, KeptQueries, KeptQuery
from gpugda.match.extend.compile import CompiledSteps
from gpugda.match.extend.encode import JoinKernels
from gpugda.match.extend.filter import candidates_on_host, find_candidates, update_from_snapshot
from gpugda.match.extend.join_builder import JoinBuilder
from gpugda.match.extend.memory import check_room, retried
from gpugda.match.extend.merged_graph import MergedGraph
from gpugda.match.extend.messages import CandidateRanks
from gpugda.match.extend.report import describe_count_part, first_text
from gpugda.match.extend.segments.waiting import SpillError
from gpugda.match.matcher import total_count
from gpugda.match.need import Count, Groups, Rows
from gpugda.match.report import describe_candidates
from gpugda.match.second_graph import SecondGraph
from gpugda.match.tuple_counts import TupleCounts, multiply_counts, subtract_counts
from gpugda.plan.counting.count_plan import Join, Product, Sum
from gpugda.plan.counting.search import first_plan, plan_of_part
from gpugda.plan.join.join_order import planned_order
from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.plan.join.matching_order import node_steps
from gpugda.plan.plan_feedback import PlanFeedback
from gpugda.thresholds import CountThresholds
from gpugda.types import MAX_WEIGHT, value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.prepared_join import PreparedJoin
    from gpugda.match.need import Need
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan, Part
    from gpugda.plan.plan import BoundQuery, Plan, PlanStep
    from gpugda.thresholds import Thresholds

    Nodes = tuple[int, ...]

__all__ = ["CountsInParts", "ExtendStrategy"]


@value(frozen=True, slots=True, eq=False)
class CountsInParts:
    """Adds and multiplies the counts of parts.

    Args:
        count: Counts a part's embeddings.
        groups: Counts a part's embeddings by some of its query nodes.
        check: Called often; raises when it is time to give up.
    """

    count_part: Callable[[Part], int]
    groups_of_part: Callable[[Part, Groups], Iterable[Embeddings]]
    check: Callable[[], None]

    def count(self, plan: Product | Sum) -> int | None:
        """The number of embeddings.

        Returns None if it is unknown: a term whose tables saturated at 2**63 has an unknown count,
        even if all terms together are fewer.
        """
        if isinstance(plan, Product):
            return math.prod(map(self.count_part, plan.factors))
        total = 0
        for term in plan.terms:
            found = self.count_part(term)
            if found >= int(MAX_WEIGHT):
                return None
            total += term.sign * found
        return total

    def groups(self, plan: Product | Sum, nodes: Nodes) -> Embeddings | None:
        """Each tuple of data nodes of some query nodes once, with its multiplicity.

        Returns None if it is unknown, because a multiplicity of a part saturated.
        """
        if isinstance(plan, Product):
            # All nodes are in the same factor.
            times = math.prod(self.count_part(each) for each in plan.factors if not each.grouped)
            (grouped,) = (each for each in plan.factors if each.grouped)
            return multiply_counts(self._found(grouped, nodes), times)
        sides = {sign: self._no_tuples(nodes) for sign in (1, -1)}
        for term in plan.terms:
            sides[term.sign].add(self._found(term, nodes))
        more, less = (sides[sign].found() for sign in (1, -1))
        return (
            None
            if _has_too_many(more) or _has_too_many(less)
            else subtract_counts(nodes, more, less)
        )

    def _found(self, part: Part, nodes: Nodes) -> Embeddings:
        """The groups of a part, with the positions of the whole query's nodes."""
        wanted = Groups(tuple(sorted(set(part.grouped))), counted=True, streamed=False)
        tuples = self._no_tuples(nodes)
        for chunk in self.groups_of_part(part, wanted):
            places = zip(nodes, part.grouped, strict=True)
            tuples.add(replace(chunk, nodes={node: chunk.nodes[place] for node, place in places}))
        return tuples.found()

    def _no_tuples(self, nodes: Nodes) -> TupleCounts:
        return TupleCounts(nodes, counted=True, check=self.check)


def _has_too_many(found: Embeddings) -> bool:
    return found.weights is not None and bool((found.weights >= MAX_WEIGHT).any())


_SHARE_FOR_KEPT, _SHARE_IF_SEGMENTED = 1 / 16, 1 / 4
"""Shares of the memory for kept queries: with the whole graph resident, and with segments only."""


class _Request(NamedTuple):
    """A query, or a part of one, whose embeddings are counted."""

    bound: BoundQuery
    masks: Masks
    report: StrategyReport
    deadline: float | None


class ExtendStrategy(Engine):
    """Filters candidates, then joins node by node, intersecting the data graph's own rows.

    Args: as `Matcher`, and
        thresholds: The thresholds of its decisions; None for those of the device.
    """

    name = "extend"
    method = "filters candidates, then adds node after node by intersecting neighbours"
    compares = True

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan`: one query node at a time."""
        return node_steps(pattern, planned_order(pattern))

    @classmethod
    def first_attempt_text(cls, pattern: BoundQuery, need: Need) -> str:
        """See `Matcher.first_attempt_text`: what is tried before a count plan is searched."""
        if isinstance(need, Rows) or not pattern.nodes:
            return ""
        counts = ExpectedCandidates([max(1, round(each.cardinality)) for each in pattern.nodes])
        grouped = isinstance(need, Groups)
        streamed = isinstance(need, Groups) and need.streamed
        first = first_plan(pattern, counts, CountThresholds(), grouped=grouped, streamed=streamed)
        return first_text(first)

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
        thresholds: Thresholds | None = None,
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        again = partial(type(self), refinement=refinement, thresholds=thresholds)
        self._beside = SecondGraph(self, again)
        self._thresholds = thresholds or self._context.profile.thresholds
        self._is_segmented, self._may_segment = False, True
        self._has_directory: bool | None = None  # used only if the graph is segmented
        self._join_kernels = self._context.launcher(JoinKernels)
        self._small_filter = self._context.launcher(SmallFilter) if self._context.is_cpu else None
        self._kept = KeptQueries(self._thresholds.join.max_queries)
        self._merged = MergedGraph()
        self._merges = self._context.profile.intersection == "lists"
        self._compiled = CompiledSteps(device_graph.graph, by_rows=not self._merges)
        self._earlier = EarlierPlans()
        self._follows = False

    @property
    def walked_pairs(self) -> int:
        """See `Matcher.walked_pairs`."""
        return self._thresholds.join.walked_pairs

    def placement(self) -> Placement:
        """See `Matcher.placement`: the entries stay on the host if they do not fit."""
        if self._may_segment and not self._is_segmented:
            self._is_segmented = self._outgrows_limit
        if not self._is_segmented:
            return super().placement()
        if self._has_directory is None:
            self._has_directory = self._fits_directory
        return SegmentedPlacement(self._graph, has_directory=self._has_directory)

    @cached_property
    def _outgrows_limit(self) -> bool:
        too_large = whole_bytes(self._graph.graph) > self.limit
        return too_large or self._thresholds.segments.max_entries is not None

    @property
    def _fits_directory(self) -> bool:
        graph = self._graph.graph
        share = self._thresholds.segments.directory_share(is_one_type=len(graph.types) <= 1)
        return directory_bytes(graph) <= self.limit * share

    @contextmanager
    def on(self, graph: DataGraph) -> Generator[Engine | None]:
        """See `Engine.on`: a segmented graph leaves no room for a second one."""
        if not self.placement().is_whole:
            yield None
            return
        with self._beside.used(graph) as beside:
            if isinstance(beside, ExtendStrategy):
                # A query that would need segments is answered by the first graph instead.
                beside._may_segment = False
            yield beside

    def _segment(self, error: MemoryLimitError) -> None:
        """Removes the graph's entries for good, at the second call the starts of runs, too.

        Raises:
            MemoryLimitError: The given error, if that is not possible.
        """
        again = self._is_segmented
        if not self._may_segment or isinstance(error, SpillError):
            raise error
        if again and not self._has_directory:
            raise error

        def leave() -> None:
            self.drop_cached()
            self._is_segmented = True
            self._has_directory = False if again else self._has_directory

        if not self._graph.free_entries(directory=again, before=leave):
            raise error

    def decisions_for(self, graph: DataGraph) -> object:
        """See `Engine.decisions_for`: count plans and compiled steps."""
        if self._is_segmented or not assumptions_hold(self._graph.graph, graph):
            return None
        return self._earlier.for_next_snapshot(self._kept.all()), self._compiled.kept_forms()

    def reuse_decisions(self, decided: object) -> None:
        """See `Engine.reuse_decisions`."""
        if not isinstance(decided, tuple):
            return
        self._earlier, shapes = decided
        self._follows = True
        graph = self._graph.graph
        self._compiled = CompiledSteps(graph, by_rows=not self._merges, shapes=shapes)

    def cached_bytes(self) -> int:
        """See `Matcher.cached_bytes`: includes what is kept of queries, and merged lists."""
        return super().cached_bytes() + self._kept.nbytes + self._merged.nbytes

    def drop_cached(self, but: KeptQuery | None = None) -> int:
        """See `Matcher.drop_cached`; keeps the query ``but``, if given."""
        return self._kept.drop(but=but) + self._merged.drop() + super().drop_cached()

    def count(
        self,
        plan: Plan,
        masks: Masks,
        report: StrategyReport,
        deadline: float | None = None,
        count_plan: FirstPlan | None = None,
    ) -> int:
        """See `Matcher.count`; ``count_plan``: the plan to run, None to find one."""
        if count_plan is None or not self._may_have_rows(plan.bound):
            return super().count(plan, masks, report, deadline)
        return self._counted(_Request(plan.bound, masks, report, deadline), count_plan)

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        report: StrategyReport,
        deadline: float | None = None,
        count_plan: FirstPlan | None = None,
    ) -> Generator[Embeddings]:
        """Yields groups, or rows of the core whose weights are multiplicities.

        As `Matcher.groups`; ``count_plan``: as for `count`.
        """
        if self._may_have_rows(plan.bound):
            request = _Request(plan.bound, masks, report, deadline)
            yield from self._groups(request, need, count_plan)

    def weighted_count(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        factors: Sequence[NDArray[np.uint32]],
        report: StrategyReport,
        deadline: float | None = None,
    ) -> int | None:
        """See `Engine.weighted_count`: works if the groups' sums are on the device."""
        if not self._may_have_rows(plan.bound) or not self.placement().is_whole:
            return None
        goal = Goal(grouped=need, in_parts=True)
        try:
            with self.running(report, deadline) as run:
                with run.locked():
                    prepared = self._prepared(run, plan.bound, masks, need.rows, goal)
                return weighted_groups(run, prepared, need, factors)
        except MemoryLimitError:
            return None

    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        need: Rows,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """See `Matcher.embeddings`: segments the graph if it leaves no room for the rows."""
        find = partial(super().embeddings, plan, masks, need, report, deadline)
        while not (yield from retried(find(), self._segment)):
            pass

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> PreparedCore | None:
        """See `Matcher.start`."""
        rows = NOTHING if isinstance(need, Count) else need
        goal = Goal(counting=isinstance(need, Count))
        prepared = self._prepared(run, pattern, masks, rows, goal)
        assert not isinstance(prepared, (Product, Sum, Embeddings))
        return prepared

    # ------------------------------------------------------------------ counts and groups
    def _groups(
        self, request: _Request, need: Groups, first: FirstPlan | None, *, in_parts: bool = True
    ) -> Generator[Embeddings]:
        """As `groups`, for a query or a part; without a count plan if memory is short."""
        goal = Goal(grouped=need, in_parts=in_parts and not need.streamed, first=first)
        if (yield from retried(self._groups_once(request, goal, need))):
            return
        self._free_for_join(request)
        join_only = Goal(grouped=need, join_only=True)
        if (yield from retried(self._groups_once(request, join_only, need), self._segment)):
            return
        yield from self._groups(request, need, first, in_parts=in_parts)

    def _groups_once(self, request: _Request, goal: Goal, need: Groups) -> Generator[Embeddings]:
        with self.running(request.report, request.deadline) as run:
            with run.locked():
                prepared = self._prepared(run, request.bound, request.masks, need.rows, goal)
            if isinstance(prepared, PreparedCore):
                yield from groups_of_rows(run, prepared, need)
            elif isinstance(prepared, Embeddings):
                yield prepared
            if not isinstance(prepared, (Product, Sum)):
                return
        found = self._in_parts(request).groups(prepared, need.nodes)
        if found is None:
            yield from self._groups(request, need, None, in_parts=False)
        else:
            # Groups with a sum of zero vanish: their terms cancel out.
            yield found if need.counted else replace(found, weights=None)

    def _counted(self, request: _Request, first: FirstPlan | None, *, in_parts: bool = True) -> int:
        """The number of embeddings; if memory is short, joins without a count plan."""
        mark = request.report.steps.mark()
        try:
            return self._count_once(request, Goal(counting=True, in_parts=in_parts, first=first))
        except QueryTimeoutError:
            check_deadline(request.deadline)
            request.report.steps.back_to(mark)
            self._revert_plan(request)
            return self._counted(request, first, in_parts=in_parts)
        except MemoryLimitError:
            self._free_for_join(request)
        try:
            return self._count_once(request, Goal(counting=True, join_only=True))
        except MemoryLimitError as error:
            self._segment(error)
        return self._counted(request, first, in_parts=in_parts)

    def _count(
        self, pattern: BoundQuery, masks: Masks, report: StrategyReport, deadline: float | None
    ) -> int:
        return self._counted(_Request(pattern, masks, report, deadline), None)

    def _count_once(self, request: _Request, goal: Goal) -> int:
        with self.running(request.report, request.deadline) as run:
            with run.locked():
                prepared = self._prepared(run, request.bound, request.masks, NOTHING, goal)
            if not isinstance(prepared, (Product, Sum)):
                assert not isinstance(prepared, Embeddings)
                return 0 if prepared is None else total_count(run, prepared)
        found = self._in_parts(request).count(prepared)
        return self._counted(request, None, in_parts=False) if found is None else found

    def _revert_plan(self, request: _Request) -> None:
        """Reverts to the previous plan, because the trial of another one took too long."""
        query = self._kept.find(request.bound, request.masks)
        if query is not None:
            query.revert_plan()
            reason = "another plan was tried, and abandoned because it took longer"
            request.report.steps.append(reason)

    def _free_for_join(self, request: _Request) -> None:
        """Frees memory for a plain join, which is tried next."""
        self._kept.drop()
        request.report.steps.append("the memory limit only leaves room for a plain join")

    def _in_parts(self, request: _Request) -> CountsInParts:
        def of(part: Part) -> _Request:
            whole = request.report
            describe_count_part(whole, self._graph.graph, request.bound, part)
            report = StrategyReport(
                whole.timings, whole.steps, progress=whole.progress, memory=whole.memory
            )
            return _Request(part.pattern, part.masks(request.masks), report, request.deadline)

        def count(part: Part) -> int:
            return self._counted(of(part), plan_of_part(part, self._thresholds.count))

        def groups(part: Part, need: Groups) -> Generator[Embeddings]:
            return self._groups(of(part), need, part.plan)

        return CountsInParts(count, groups, partial(check_deadline, request.deadline))

    # ------------------------------------------------------------------ before the join
    def _prepared(
        self, run: Run, bound: BoundQuery, masks: Masks, wanted: Rows, goal: Goal
    ) -> PreparedCore | Product | Sum | Embeddings | None:
        """Does everything before the join. Returns a core, a plan of parts, or the groups."""
        started, joining = run.graph.context.clock(), run.report.timings.get("join", 0.0)
        if self._merges and run.placement.is_whole:
            self._merged.make_due(run)
        with run.stage("filter"):
            query = self._query(run, bound, masks, counting=goal.counts)
        if query.candidates is None:
            return None
        run.workspace.free_cached = lambda: run.workspace.uncount(self.drop_cached(query))
        describe_candidates(run.report, bound, query.candidates)
        run.report.explored = query.candidates.explored
        if query.candidates.explored:
            run.report.steps.append("candidates with matching neighbours")
        if query.feedback.replan_reason:
            run.report.steps.append(query.feedback.replan_reason)
            run.report.corrections = dict(query.feedback.corrections)
        trial = query.feedback.trial_seconds if goal.may_be_abandoned else None
        if trial is not None:
            run = run.until(time.monotonic() + trial)
        joins = self._joins(run, query, query.candidates)
        done: PreparedJoin | Embeddings | None = None
        plan: CountPlan = Join()
        if goal.counts and not goal.join_only:
            plan, done = Attempts(joins, goal, self._thresholds.count).decide(wanted)
        if isinstance(plan, (Product, Sum)):
            return plan
        if isinstance(done, Embeddings):
            return done
        joined = done or joins.joined(plan, wanted, counting=goal.counting)
        with run.stage("join"):
            rows = joins.grouped(None if goal.join_only else goal.grouped, joined)
        check_room(run.workspace, joined.steps, joined.windows.pending_bytes)
        key = plan_key(goal, self._thresholds.count)
        ended = partial(self._ended, joins, joined, key, started, joining)
        return PreparedCore(bound, masks.comparisons, joined, rows, ended)

    def _ended(
        self, joins: JoinBuilder, joined: PreparedJoin, key: object, started: float, joining: float
    ) -> None:
        run = joins.run
        joins.judge(joined, key, started)
        if self._merges and run.placement.is_whole:
            # The stage contains compiling, the clock what is done before the join and beside it.
            seconds = run.report.timings.get("join", 0.0) - joining
            joins.note(joined, min(seconds, run.graph.context.clock() - started))

    def _joins(self, run: Run, query: KeptQuery, candidates: Candidates) -> JoinBuilder:
        return JoinBuilder(
            run,
            self._join_kernels,
            self._compiled,
            self._thresholds.join,
            query,
            candidates,
            CandidateRanks(run, candidates),
            self._merged,
            self._thresholds.segments,
        )

    def _query(self, run: Run, bound: BoundQuery, masks: Masks, *, counting: bool) -> KeptQuery:
        """The kept query if its predicates select the same again, otherwise a new one."""
        query = self._kept.find(bound, masks)
        if query is None:
            count = self._thresholds.count
            query = KeptQuery(bound, masks, PlanFeedback(count.replan_rows), count)
            if run.placement.is_whole:
                self._earlier.look_up(query)
            query.candidates = self._candidates(run, query, counting=counting)
            self._earlier.apply(query)
            run.workspace.hand_over(*query.arrays())
            query.count_bytes()
            share = _SHARE_FOR_KEPT if run.placement.is_whole else _SHARE_IF_SEGMENTED
            self._kept.add(query, int((self.limit - self._graph.nbytes) * share))
        if query.candidates is not None:
            graph = query.candidates.arrays.graph
            if isinstance(graph, LazyArguments):
                graph.budget = run.workspace.budget
        run.at_end.callback(self._kept.recount, query)
        return query

    def _candidates(self, run: Run, query: KeptQuery, *, counting: bool) -> Candidates | None:
        """Updates the candidates of an earlier snapshot, or finds them from scratch."""
        before = None if query.earlier is None else query.earlier.candidates
        changed = None if before is None else update_from_snapshot(run, query, before)
        if changed is not None:
            found, query.on_host = changed
            return found
        small, limits = self._small_filter, self._thresholds.filter
        query.candidates = find_candidates(
            run, query, small, self._rounds, limits, counting=counting
        )
        if self._follows and run.placement.is_whole:
            query.on_host = candidates_on_host(run, query)
        return query.candidates
