"""Prepares the joins of one query: of the whole query, or of the cores of a count plan.

Modules for segmented graphs are imported only if they are needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.device.graph.lazy_arguments import LazyArguments
from gpugda.match.extend.encode import JoinSetup, upload_steps
from gpugda.match.extend.groups import GroupSums, RowWeights, sums_fit
from gpugda.match.extend.join_windows import ExtendWindows
from gpugda.match.extend.memory import check_room, min_bytes
from gpugda.match.extend.merged_graph import list_kinds
from gpugda.match.extend.messages import CandidateRanks, Messages, bytes_of, has_room
from gpugda.match.extend.prepared_join import PreparedJoin, TableSums
from gpugda.match.extend.segments.degrees import groups_read, works_segmented
from gpugda.match.extend.step_tables import StepTables
from gpugda.match.need import Groups, Rows
from gpugda.plan.counting.count_plan import Eliminate, Join
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery, ReducedGraph
    from gpugda.match.extend.compile import CompiledSteps
    from gpugda.match.extend.encode import JoinKernels, StepWords
    from gpugda.match.extend.merged_graph import MergedGraph
    from gpugda.match.extend.segments.link_tests import PlanSteps
    from gpugda.match.extend.segments.views import SegmentNeeds
    from gpugda.match.extend.segments.waiting import WaitingRows
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.match.special.square_sums import SquareSums
    from gpugda.match.special.triangle_sums import TriangleSums
    from gpugda.plan.counting.count_plan import TableMessage
    from gpugda.thresholds import JoinLimits, SegmentLimits

__all__ = ["JoinBuilder"]


@value(frozen=True, slots=True, eq=False)
class JoinBuilder:
    """Builds the joins of one query, which has candidates, in one run.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        compiled: Compiled steps.
        limits: Limits of the join's windows and launches.
        query: The kept query.
        candidates: Its candidates.
        ranks: Ranks of the candidates.
        merged: Merged lists of its graph.
        segments: Limits of the segments of a graph beyond the memory limit.
        reduced: The entries that the joins use, if they were found to fit.
        packs: True if degrees are packed; None until that is decided.
    """

    run: Run
    kernels: JoinKernels
    compiled: CompiledSteps
    limits: JoinLimits
    query: KeptQuery
    candidates: Candidates
    ranks: CandidateRanks
    merged: MergedGraph
    segments: SegmentLimits
    reduced: ReducedGraph | None = None
    packs: bool | None = None

    def within(self, run: Run) -> JoinBuilder:
        """The same joins in a separate run, where they release what they allocate."""
        return replace(self, run=run, ranks=CandidateRanks(run, self.candidates))

    def has_room(self, plan: Eliminate, wanted: Rows, *, counting: bool) -> bool:
        """True if the messages fit in memory, and a segmented graph can produce them.

        Args: as `joined`.
        """
        if self.run.placement.is_whole:
            return self._holds(plan, packs=False) or self._holds(plan, packs=True)
        if not works_segmented(plan):
            return False
        longest = bytes_of(self.run, plan, self.kernels.products, self.candidates, packs=True)[1]
        if longest > self.run.graph.context.info.max_allocation_bytes:
            return False
        # Joining all nodes takes far longer than small segments do.
        joins = list(self._all_steps(plan, wanted, counting=counting))
        return replace(self, packs=True)._leaves_room(plan, joins)

    def _leaves_room(self, plan: Eliminate, joins: Sequence[PlanSteps]) -> bool:
        """True if segments fit beside the messages."""
        from gpugda.match.extend.segments.views import leaves_room

        return leaves_room(self.run, self._segment_needs(plan, joins))

    def _holds(self, plan: Eliminate, *, packs: bool) -> bool:
        products, share = self.kernels.products, self.limits.share_for_messages
        return has_room(self.run, plan, products, self.candidates, share, packs=packs)

    def _must_pack(self, plan: Eliminate, wanted: Rows, *, counting: bool) -> bool:
        """True if degrees only fit if they are packed, which takes longer."""
        if not self._holds(plan, packs=False):
            return True
        if self.run.placement.is_whole:
            return False
        joins = list(self._all_steps(plan, wanted, counting=counting))
        return not replace(self, packs=False)._leaves_room(plan, joins)

    def joined(
        self,
        plan: Join | Eliminate,
        wanted: Rows,
        *,
        counting: bool,
        views: SegmentViews | None = None,
    ) -> PreparedJoin:
        """The prepared join of the query, or of the core of a plan that eliminates nodes.

        Args:
            plan: The plan.
            wanted: Columns of the last table.
            counting: True if only the number of rows is needed.
            views: Segments of the data graph, made earlier for an enclosing plan.
        """
        if self.packs is None and isinstance(plan, Eliminate):
            packs = self._must_pack(plan, wanted, counting=counting)
            return replace(self, packs=packs).joined(plan, wanted, counting=counting)
        if views is None and not self.run.placement.is_whole and self.reduced is None:
            joins = list(self._all_steps(plan, wanted, counting=counting))
            reduced = self._reduced(joins)
            if reduced is not None:
                left = self._of_those_left()
                over = replace(left, candidates=reduced.seen(left.candidates), reduced=reduced)
                return over.joined(plan, wanted, counting=counting)
            self.query.streamed += 1
            # Segments are larger if other queries keep less.
            self.run.workspace.make_room(self.run.workspace.budget.limit_bytes)
            from gpugda.match.extend.segments.views import make_views

            views = make_views(self.run, self._segment_needs(plan, joins))
        if not isinstance(plan, Eliminate):
            masks = self.query.masks
            steps, windows, _ = self._windows(None, masks, wanted, views, counting=counting)
            return PreparedJoin(steps, windows, reduced=self.reduced)
        masks = plan.masks(self.query.masks)
        wanted = _core_wanted(plan, wanted)
        steps, windows, waiting = self._windows(plan, masks, wanted, views, counting=counting)
        with self.run.stage("join"):
            messages = Messages(
                self.run,
                self.kernels.products,
                plan,
                self.candidates,
                masks,
                steps[-1].variables,
                self.ranks,
                views,
                packs=bool(self.packs),
            )
        tables = [
            self._table(each, messages.place_of_table(number), views)
            for number, each in enumerate(plan.tables)
        ]
        shared_entries = None
        if messages.shared and views is not None and waiting is not None:
            from gpugda.match.extend.segments.shared_entries import (
                SharedEntryColumns,
                segmented_product,
            )

            windows.reserve_steps(len(messages.shared))
            products, arrays = self.kernels.products, segmented_product(messages.arrays, views)
            shared_entries = SharedEntryColumns(
                self.run, products, messages.shared, arrays, views, waiting, self.limits
            )
        return PreparedJoin(steps, windows, messages, tables, shared_entries, self.reduced)

    def grouped(self, wanted: Groups | None, joined: PreparedJoin) -> GroupSums | RowWeights | None:
        """What groups or weighs the rows; None if they are passed on unchanged."""
        if wanted is None:
            return None
        run, kernels, limits = self.run, self.kernels.groups, self.limits
        least, variables = min_bytes(joined.steps), joined.steps[-1].variables
        left = self._of_those_left()
        candidates, ranks, arrays = left.candidates, left.ranks, joined.arrays
        if not wanted.streamed and sums_fit(run, wanted, candidates, least, limits):
            return GroupSums(run, kernels, wanted, candidates, variables, arrays, limits, ranks)
        if arrays is None:
            return None
        return RowWeights(run, kernels, wanted, candidates, variables, arrays, limits, least)

    def _of_those_left(self) -> JoinBuilder:
        """With the query's present candidates: selecting entries may have removed some."""
        left = self.query.candidates
        if left is None or left is self.candidates:
            return self
        return replace(self, candidates=left, ranks=CandidateRanks(self.run, left))

    def _windows(
        self,
        plan: Eliminate | None,
        masks: Masks,
        wanted: Rows,
        views: SegmentViews | None,
        *,
        counting: bool,
    ) -> tuple[tuple[ExtendStep, ...], ExtendWindows, WaitingRows | None]:
        steps, words = self._steps(plan, masks, wanted, counting=counting)
        if self.reduced is not None:
            # Counting cycles would start from relationships that no step follows.
            steps = (*steps[:-1], steps[-1]._replace(cycle=None))
            words = words.reading(self.reduced.arguments)
        setup = JoinSetup(self.run, self.kernels, steps, words, self.candidates, self.limits)
        if views is None:
            return steps, ExtendWindows(setup), None
        from gpugda.match.extend.segments.waiting import WaitingRows
        from gpugda.match.extend.segments.windows import SegmentedWindows

        waiting = WaitingRows(self.segments, len(steps), views.nbytes)
        self.run.at_end.callback(waiting.close)
        return steps, SegmentedWindows(setup, views, waiting), waiting

    def _reduced(self, joins: Sequence[PlanSteps]) -> ReducedGraph | None:
        """The entries that the joins can use, if they fit and are smaller than the waiting rows."""
        from gpugda.match.extend.segments.reduce import reduced_for

        least = self._least(joins) + self._message_bytes(joins[0][0])
        return reduced_for(self.run, self.query, joins, self.segments, least)

    def _least(self, joins: Sequence[PlanSteps]) -> int:
        tables = StepTables.min_bytes(self.kernels.extensions) * len(joins)
        return max(min_bytes(steps) for _, steps in joins) + tables

    def _message_bytes(self, plan: Eliminate | None) -> int:
        if plan is None:
            return 0
        products, packs = self.kernels.products, bool(self.packs)
        return bytes_of(self.run, plan, products, self.candidates, packs=packs)[0]

    def _segment_needs(self, plan: Join | Eliminate, joins: Sequence[PlanSteps]) -> SegmentNeeds:
        """The needs of the segments that the plan's joins read one after the other."""
        from gpugda.match.extend.segments.link_tests import paired_bytes
        from gpugda.match.extend.segments.views import needs_of_steps

        graph, masks = self.run.graph.graph, self.query.masks
        eliminated = [each for each, _ in joins if each is not None]
        groups = [
            group for each in eliminated for group in groups_read(each, each.masks(masks), graph)
        ]
        masked = any(each.relationships[0] in masks.relationships for each in groups)
        steps = [step for _, steps in joins for step in steps]
        least = self._least(joins)
        messages = self._message_bytes(plan if isinstance(plan, Eliminate) else None)
        return needs_of_steps(
            self.run,
            steps,
            self.segments,
            least,
            groups,
            messages=messages,
            masked=masked,
            row_bytes=paired_bytes(self.query, joins),
        )

    def _all_steps(
        self, plan: Join | Eliminate, wanted: Rows, *, counting: bool
    ) -> Iterator[tuple[Eliminate | None, tuple[ExtendStep, ...]]]:
        if not isinstance(plan, Eliminate):
            yield None, self._steps(None, self.query.masks, wanted, counting=counting)[0]
            return
        masks, core = plan.masks(self.query.masks), _core_wanted(plan, wanted)
        yield plan, self._steps(plan, masks, core, counting=counting)[0]
        for each in plan.tables:
            separator = Rows(frozenset(each.separator), frozenset())
            yield from self._all_steps(each.plan, separator, counting=False)

    def _steps(
        self, plan: Eliminate | None, masks: Masks, wanted: Rows, *, counting: bool
    ) -> tuple[tuple[ExtendStep, ...], StepWords]:
        """Compiled and uploaded steps, kept from the query's last run if it needed the same."""
        query, run = self.query, self.run
        # Steps outlive what this run knows of the graph.
        candidates = query.candidates or self.candidates
        not_bound = frozenset[int]() if plan is None else plan.not_bound
        key = (wanted, not_bound, counting, self.merged.version)
        if key not in query.steps:
            lists = self.merged.lists
            steps = self.compiled.steps(
                query,
                plan,
                masks,
                wanted,
                self.candidates,
                frozenset(lists),
                counting=counting,
                is_whole=run.placement.is_whole,
            )
            relationships = query.bound.relationships
            words = upload_steps(
                run, steps, candidates, masks.keys, relationships, self.merged, lists
            )
            words = self._looking_at_some(steps, words, masks)
            run.workspace.hand_over(*words.uploaded())
            query.steps[key] = steps, words
        return query.steps[key]

    def _looking_at_some(
        self, steps: Sequence[ExtendStep], words: StepWords, masks: Masks
    ) -> StepWords:
        """The same steps; late graph arguments are replaced by those that the steps read."""
        graph = self.candidates.arrays.graph
        if not isinstance(graph, LazyArguments) or any(step.cycle is not None for step in steps):
            return words
        from gpugda.match.extend.segments.views import knows_relationships

        links = [link for step in steps for link in step.device_links]
        return words.reading(
            graph.of(
                outgoing=any(each.outgoing for each in links),
                incoming=any(each.incoming for each in links),
                numbers=knows_relationships(self.run, steps, masked=bool(masks.relationships)),
            )
        )

    def judge(self, joined: PreparedJoin, goal: object, since: float) -> None:
        """Decides from the rows of a complete run whether another plan should be tried.

        Args:
            joined: The join that ran.
            goal: See `plan_key`.
            since: When it started, by the device's clock.
        """
        windows, query = joined.windows, self.query
        if (
            not windows.is_complete
            or windows.counted_without_rows
            or not self.run.placement.is_whole
        ):
            return
        if query.feedback.should_judge(windows.rows):
            query.join_seconds = self.run.graph.context.clock() - since
            plan = Join() if joined.messages is None else joined.messages.plan
            query.note(goal, plan, *joined.rows_of_nodes(), joined.rows_made)

    def note(self, joined: PreparedJoin, seconds: float) -> None:
        """Records the join's seconds for the lists that would have helped."""
        made = [each for each in joined.tables_first if isinstance(each, TableSums)]
        tables = (step for each in made for step in each.joined.steps)
        relationships, graph = self.query.bound.relationships, self.run.graph.graph
        kinds = list_kinds((*joined.steps, *tables), relationships, graph)
        self.merged.note(kinds, seconds)

    def _table(
        self, message: TableMessage, place: tuple[DeviceArray, int], views: SegmentViews | None
    ) -> TableSums | SquareSums | TriangleSums:
        run, separator = self.run, message.separator
        item_work, masks = self.limits.item_work, self.query.masks
        from gpugda.match.special.square_sums import square_sums
        from gpugda.match.special.triangle_sums import triangle_sums

        for without_rows in (square_sums, triangle_sums):
            found = without_rows(run, message, self.candidates, masks, item_work, place)
            if found is not None:
                return found
        wanted = Rows(frozenset(separator), frozenset())
        joined = self.joined(message.plan, wanted, counting=False, views=views)
        check_room(run.workspace, joined.steps)
        with run.stage("join"):
            sums = GroupSums(
                run,
                self.kernels.groups,
                Groups(separator, counted=True, streamed=False),
                self.candidates,
                joined.steps[-1].variables,
                joined.arrays,
                self.limits,
                self.ranks,
                place,
            )
        return TableSums(separator, joined, sums)


def _core_wanted(plan: Eliminate, wanted: Rows) -> Rows:
    """The columns that rows of a plan's core must hold."""
    return Rows(plan.columns | wanted.nodes, frozenset())
