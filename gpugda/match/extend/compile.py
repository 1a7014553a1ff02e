"""Computes the columns that each step of the strategy ``extend`` reads, tests, keeps and adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.deadline import check_time
from gpugda.device.graph.segment_views import MAX_PARTS
from gpugda.device.launch.derived_lists import ListKind
from gpugda.device.launch.extend import Extension, KeyTest, Link, LinkFlags, Test
from gpugda.match.extend.drafts import Draft, ExtendKind, make_drafts
from gpugda.match.extend.merged_graph import list_kind, source_of
from gpugda.match.extend.step import ExtendStep
from gpugda.plan.comparisons import Comparison, key_places
from gpugda.plan.counting.problem import may_be_cycle
from gpugda.plan.row_tests import all_type_ids, max_parallel_of_all, type_ids, variable_tests
from gpugda.plan.variables import Variable, node_variable, relationship_variable
from gpugda.thresholds import MAX_LINKS

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.extend.merged_graph import Source
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.plan.row_tests import VariableTest

    Forms = dict[object, tuple[ExtendStep, ...]]

__all__ = ["WITH_NODE", "CompiledSteps", "Links", "StepCompiler", "StepForm", "StepForms"]

WITH_NODE = (ExtendKind.EXTEND, ExtendKind.COUNT)
"""Kinds whose position is the query node that they bind or count."""


_PLACES = 2
"""Places of lists that kernels see: outgoing and incoming."""


class StepForm(NamedTuple):
    """Properties of a step.

    Attributes:
        fits_all: True if the candidates need not be checked, because the step itself checks all
            that they must have.
        searched_only: True if rows can be intersected as plain sorted lists.
        by_rows: True if its tests only state that nodes or relationships differ, or compare nodes.
        counts_lengths: True if every entry gives a row.
        merged: True if some of the lists are merged ones.
    """

    fits_all: bool
    searched_only: bool
    by_rows: bool
    counts_lengths: bool
    merged: bool = False


class StepForms:
    """Determines the forms of a query's steps.

    Args:
        bound: The query.
        graph: Determines which relationships need no check.
        masks: The nodes and relationships that pass the predicates.
        known: Query relationships whose identity is needed.
        merged: Kinds of merged lists that exist.
        by_rows: True for a device whose work items go row by row.

    Attributes:
        type_counts: Number of types that each query relationship allows.
        single: For each query relationship, True if at most one matches between two given nodes.
    """

    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        masks: Masks,
        known: Container[int],
        *,
        merged: Container[ListKind],
        by_rows: bool,
    ) -> None:
        relationships = bound.relationships
        self._graph = graph
        self._merged = merged
        self.type_counts = [len(types) for types in all_type_ids(relationships, graph)]
        self.single = [most == 1 for most in max_parallel_of_all(relationships, graph)]
        self._bound = bound
        self._masks = masks
        self._by_rows = by_rows
        self._unknown = [
            each.position not in masks.relationships and each.position not in known
            for each in relationships
        ]
        self._plain = [
            each.directed and types == 1 and self._unknown[each.position]
            for each, types in zip(relationships, self.type_counts, strict=True)
        ]
        self._at: list[set[int]] = [set() for _ in bound.nodes]
        for each in relationships:
            self._at[each.source].add(each.position)
            self._at[each.target].add(each.position)

    def of(self, draft: Draft) -> StepForm:
        """The form of a step with these tests."""
        if draft.kind not in WITH_NODE:
            # The lengths of a closing step count the relationships that match.
            closes = draft.kind is ExtendKind.CLOSE and not draft.multiplies
            return StepForm(False, False, False, closes and not draft.tests)
        fits_all = self._fits_all(draft)
        only_nodes, only_differ = _test_properties(draft)
        plain = only_nodes and self._has_plain_lists(draft)
        merged = not plain and self._merges(draft)
        return StepForm(
            fits_all,
            plain or (merged and only_nodes and self._are_single(draft)),
            self._by_rows and only_differ,
            fits_all and self._counts_lengths(draft),
            merged,
        )

    def _fits_all(self, draft: Draft) -> bool:
        node = draft.position
        return (
            not self._bound.nodes[node].labels
            and node not in self._masks.nodes
            and self._at[node].issubset(draft.links)
        )

    def _has_plain_lists(self, draft: Draft) -> bool:
        if draft.multiplies:
            return False
        is_one = len(draft.links) == 1
        return all(self._plain[each] and (is_one or self.single[each]) for each in draft.links)

    def _merges(self, draft: Draft) -> bool:
        """True if merged lists can replace the graph's lists, one kind per direction."""
        sources: set[Source] = set()
        for position in draft.links:
            if not self._unknown[position]:
                return False
            each = self._bound.relationships[position]
            kind = list_kind(each, each.other_end(draft.position), self._graph)
            sources.add(source_of(kind, self._graph))
        merged = {each for each in sources if isinstance(each, ListKind)}
        is_there = all(each in self._merged for each in merged)
        return bool(merged) and is_there and len(sources) <= _PLACES

    def _are_single(self, draft: Draft) -> bool:
        """True if at most one entry of each list gives a row, or there is only one list."""
        if draft.multiplies or not draft.bound.issuperset(draft.links):
            return False
        return len(draft.links) == 1 or all(self.single[each] for each in draft.links)

    def _counts_lengths(self, draft: Draft) -> bool:
        if draft.kind is ExtendKind.COUNT or draft.tests or draft.multiplies:
            return False
        only, *others = draft.links
        if others or only in self._masks.relationships:
            return False
        return self._bound.relationships[only].directed


