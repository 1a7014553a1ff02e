"""The strategy ``extend``: filter candidates, then add query node after query node."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from gpugda.deadline import check_deadline
from gpugda.device.launch.extend import ExtensionKernels
from gpugda.device.launch.extend_rows import RowKernels
from gpugda.device.launch.leaf_products import ProductKernels
from gpugda.device.launch.row_groups import GroupKernels
from gpugda.device.launch.small_filter import SmallFilter
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.extend.cache import KeptQueries, KeptQuery
from gpugda.match.extend.candidate_estimates import leaves_nothing, pays_exploring, with_counts
from gpugda.match.extend.compiled_steps import CompiledSteps
from gpugda.match.extend.counting.leaves import LeafProduct
from gpugda.match.extend.counting.parts import Product, Sum
from gpugda.match.extend.counting.search import best_way
from gpugda.match.extend.encode import upload_steps
from gpugda.match.extend.filter import filter_for_extension
from gpugda.match.extend.groups import GroupSums, RowWeights, sums_fit
from gpugda.match.extend.in_parts import CountsInParts
from gpugda.match.extend.join import ExtendWindows
from gpugda.match.extend.join_plan import BranchWays, Joined
from gpugda.match.extend.leaf_counts import LeafMultiplier, has_room
from gpugda.match.extend.memory import check_room, least_bytes, said_how_much
from gpugda.match.extend.order import planned_order
from gpugda.match.extend.prepared import Goal, PreparedCore, of_each, weighed_rows
from gpugda.match.extend.ranks import CandidateRanks
from gpugda.match.extend.report import describe_part
from gpugda.match.matcher import Matcher, add_up
from gpugda.match.need import Count, Groups, Rows
from gpugda.match.report import describe_candidates
from gpugda.match.tuple_counts import TupleCounts
from gpugda.plan.node_steps import node_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.leaves import Branch
    from gpugda.match.extend.counting.parts import Part, Way
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, Plan, PlanStep

__all__ = ["ExtendStrategy"]

_SHARE_FOR_KEPT = 1 / 16
"""Of the memory beside the graph."""


class ExtendStrategy(Matcher):
    """Candidates, and a join node by node that intersects the rows of the data graph itself."""

    name = "extend"
    method = "filters candidates, then adds node after node by intersecting neighbours"
    compares = True

    @classmethod
    def plan_steps(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan_steps`: query node by query node."""
        return node_steps(pattern, planned_order(pattern))

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._extensions = ExtensionKernels(self._context)
        self._rows = RowKernels(self._context)
        self._products = ProductKernels(self._context)
        self._small_filter = SmallFilter(self._context) if self._context.is_cpu else None
        self._kept = KeptQueries()
        by_rows = self._context.tuning.intersection == "marks"
        self._compiled = CompiledSteps(device_graph.graph, by_rows=by_rows)

    def kept_bytes(self) -> int:
        """With what is kept of queries."""
        return super().kept_bytes() + self._kept.nbytes

    def give_up_kept(self, but: KeptQuery | None = None) -> int:
        """Perhaps without one query."""
        return self._kept.drop(but=but) + super().give_up_kept()

    @cached_property
    def _groups(self) -> GroupKernels:
        return GroupKernels(self._context)

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        wanted: Groups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """Groups, or rows of the core that stand for several embeddings. Raises as `embeddings`.

        Leaves that are not grouped by are multiplied.
        """
        if not self._may_have_rows(plan.bound):
            return
        yield from self._count_by(plan.bound, masks, wanted, report, deadline)

    def _count_by(
        self,
        bound: BoundQuery,
        masks: Masks,
        wanted: Groups,
        report: StrategyReport,
        deadline: float | None,
        known: Part | None = None,
        *,
        in_parts: bool = True,
    ) -> Generator[Embeddings]:
        """As `groups`, of a whole query or of a part; with little memory by joining alone."""
        is_begun = False
        count = partial(self._counted_by, bound, masks, wanted, report, deadline)
        try:
            for found in count(known, in_parts=in_parts):
                is_begun = True
                yield found
            return
        except MemoryLimitError:
            if is_begun:
                raise
        self._note_thrift(report)
        yield from count(None, in_parts=False, thrifty=True)

    def _note_thrift(self, report: StrategyReport) -> None:
        """Makes room for joining alone, which is tried next."""
        self._kept.drop()
        report.steps.append("the memory limit leaves room for nothing but joining")

    def _counted_by(
        self,
        bound: BoundQuery,
        masks: Masks,
        wanted: Groups,
        report: StrategyReport,
        deadline: float | None,
        known: Part | None,
        *,
        in_parts: bool,
        thrifty: bool = False,
    ) -> Generator[Embeddings]:
        columns = Rows(frozenset(wanted.nodes), frozenset())
        in_parts = in_parts and not wanted.streamed
        goal = Goal(grouped=wanted, in_parts=in_parts, known=known, thrifty=thrifty)
        with self._run(report, deadline) as run:
            with run.locked():
                ready = self._ready(run, bound, masks, columns, goal)
            if isinstance(ready, PreparedCore):
                yield from self._groups_of_rows(run, ready, wanted)
            elif isinstance(ready, Embeddings):
                yield ready
            if not isinstance(ready, (Product, Sum)):
                return
        found = self._in_parts(bound, report, deadline).groups(ready, wanted.nodes)
        if found is None:
            yield from self._count_by(bound, masks, wanted, report, deadline, in_parts=False)
        else:
            # Of what does not come, parts counted as much as others took away.
            yield found if wanted.counted else replace(found, weights=None)

    def _groups_of_rows(
        self, run: Run, prepared: PreparedCore, wanted: Groups
    ) -> Generator[Embeddings]:
        if isinstance(prepared.grouped, GroupSums):
            yield self._summed(run, prepared, prepared.grouped)
            return
        rows = prepared.grouped
        made = self._chunks(run, prepared) if rows is None else weighed_rows(run, prepared, rows)
        with closing(made) as chunks:
            if wanted.streamed:
                yield from chunks
                return
            tuples = TupleCounts(wanted.nodes, counted=wanted.counted, check=run.check_deadline)
            for chunk in chunks:
                with run.stage("tail"):
                    tuples.add(chunk)
        yield tuples.found()

    def _summed(self, run: Run, prepared: PreparedCore, sums: GroupSums) -> Embeddings:
        def add(table: Table | None) -> None:
            if table is not None:
                sums.add(table)

        for _ in of_each(run, prepared, prepared.joined.cores(), add):
            pass
        with run.locked(), run.stage("fetch"):
            return sums.found()

    def _count(
        self,
        bound: BoundQuery,
        masks: Masks,
        report: StrategyReport,
        deadline: float | None,
        known: Part | None = None,
        *,
        in_parts: bool = True,
    ) -> int:
        """The number of embeddings; with little memory by joining alone."""
        count = partial(self._counted, bound, masks, report, deadline)
        try:
            return count(known, in_parts=in_parts)
        except MemoryLimitError:
            self._note_thrift(report)
        return count(None, in_parts=False, thrifty=True)

    def _counted(
        self,
        bound: BoundQuery,
        masks: Masks,
        report: StrategyReport,
        deadline: float | None,
        known: Part | None,
        *,
        in_parts: bool,
        thrifty: bool = False,
    ) -> int:
        nothing = Rows(frozenset(), frozenset())
        goal = Goal(counting=True, in_parts=in_parts, known=known, thrifty=thrifty)
        with self._run(report, deadline) as run:
            with run.locked():
                ready = self._ready(run, bound, masks, nothing, goal)
            if not isinstance(ready, (Product, Sum)):
                assert not isinstance(ready, Embeddings)
                return 0 if ready is None else add_up(run, ready)
        found = self._in_parts(bound, report, deadline).count(ready)
        if found is None:
            return self._count(bound, masks, report, deadline, in_parts=False)
        return found

    def _in_parts(
        self, bound: BoundQuery, report: StrategyReport, deadline: float | None
    ) -> CountsInParts:
        def said(part: Part) -> StrategyReport:
            describe_part(report, self._graph.graph, bound, part)
            return StrategyReport(
                report.timings, report.steps, progress=report.progress, memory=report.memory
            )

        def count(part: Part) -> int:
            return self._count(part.bound, part.masks, said(part), deadline, part)

        def groups(part: Part, wanted: Groups) -> Generator[Embeddings]:
            return self._count_by(part.bound, part.masks, wanted, said(part), deadline, part)

        return CountsInParts(count, groups, partial(check_deadline, deadline))

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> PreparedCore | None:
        """See `Matcher.start`."""
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        goal = Goal(counting=isinstance(need, Count))
        ready = self._ready(run, pattern, masks, rows, goal)
        assert not isinstance(ready, (Product, Sum, Embeddings))
        return ready

    def _ready(
        self, run: Run, bound: BoundQuery, masks: Masks, wanted: Rows, goal: Goal
    ) -> PreparedCore | Product | Sum | Embeddings | None:
        """Everything before the join, what is to be counted instead, or the groups already."""
        with said_how_much(self.limit, self._graph.graph, bound, masks):
            with run.stage("filter"):
                query = self._query(run, bound, masks, counting=goal.counts)
            if query.candidates is None:
                return None
            run.workspace.give_way = lambda: run.workspace.uncount(self.give_up_kept(query))
            describe_candidates(run.report, bound, query.candidates)
            if query.candidates.explored:
                run.report.steps.append("candidates with fitting neighbours")
            candidates, ranks = query.candidates, CandidateRanks(run, query.candidates)
            done: Joined | Embeddings | None = None

            def is_done(seconds: float | None) -> bool:
                nonlocal done
                done = self._tried(run, query, candidates, goal, seconds)
                return done is not None

            way = None
            if goal.counts and not goal.thrifty:
                way = self._way(run, query, candidates, wanted.nodes, is_done, goal)
            if isinstance(way, (Product, Sum)):
                return way
            if isinstance(done, Embeddings):
                return done
            joined = done or self._joined(
                run, query, candidates, ranks, way, wanted, counting=goal.counting
            )
            with run.stage("join"):
                grouped = None if goal.thrifty else goal.grouped
                rows = self._grouped(run, grouped, candidates, ranks, joined)
        check_room(run.workspace, joined.steps)
        return PreparedCore(bound, masks.comparisons, joined, rows)

    def _tried(
        self,
        run: Run,
        query: KeptQuery,
        candidates: Candidates,
        goal: Goal,
        seconds: float | None,
    ) -> Joined | Embeddings | None:
        """What comes of joining everything in so many seconds, or at once, if it can be done.

        Either a join that has counted, or all groups. Groups are not made at once.
        """
        wanted = goal.grouped
        nodes = frozenset[int]() if wanted is None else frozenset(wanted.nodes)
        columns, counting = Rows(nodes, frozenset()), wanted is None
        if wanted is not None and (wanted.streamed or seconds is None):
            return None
        report = StrategyReport(run.report.timings, candidates=run.report.candidates)

        def work(run: Run) -> Joined | Embeddings | None:
            run = replace(run, report=report)
            # Its own, for what is allocated here is released where this is given up.
            ranks = CandidateRanks(run, candidates)
            found: Joined | Embeddings | None
            joined = self._joined(run, query, candidates, ranks, None, columns, counting=counting)
            if seconds is not None:
                check_room(run.workspace, joined.steps)
            started = time.perf_counter()
            if wanted is None:
                with run.stage("join"):
                    joined.windows.count_all(at_once=seconds is None)
                found = None if joined.windows.counted is None else joined
            else:
                rows = self._grouped(run, wanted, candidates, ranks, joined)
                core = PreparedCore(query.bound, query.masks.comparisons, joined, rows)
                (found,) = self._groups_of_rows(run, core, wanted)
            if found is not None:
                query.took = time.perf_counter() - started
            return found

        found = work(run) if seconds is None else run.tried(seconds, work)
        if isinstance(found, Embeddings):
            run.report.steps.add_later(lambda: report.steps)
        return found

    def _joined(
        self,
        run: Run,
        query: KeptQuery,
        candidates: Candidates,
        ranks: CandidateRanks,
        product: LeafProduct | None,
        wanted: Rows,
        *,
        counting: bool,
    ) -> Joined:
        """What joins a query, or the core of a product."""
        left_out, masks = frozenset[int](), query.masks
        if product is not None:
            left_out = product.left_out.union(*product.weighed)
            masks = product.masks(masks)
            wanted = Rows(product.columns | wanted.nodes, frozenset())
        key = (wanted, left_out, counting)
        if key not in query.steps:
            steps = self._compiled.steps(
                query, product, masks, wanted, candidates, counting=counting
            )
            words = upload_steps(run, steps, candidates, masks.keys)
            run.workspace.hand_over(*words.uploaded())
            query.add_steps(key, steps, words)
        steps, words = query.steps[key]
        windows = ExtendWindows(run, self._extensions, self._rows, steps, words, candidates)
        if product is None:
            return Joined(steps, windows)
        with run.stage("join"):
            columns = steps[-1].variables
            multiplier = LeafMultiplier(
                run, self._products, product, candidates, masks, columns, ranks
            )
        branches = [
            self._branch(run, query, candidates, ranks, each, multiplier.sums_of_branch(number))
            for number, each in enumerate(product.branches)
        ]
        return Joined(steps, windows, multiplier, branches)

    def _branch(
        self,
        run: Run,
        query: KeptQuery,
        candidates: Candidates,
        ranks: CandidateRanks,
        branch: Branch,
        place: tuple[DeviceArray, int],
    ) -> BranchWays:
        roots = Rows(frozenset(branch.roots), frozenset())
        joined = self._joined(run, query, candidates, ranks, branch.product, roots, counting=False)
        check_room(run.workspace, joined.steps)
        with run.stage("join"):
            by_roots = Groups(branch.roots, counted=True, streamed=False)
            variables, arrays = joined.steps[-1].variables, joined.arrays
            sums = GroupSums(
                run, self._groups, by_roots, candidates, variables, arrays, ranks, place
            )
        return BranchWays(branch.roots, joined, sums)

    def _grouped(
        self,
        run: Run,
        wanted: Groups | None,
        candidates: Candidates,
        ranks: CandidateRanks,
        joined: Joined,
    ) -> GroupSums | RowWeights | None:
        """What groups or weighs rows; None where they come as they are."""
        if wanted is None:
            return None
        least, variables = least_bytes(joined.steps), joined.steps[-1].variables
        arrays = joined.arrays
        if not wanted.streamed and sums_fit(run, wanted, candidates, least):
            return GroupSums(run, self._groups, wanted, candidates, variables, arrays, ranks)
        if arrays is None:
            return None
        return RowWeights(run, self._groups, wanted, candidates, variables, arrays, least)

    def _way(
        self,
        run: Run,
        query: KeptQuery,
        candidates: Candidates,
        grouped: frozenset[int],
        is_done: Callable[[float | None], bool],
        goal: Goal,
    ) -> Way:
        """What is multiplied, or added up, instead of joined."""
        for pairs in (True, False):
            find = partial(
                best_way,
                query.bound,
                self._graph.graph,
                query.masks,
                candidates,
                grouped,
                pairs=pairs,
                is_cpu=self._context.is_cpu,
                is_done=is_done,
                took=query.took,
                order=query.order,
                check=run.check_deadline,
                in_parts=goal.in_parts,
                known=goal.known if pairs else None,
            )
            found = query.way((grouped, goal.in_parts, pairs), find)
            if not isinstance(found, LeafProduct):
                return found
            if has_room(run, found, self._products, candidates):
                return found
        return None

    def _query(self, run: Run, bound: BoundQuery, masks: Masks, *, counting: bool) -> KeptQuery:
        """The candidates, from the last run of the same query if its predicates left the same."""
        query = self._kept.find(bound, masks)
        if query is None:
            query = KeptQuery(bound, masks)
            if not leaves_nothing(masks):
                query.candidates = self._candidates(run, query, counting=counting)
            run.workspace.hand_over(*query.arrays())
            free = self.limit - self._graph.nbytes
            self._kept.add(query, int(free * _SHARE_FOR_KEPT))
        return query

    def _candidates(self, run: Run, query: KeptQuery, *, counting: bool) -> Candidates | None:
        graph, masks = self._graph.graph, query.masks
        counted = with_counts(query.bound, masks, graph)

        def leaves() -> frozenset[int]:
            product = query.leaf_product(graph) if counting else None
            return frozenset() if product is None else product.leaves

        explore = pays_exploring(counted, graph, leaves, is_cpu=self._context.is_cpu)
        return filter_for_extension(
            run, self._small_filter, counted, masks, self._rounds, explore=explore
        )
