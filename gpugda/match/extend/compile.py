"""Computes the columns that each step of the strategy ``extend`` reads, tests, keeps and adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.device.graph.segment_views import MAX_PARTS
from gpugda.device.launch.extend import Extension, KeyTest, Test
from gpugda.match.extend.drafts import Draft, ExtendKind, make_drafts
from gpugda.match.extend.links import Links
from gpugda.match.extend.step import ExtendStep
from gpugda.match.extend.step_forms import WITH_NODE, StepForms
from gpugda.plan.comparisons import Comparison, key_places
from gpugda.plan.row_tests import variable_tests
from gpugda.plan.variables import Variable, node_variable, relationship_variable
from gpugda.thresholds import MAX_LINKS

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.derived_lists import ListKind
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.step_forms import StepForm
    from gpugda.match.need import Rows
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.row_tests import VariableTest

__all__ = ["StepCompiler"]


class StepCompiler:
    """Compiles a query's steps.

    Args:
        bound: The query.
        graph: Determines which tests and relationships can be omitted.
        masks: The nodes and relationships that pass the predicates.
        wanted: Columns of the last table.
        rows: Row of each query node in the candidate matrix.
        merged: Kinds of merged lists that exist.
        by_rows: True for a CPU, whose work items process rows one by one if a step allows it.
        is_whole: True if all relationships are on the device.
    """

    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        masks: Masks,
        wanted: Rows,
        rows: Mapping[int, int],
        merged: Container[ListKind],
        *,
        by_rows: bool,
        is_whole: bool,
    ) -> None:
        self._by_rows = by_rows
        self._max_links = MAX_LINKS if is_whole else MAX_PARTS
        self._bound = bound
        self._graph = graph
        self._masks = masks
        self._rows = rows
        self._tests = variable_tests(bound, graph, masks.comparisons)
        self._wanted = {Variable(True, each) for each in wanted.nodes}
        self._wanted |= {Variable(False, each) for each in wanted.relationships}
        tested = self._wanted.union(*(each.variables() for each in masks.comparisons))
        for test in self._tests:
            if not test.left.is_node:
                tested.update(test.variables())
        self._known = {each.position for each in tested if not each.is_node}
        self._key_places = key_places(masks.keys) if masks.keys else []
        self._slots = {position: slot for slot, position in enumerate(masks.relationships)}
        self._forms = StepForms(bound, graph, masks, self._known, merged=merged, by_rows=by_rows)
        self._links = Links(bound, graph, self._slots, self._known, self._forms, is_whole=is_whole)

    def steps(
        self,
        order: Sequence[int],
        *,
        counting: bool,
        counted: Collection[int],
        explored: bool,
        fewest: int | None,
    ) -> tuple[ExtendStep, ...]:
        """The steps with their columns.

        Args:
            order: Query nodes in join order.
            counting: True if only the number of rows is needed.
            counted: Query nodes that are not in the order, and are counted per row.
            explored: True if each candidate has the neighbours that its query relationships
                require.
            fewest: The query node with the fewest candidates, from which a cycle is counted; None
                if the query is no cycle or rows are made.
        """
        drafts = make_drafts(
            self._bound,
            self._graph,
            order,
            self._tests,
            self._known,
            self._masks.comparisons,
            counting=counting,
            counted=counted,
            loops_seen=self._loops_seen() if explored else frozenset(),
            max_links=self._max_links,
        )
        if self._by_rows:
            place = {node: number for number, node in enumerate(order)}
            for draft in drafts:
                self._sort_links(draft, place)
        forms = [self._form_of(draft) for draft in drafts]
        ends = [self._ends(draft, form) for draft, form in zip(drafts, forms, strict=True)]
        last_reads = self._last_reads(drafts, ends)
        steps: list[ExtendStep] = []
        columns: tuple[Variable, ...] = ()
        for number, draft in enumerate(drafts):
            check_time()
            kept = [each for each in columns if last_reads[each] > number]
            new = [each for each in draft.added() if last_reads.get(each, 0) > number]
            steps.append(self._compile(draft, forms[number], ends[number], columns, kept, new))
            columns = steps[-1].variables
        if fewest is not None:
            from gpugda.match.special.cycles import find_cycle  # few queries are cycles

            cycle = find_cycle(self._bound, self._graph, self._masks, self._rows, fewest)
            steps[-1] = steps[-1]._replace(cycle=cycle)
        return tuple(steps)

    def _form_of(self, draft: Draft) -> StepForm:
        """The form of a step; if it goes pair by pair, redundant tests are dropped."""
        form = self._forms.of(draft)
        if form.searched_only or form.by_rows or not any(map(_is_redundant, draft.tests)):
            return form
        draft.tests = [each for each in draft.tests if not _is_redundant(each)]
        return self._forms.of(draft)

    def _loops_seen(self) -> frozenset[int]:
        """Self-loops that hold for every candidate of their node."""
        return frozenset(
            each.position
            for each in self._bound.relationships
            if each.source == each.target
            and self._forms.single[each.position]
            and each.position not in self._slots
            and each.position not in self._known
        )

    def _last_reads(
        self, drafts: Sequence[Draft], ends: Sequence[Sequence[Variable]]
    ) -> dict[Variable, int]:
        """The last step whose tests or links read a variable; one more if the result needs it."""
        last_reads: dict[Variable, int] = {}
        for number, draft in enumerate(drafts):
            last_reads.update(dict.fromkeys(ends[number], number))
            for test in draft.tests:
                for variable in test.variables():
                    last_reads[variable] = number
            for position in draft.links:
                each = self._bound.relationships[position]
                last_reads[node_variable(each.source)] = number
                last_reads[node_variable(each.target)] = number
        last_reads.update(dict.fromkeys(self._wanted, len(drafts)))
        return last_reads

    def _sort_links(self, draft: Draft, place: Mapping[int, int]) -> None:
        """Sorts links in the order in which their nodes are bound: the last one changes fastest."""
        if len(draft.links) > 1:
            links = sorted(draft.links, key=lambda each: place[self._bound_end(draft, each)])
            draft.links = tuple(links)

    def _ends(self, draft: Draft, form: StepForm) -> list[Variable]:
        """Both ends of each old relationship that a test of a row-by-row step compares."""
        if not form.by_rows:
            return []
        old = [
            self._bound.relationships[each.position]
            for test in draft.tests
            if not isinstance(test, Comparison) and not test.left.is_node
            for each in (test.left, test.right)
            if each.position not in draft.links
        ]
        return [node_variable(end) for each in old for end in (each.source, each.target)]

    # ------------------------------------------------------------------ columns
    def _compile(
        self,
        draft: Draft,
        form: StepForm,
        ends: Sequence[Variable],
        old: tuple[Variable, ...],
        kept: Sequence[Variable],
        new: Sequence[Variable],
    ) -> ExtendStep:
        place = self._places(draft, old)
        kept_columns = tuple([place[each] for each in kept])
        added = {each: number for number, each in enumerate(new, len(kept))}
        tests, early = self._columns_of(draft, place, len(old))
        node_column = added.get(node_variable(draft.position))
        bound_ends = tuple([self._bound_end(draft, each) for each in draft.links])
        if draft.links:
            links = tuple(
                [
                    self._links.link(draft, form, each, start, place, added)
                    for each, start in zip(draft.links, bound_ends, strict=True)
                ]
            )
            is_close = draft.kind is ExtendKind.CLOSE
            extension = Extension(
                candidate_row=None if is_close or form.fits_all else self._rows[draft.position],
                node_column=node_column,
                bound_column=place[self._target(draft.position)] if is_close else None,
                kept=kept_columns,
                tests=tests,
                links=links,
                early=early,
                ends=tuple([place[each] for each in ends]),
            )
        elif draft.kind is ExtendKind.NODES:
            row = self._rows[draft.position]
            extension = Extension(row, node_column, None, kept_columns, (), ())
        else:
            extension = Extension(None, None, None, kept_columns, tests, ())
        return ExtendStep(
            draft.kind,
            draft.position,
            draft.links,
            bound_ends,
            (*kept, *new),
            extension,
            form.counts_lengths,
            form.searched_only,
            draft.max_rows,
            form.by_rows,
            tuple([e.text for e in draft.tests if isinstance(e, Comparison) and e.text]),
            merged=form.merged,
        )

    def _places(self, draft: Draft, old: tuple[Variable, ...]) -> dict[Variable, int]:
        """The column of each variable that tests and links may name; added ones follow the old."""
        place = dict(zip(old, range(len(old)), strict=True))
        if draft.kind in WITH_NODE:
            place[node_variable(draft.position)] = len(old)
        for number, position in enumerate(draft.links, len(old) + 1):
            if position in draft.bound:
                place[relationship_variable(position)] = number
        return place

    def _columns_of(
        self, draft: Draft, place: Mapping[Variable, int], width: int
    ) -> tuple[tuple[Test | KeyTest, ...], int]:
        """The tests, and the number of leading ones that need no relationship of the step.

        ``width``: number of old columns.
        """
        before: list[Test | KeyTest] = []
        after: list[Test | KeyTest] = []
        closes = draft.kind is ExtendKind.CLOSE
        for each in draft.tests:
            if isinstance(each, Comparison):
                test: Test | KeyTest = self._key_test(each, place)
            else:
                left, right, equal, others = each
                second = None if others is None else (place[others[0]], place[others[1]])
                test = Test(place[left], place[right], equal, second)
            is_late = closes or test.left > width or test.right > width
            (after if is_late else before).append(test)
        return (*before, *after), len(before)

    def _key_test(self, test: Comparison, place: Mapping[Variable, int]) -> KeyTest:
        slots = (test.left_keys, test.right_keys)
        places = [None if slot is None else self._key_places[slot] for slot in slots]
        return KeyTest(place[test.left], place[test.right], test.outcomes, *places)

    def _target(self, position: int) -> Variable:
        return node_variable(self._bound.relationships[position].target)

    def _bound_end(self, draft: Draft, position: int) -> int:
        each = self._bound.relationships[position]
        if draft.kind in WITH_NODE and each.source == draft.position:
            return each.target
        return each.source


def _is_redundant(test: VariableTest | Comparison) -> bool:
    """True if the test follows from others, and only narrows lists intersected row by row."""
    return isinstance(test, Comparison) and test.is_redundant