def _test_properties(draft: Draft) -> tuple[bool, bool]:
    """Two flags: all tests concern the added node; all concern that or differing relationships."""
    node, links = node_variable(draft.position), draft.links
    only_nodes = True
    for test in draft.tests:
        if not _excludes_nodes(test, node):
            only_nodes = False
            if not _requires_different(test, links):
                return False, False
    return only_nodes, True


def _excludes_nodes(test: VariableTest | Comparison, added: Variable) -> bool:
    """True if it only excludes the row's nodes from the added node, or limits the node's key."""
    left, right = test.left, test.right
    if isinstance(test, Comparison):
        return (left == added or right == added) and left.is_node and right.is_node
    if test.equal or not left.is_node:
        return False
    is_there = left == added or right == added
    if is_there and left == right:
        return False
    if test.second is None:
        return is_there
    left, right = test.second
    if left == added or right == added:
        return left != right
    return is_there


def _requires_different(test: VariableTest | Comparison, links: Sequence[int]) -> bool:
    """True if it only states that an added relationship differs from another one."""
    left, right = test.left, test.right
    return (
        not isinstance(test, Comparison)
        and not test.equal
        and not left.is_node
        and (left.position in links or right.position in links)
    )


class Links:
    """Makes the links of a query.

    Args:
        bound: The query.
        graph: Determines which types exist, and which have self-loops.
        slots: Slot of each relationship that has a bitmap.
        known: Query relationships whose identity is needed.
        forms: The forms of the steps.
        is_whole: True if all relationships are on the device.
    """

    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        slots: Mapping[int, int],
        known: Container[int],
        forms: StepForms,
        *,
        is_whole: bool,
    ) -> None:
        self._bound = bound
        self._graph = graph
        self._slots = slots
        self._known = known
        self._forms = forms
        self._has_one_type = len(graph.types) <= 1
        self._finds_any_type = is_whole and not self._has_one_type

    def link(
        self,
        draft: Draft,
        form: StepForm,
        position: int,
        start: int,
        place: Mapping[Variable, int],
        added: Mapping[Variable, int],
    ) -> Link:
        """The link of one relationship of a step.

        Args:
            draft: The step.
            form: The form in which it can be executed.
            position: Position of the relationship.
            start: Query node at its bound end.
            place: Columns of old variables.
            added: Columns of new variables.
        """
        each = self._bound.relationships[position]
        is_loop = each.source == each.target
        starts = each.source == start
        return Link(
            column=place[node_variable(start)],
            # A self-loop is in both rows of its node: the outgoing row is enough.
            outgoing=is_loop or starts or not each.directed,
            incoming=not is_loop and (not starts or not each.directed),
            types=each.types,
            mask_slot=self._slots.get(position),
            relationship_column=added.get(relationship_variable(position)),
            flags=self._flags(draft, form, each),
        )

    def _flags(self, draft: Draft, form: StepForm, each: BoundRelationship) -> int:
        position, flags = each.position, 0
        if position in self._slots or position in self._known:
            flags |= LinkFlags.NEEDS_RELATIONSHIP
        if position not in draft.bound:
            flags |= LinkFlags.DISTINCT
        if position in draft.multiplies or (
            (len(draft.links) > 1 or form.by_rows)
            and position in draft.bound
            and not self._forms.single[position]
        ):
            flags |= LinkFlags.SEVERAL
        if self._has_one_type:
            flags |= LinkFlags.SORTED_ROWS
        if self._forms.type_counts[position] == 1:
            flags |= LinkFlags.PLAIN
        if not each.directed and self._has_loops(each):
            flags |= LinkFlags.LOOPS
        if each.types is None and self._finds_any_type:
            flags |= LinkFlags.EITHER_END
        return flags

    def _has_loops(self, each: BoundRelationship) -> bool:
        return any(self._graph.statistics.loop_counts[kind] for kind in type_ids(each, self._graph))


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


