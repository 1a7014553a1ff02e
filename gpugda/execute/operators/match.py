"""Joins rows with the embeddings of a query graph."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import MemoryLimitError
from gpugda.execute.aggregation.grouped_counts import LARGEST_INTEGER, too_large
from gpugda.execute.batch import Batch, in_batches, product_of
from gpugda.execute.operator import Operator
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.patterns.matching import Selected, compared, masked, narrowed
from gpugda.execute.patterns.needs import identifies_embeddings, need_of
from gpugda.execute.patterns.oriented_form import may_be_oriented, timing_batches, timing_unoriented
from gpugda.execute.patterns.witnesses import is_found, prefers_witnesses, witnesses
from gpugda.execute.seeds import Seeds, entity_column
from gpugda.match.embeddings import Embeddings
from gpugda.match.need import Count, Groups, Rows
from gpugda.match.registry import plan_pattern
from gpugda.match.report import walked_text
from gpugda.match.walk import may_walk, walk
from gpugda.plan.bind import bind
from gpugda.plan.pattern.merge_nodes import merged_names
from gpugda.plan.plan_basis import PlanBasis
from gpugda.plan.tree_text import pattern_text
from gpugda.query.ast import Variable
from gpugda.query.query_graph import OutputColumn, Query
from gpugda.query.shapes import variable_names
from gpugda.stages import Stage
from gpugda.types import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.operands import Operand
    from gpugda.match.need import Need
    from gpugda.match.walk import Walked
    from gpugda.plan.plan import BoundQuery, Plan
    from gpugda.query.query_graph import QueryGraph


__all__ = ["Match", "PatternOperator", "naming_pattern"]

_LONGEST_PATTERN: Final = 200
"""Characters of a pattern in an error."""


_SKIPPED: Final = 16
"""Runs of a pattern that begin no walk after one that read too much: most would do so again."""


class Planned(NamedTuple):
    """A plan, the graph that it was last used for, held weakly, and what it rests on."""

    graph: weakref.ref[DataGraph]
    strategy: str
    plan: Plan
    basis: PlanBasis


class PatternOperator(Operator):
    """An operator whose pattern is matched on the device."""

    _planned: Planned | None = None

    @property
    @abstractmethod
    def query(self) -> Query:
        """The pattern as a query."""

    @abstractmethod
    def need(self, bound: BoundQuery) -> Need:
        """What the strategy must compute, given the predicates left for the rows."""

    def distinct_variables(self) -> frozenset[str]:
        """The single node or directed relationship that makes up a pattern without input rows.

        Nodes at a relationship may repeat over rows.
        """
        graph = self.query.graph
        parts = (len(graph.nodes), len(graph.relationships))
        if self.children or parts not in ((1, 0), (2, 1)):
            return frozenset()
        return frozenset(
            each.name
            for each in graph.relationships or graph.nodes
            if getattr(each, "directed", True)
        )

    def plan_on(self, graph: DataGraph, strategy: str) -> Plan:
        """The plan of the pattern, kept for the next run on this graph or on a later state.

        Queries on different states may run at the same time, so the kept plan is read once.
        """
        kept = self._planned
        if kept is not None and kept.strategy == strategy:
            if kept.graph() is graph:
                return kept.plan
            if kept.basis.holds_for(graph):
                plan = kept.plan.for_later_state()
                self._planned = Planned(weakref.ref(graph), strategy, plan, kept.basis)
                return plan
        bound = bind(self.query, graph)
        plan = plan_pattern(bound, graph.statistics, strategy, self.need(bound))
        self._planned = Planned(weakref.ref(graph), strategy, plan, PlanBasis.of(graph))
        return plan


@contextmanager
def naming_pattern(graph: QueryGraph, context: ExecutionContext) -> Iterator[None]:
    """Makes memory errors of a block name the pattern, unless it is the whole query."""
    try:
        yield
    except MemoryLimitError as error:
        if context.one_pattern:
            raise
        text = pattern_text(graph)
        if len(text) > _LONGEST_PATTERN:
            text = f"{text[:_LONGEST_PATTERN]} …"
        raise MemoryLimitError(f"{error} (for {text} alone)") from error


_LARGEST_WEIGHT: Final = 2**63
"""Cap of a weight: larger counts overflow every aggregate."""


class Match(PatternOperator):
    """Joins each row with each embedding that fits it.

    The pattern is matched once for all distinct tuples of the bound variables, with these nodes as
    the only candidates, and the embeddings are then joined to the rows.

    Args:
        child: Input rows; None for one row without columns.
        graph: The query graph.
        bound: Pattern variables that are columns of the input.
        wanted: Other pattern variables that are read.
        text: Query text.
        weighted: True if rows may have weights.
        once: True if equal rows may be dropped.
        asked: The query, if it consists of this pattern and one projection: the join then computes
            the least that its answer depends on.
    """

    _need: tuple[BoundQuery, Need] | None = None
    _skipped: int = 0

    def __init__(
        self,
        child: Operator | None,
        graph: QueryGraph,
        bound: tuple[str, ...],
        wanted: tuple[str, ...],
        text: str,
        *,
        weighted: bool = False,
        once: bool = False,
        asked: Query | None = None,
    ) -> None:
        self.children = () if child is None else (child,)
        before = () if child is None else child.columns
        self.graph = graph
        self.bound = bound
        self.wanted = tuple(name for name in wanted if name not in before)
        self.columns = (*before, *self.wanted)
        self.weighted = weighted
        self.once = once
        self._text = text
        self._asked = asked

    # -------------------------------------------------------------- rows
    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        plan = self.plan_on(context.graph, context.strategy.name)
        report = context.report_of(self)
        found = masked(plan, context.graph, context.values, report, context.deadline)
        if not self.children:
            yield from self._all(plan, () if found is None else self._alone(found, context))
            return
        selected: Selected | None = None
        for batch in in_batches(self.children[0].batches(context), context.enough):
            if found is None or batch.row_count == 0:
                yield self._none_of(batch)
                continue
            walked = self._walked_from(found, batch, context)
            if walked is not None:
                yield walked
                continue
            selected = selected or self._compared(found, context)
            yield from self._joined(plan, selected, batch, context)

    def _alone(self, found: Selected, context: ExecutionContext) -> Iterable[Embeddings]:
        """The embeddings without input rows."""
        walked = self._walked(found, context)
        if walked is not None:
            return self._read(walked, found.rest, context)
        if self._may_be_oriented(found.plan):
            oriented = self._oriented(found.plan, context)
            if oriented is not None:
                return oriented
        return self._embeddings(self._compared(found, context), context)

    def _compared(self, found: Selected, context: ExecutionContext) -> Selected:
        report, deadline = context.report_of(self), context.deadline
        return compared(found, context.graph, context.strategy, context.values, report, deadline)

    # -------------------------------------------------------------- without a launch
    def _walked(
        self,
        found: Selected,
        context: ExecutionContext,
        given: Mapping[int, NDArray[np.uint32]] | None = None,
    ) -> Walked | None:
        """The embeddings, found on the host; None if there may be too many pairs."""
        bound, most = found.plan.bound, context.strategy.walked_pairs
        if not bound.nodes or not may_walk(bound, most, given or ()):
            return None
        if self._skipped:
            self._skipped -= 1
            return None
        report = context.report_of(self)
        with Stage(report.timings, "join"):
            walked = walk(bound, found.masks, context.graph, most, given)
        if walked is None:
            self._skipped = _SKIPPED
        else:
            types, steps = context.graph.types, walked.steps  # without the rows
            report.steps.add_later(lambda: walked_text(types, bound, steps))
        return walked

    def _walked_from(
        self, found: Selected, batch: Batch, context: ExecutionContext
    ) -> Batch | None:
        places = self.places(found.plan.bound)
        names = [name for name in self.bound if name in places]
        if batch.row_count > context.strategy.walked_pairs:
            return None
        if not names or not all(places[name][0] for name in names):
            return None
        columns = [entity_column(batch.columns[n], batch.row_count, is_node=True) for n in names]
        there = [column.valid for column in columns if column.valid is not None]
        if there:
            rows = np.flatnonzero(np.logical_and.reduce(there))
            batch, columns = batch.kept(rows), [column.take(rows) for column in columns]
        given = {places[name][1]: c.values for name, c in zip(names, columns, strict=True)}
        if len(given) < len(names):  # two variables are one node
            return None
        walked = self._walked(found, context, given)
        if walked is None:
            return None
        read = (*self.wanted, *_names_in(found.rest))
        added = {name: _column(places[name], walked) for name in read}
        held = [places[name] for name in (*self.bound, *self.wanted)]
        apart = batch.distinct and identifies_embeddings(held, found.plan.bound)
        joined = replace(batch.take(walked.rows).adding(added), distinct=apart)
        joined = kept_rows(joined, found.rest.residuals, context)
        wanted = (*batch.columns, *self.wanted)
        return replace(joined, columns={name: joined.columns[name] for name in wanted})

    def _read(
        self, walked: Walked, rest: BoundQuery, context: ExecutionContext
    ) -> Iterator[Embeddings]:
        """What the operators above read of a walk without input rows."""
        need, count = self.need(rest), len(walked.rows)
        if isinstance(need, Count):
            yield self._number(count)
            return
        rows = need.rows if isinstance(need, Groups) else need
        nodes = {each: walked.nodes[each] for each in rows.nodes}
        arrows = {each: walked.relationships[each] for each in rows.relationships}
        yield _filtered(Embeddings(count, nodes, arrows), rest, context)

    # -------------------------------------------------------------- by the strategy
    def _joined(
        self, plan: Plan, selected: Selected, batch: Batch, context: ExecutionContext
    ) -> Iterator[Batch]:
        places = self.places(plan.bound)
        names = [name for name in self.bound if name in places]
        nodes = [name for name in names if places[name][0]]
        seeds = Seeds(batch, nodes, [name for name in names if not places[name][0]])
        yield self._none_of(batch)
        if not len(seeds.rows):
            return
        graph = context.graph
        chosen: dict[bool, dict[int, NDArray[np.uint32]]] = {True: {}, False: {}}
        for name in names:
            is_node, position = places[name]
            count = graph.node_count if is_node else graph.relationship_count
            words = seeds.bitmap(name, count)
            before = chosen[is_node].get(position)
            chosen[is_node][position] = words if before is None else before & words
        for chunk in self._embeddings(narrowed(selected, chosen[True], chosen[False]), context):
            found = self._batch(plan, chunk)
            keys = {name: found.columns[name].values for name in names}  # type: ignore[union-attr]
            apart = batch.distinct and found.distinct
            found = found.only(name for name in found.columns if name not in batch.columns)
            for rows, embeddings in seeds.joined(keys, chunk.row_count):
                yield _side_by_side(batch.take(rows), found.take(embeddings), apart=apart)

    def _embeddings(self, selected: Selected, context: ExecutionContext) -> Iterator[Embeddings]:
        with naming_pattern(self.graph, context):
            yield from self._matched(selected, context)

    def _matched(self, selected: Selected, context: ExecutionContext) -> Iterator[Embeddings]:
        plan, masks, rest = selected.plan, selected.masks, selected.rest
        strategy, report, deadline = context.strategy, context.report_of(self), context.deadline
        need, runner = self.need(rest), context.runner
        if isinstance(need, Count):
            found = is_found(selected, strategy, report, deadline) if self.once else None
            if found is not None:
                yield Embeddings(int(found), {}, {})
                return
            with timing_unoriented(plan, context.graph):
                count = runner.count(plan, masks, report, deadline)
            yield self._number(count)
            return
        if isinstance(need, Groups):
            once = None if rest.residuals else witnesses(selected, strategy, need, report, deadline)
            chunks = once or runner.groups(plan, masks, need, report, deadline)
        else:
            if context.enough is not None:
                need = replace(need, enough=context.enough)
            chunks = runner.embeddings(plan, masks, need, report, deadline)
        if rest is plan.bound:
            chunks = timing_batches(chunks, plan, context.graph, need)
        with closing(chunks):  # LIMIT closes early, which frees the device at once
            for chunk in chunks:
                yield _filtered(chunk, rest, context)

    def _all(self, plan: Plan, chunks: Iterable[Embeddings]) -> Iterator[Batch]:
        is_found = False
        for chunk in chunks:
            is_found = True
            yield self._batch(plan, chunk)
        if not is_found:
            yield self.nothing()

    def _may_be_oriented(self, plan: Plan) -> bool:
        bound = plan.bound
        return may_be_oriented(bound) and not prefers_witnesses(plan, self.need(bound))

    def _oriented(self, plan: Plan, context: ExecutionContext) -> Iterable[Embeddings] | None:
        """Embeddings found in the oriented graph; None if that does not apply."""
        from gpugda.execute.patterns.oriented_count import (  # few patterns
            count_oriented,
            groups_oriented,
        )
        from gpugda.execute.patterns.oriented_rows import computed_first, rows_oriented

        need, of = self.need(plan.bound), (plan, context.graph, context.strategy)
        given = context.values, context.report_of(self), context.deadline
        if isinstance(need, Rows):
            leaves_early = context.enough is not None
            return None if leaves_early else computed_first(rows_oriented(*of, need, *given))
        if isinstance(need, Groups):
            groups = groups_oriented(*of, need, *given)
            return None if groups is None else [groups]
        count = count_oriented(*of, *given, context.exchange)
        return None if count is None else [self._number(count)]

    def _number(self, count: int) -> Embeddings:
        """One row with the count as its weight; no row for 0."""
        if self.once:
            return Embeddings(min(count, 1), {}, {})
        if count > LARGEST_INTEGER and self._asked is not None and self._asked.aggregates:
            raise too_large(self._asked, 0, f"the count is {count}")
        weights = [min(count, _LARGEST_WEIGHT)] if count else []
        return Embeddings(len(weights), {}, {}, np.array(weights, np.uint64))

    def _batch(self, plan: Plan, chunk: Embeddings) -> Batch:
        names = (*self.bound, *self.wanted)
        places = self.places(plan.bound) if names else {}
        columns = {name: _column(places[name], chunk) for name in names}
        distinct = chunk.distinct or identifies_embeddings(
            [places[name] for name in names], plan.bound
        )
        return Batch(chunk.row_count, columns, chunk.weights, distinct=distinct)

    def nothing(self) -> Batch:
        """See `Operator.nothing`."""
        before = {} if not self.children else self.children[0].nothing().columns
        return self._none_of(Batch(0, before))

    def _none_of(self, batch: Batch) -> Batch:
        nodes, empty = {each.name for each in self.graph.nodes}, np.zeros(0, dtype=np.uint32)
        added: dict[str, Operand] = {
            name: Column(ColumnKind.NODE if name in nodes else ColumnKind.RELATIONSHIP, empty)
            for name in self.wanted
        }
        return batch.take(np.zeros(0, dtype=np.int64)).adding(added)

    # -------------------------------------------------------------- the plan
    @property
    def query(self) -> Query:
        """The query; otherwise the pattern as a query that returns the variables read."""
        if self._asked is not None:
            return self._asked
        names = (*self.bound, *self.wanted)
        columns = tuple(OutputColumn(each, Variable(NOWHERE, each)) for each in names)
        return Query(self._text, self.graph, columns)

    def need(self, bound: BoundQuery) -> Need:
        """Rows; groups or a count if rows may have weights."""
        kept = self._need  # read once: another thread may replace it
        if kept is None or kept[0] is not bound:
            kept = self._need = (bound, self._find_need(bound))
        return kept[1]

    def _find_need(self, bound: BoundQuery) -> Need:
        if self._asked is not None:
            return need_of(bound.query, bound)
        rows = _rows({*self.bound, *self.wanted, *_names_in(bound)}, self.places(bound))
        once = self.once and len(rows.nodes) == 1  # several nodes: counts take fewer rows
        if not (self.weighted or once) or bound.residuals or rows.relationships:
            return rows
        if not rows.nodes:
            return Count()
        return Groups(tuple(sorted(rows.nodes)), counted=not once, streamed=False)

    def places(self, bound: BoundQuery) -> dict[str, tuple[bool, int]]:
        """For each variable, True if it is a node, and its position; includes merged nodes."""
        found = {each.name: (False, each.position) for each in reversed(bound.relationships)}
        found |= {each.name: (True, each.position) for each in bound.nodes}
        if len(bound.nodes) < len(self.graph.nodes):
            found |= {name: found[one] for name, one in merged_names(self.graph).items()}
        return found

    def describe(self) -> str:
        """Describes the pattern."""
        given = f" given {', '.join(map(_shown, self.bound))}" if self.bound else ""
        return f"{pattern_text(self.graph)}{given}"


def _column(place: tuple[bool, int], found: Embeddings | Walked) -> Operand:
    is_node, position = place
    if is_node:
        return Column(ColumnKind.NODE, found.nodes[position])
    return Column(ColumnKind.RELATIONSHIP, found.relationships[position])


def _shown(name: str) -> str:
    return "_" if name.startswith("\0") else name


def _names_in(bound: BoundQuery) -> set[str]:
    return {name for each in bound.residuals for name in variable_names(each)}


def _rows(names: set[str], places: Mapping[str, tuple[bool, int]]) -> Rows:
    found = [places[name] for name in names]
    return Rows(
        frozenset(position for is_node, position in found if is_node),
        frozenset(position for is_node, position in found if not is_node),
    )


def _filtered(chunk: Embeddings, rest: BoundQuery, context: ExecutionContext) -> Embeddings:
    """The embeddings that satisfy the residual predicates."""
    if not rest.residuals:
        return chunk
    columns: dict[str, Operand] = {
        each.name: Column(ColumnKind.NODE, chunk.nodes[each.position])
        for each in rest.nodes
        if each.position in chunk.nodes
    }
    columns |= {
        each.name: Column(ColumnKind.RELATIONSHIP, chunk.relationships[each.position])
        for each in rest.relationships
        if each.position in chunk.relationships
    }
    rows: Operand = Column(ColumnKind.INTEGER, np.arange(chunk.row_count))
    batch = kept_rows(Batch(chunk.row_count, {**columns, "\0place": rows}), rest.residuals, context)
    if batch.row_count == chunk.row_count:
        return chunk
    kept = batch.columns["\0place"].values  # type: ignore[union-attr]
    return Embeddings(
        len(kept),
        {place: column[kept] for place, column in chunk.nodes.items()},
        {place: column[kept] for place, column in chunk.relationships.items()},
        None if chunk.weights is None else chunk.weights[kept],
    )


def _side_by_side(rows: Batch, found: Batch, *, apart: bool) -> Batch:
    weights = rows.weights if found.weights is None else found.weights
    if rows.weights is not None and found.weights is not None:
        weights = product_of(rows.weights, found.weights)
    return Batch(rows.row_count, {**found.columns, **rows.columns}, weights, distinct=apart)