_MAX_SHAPES = 256
_MAX_FORMS = 256
"""Maximum number of forms per shape, and for all cycles."""


class CompiledSteps:
    """The compiled steps of one graph's queries.

    Args:
        graph: Determines which tests can be omitted.
        by_rows: True for a CPU, whose work items process rows one by one if a step allows it.
        shapes: See `kept_forms`, from an earlier snapshot for which `assumptions_hold` holds.
    """

    def __init__(
        self, graph: DataGraph, *, by_rows: bool, shapes: dict[object, Forms] | None = None
    ) -> None:
        self._graph = graph
        self._by_rows = by_rows
        self._shapes: dict[object, Forms] = {} if shapes is None else shapes
        self._cycles: Forms = {}  # whether their sums fit depends on the number of relationships

    def kept_forms(self) -> dict[object, Forms]:
        """The steps that a later snapshot starts with, as copies.

        Queries of this snapshot continue meanwhile. The facts that each snapshot takes for certain
        were not compared with the other's, so neither may use the other's later steps.
        """
        return {shape: dict(forms) for shape, forms in tuple(self._shapes.items())}

    def steps(
        self,
        query: KeptQuery,
        plan: Eliminate | None,
        masks: Masks,
        wanted: Rows,
        candidates: Candidates,
        merged: frozenset[ListKind],
        *,
        counting: bool,
        is_whole: bool,
    ) -> tuple[ExtendStep, ...]:
        """The steps of a query, or of the core of a plan whose rows are made.

        Args:
            query: Knows its orders.
            plan: The plan that eliminates nodes; None if everything is joined.
            masks: Those of the core.
            wanted: The columns of the last table.
            candidates: Candidates of the query nodes.
            merged: Kinds of merged lists that exist.
            counting: True if only the number of rows is needed.
            is_whole: True if all relationships are on the device.
        """
        bound = query.bound
        counted = () if plan is None else tuple(each[0] for each in plan.rows)
        order = query.order(frozenset() if plan is None else plan.not_bound)
        core = bound if plan is None else plan.core
        # The rows of the matrix depend on which query nodes the predicates restrict.
        rows = tuple(candidates.rows.items())
        # A plan may leave tests and comparisons to its messages.
        tested = None if plan is None else (core.tests, masks.comparisons)
        explored = candidates.explored
        counting = counting and plan is None
        # It is part of the key, and would cause further compilations, so it is set only if it
        # matters.
        of_cycle = counting and self._by_rows and may_be_cycle(bound.relationships)
        fewest = min(order, key=candidates.count) if of_cycle else None
        forms = self._forms(query) if fewest is None else self._cycles
        kind = (counting, explored, fewest, merged, is_whole)
        key: object = (tuple(order), rows, counted, tested, wanted, kind)
        if fewest is not None:
            key = query.shape, key
        found = forms.get(key)
        if found is None:
            compiler = StepCompiler(
                core,
                self._graph,
                masks,
                wanted,
                candidates.rows,
                merged,
                by_rows=self._by_rows,
                is_whole=is_whole,
            )
            found = compiler.steps(
                order, counting=counting, counted=counted, explored=explored, fewest=fewest
            )
            if len(forms) >= _MAX_FORMS:
                forms.clear()
            forms[key] = found
        return found

    def _forms(self, query: KeptQuery) -> Forms:
        if query.forms is None:
            if len(self._shapes) >= _MAX_SHAPES:
                self._shapes.clear()
            query.forms = self._shapes.setdefault(query.shape, {})
        return query.forms
