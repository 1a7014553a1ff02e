"""Multiplies rows by the degrees of their nodes, by look-up, or only counts them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.execute.batch import in_batches, product_of
from gpugda.execute.degrees import degrees, degrees_of_all_nodes, relationship_counts
from gpugda.execute.operator import Operator
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.operators.match import Match
from gpugda.execute.patterns.matching import select
from gpugda.execute.seeds import entity_column
from gpugda.expressions.label_columns import nodes_with_labels
from gpugda.match.engine import Engine
from gpugda.match.need import Groups
from gpugda.plan.label_programs import type_ids
from gpugda.plan.physical import estimate
from gpugda.plan.tree_text import pattern_text
from gpugda.query.ast import Direction, LabelDynamic, LabelPredicate, Variable
from gpugda.query.render import text_of
from gpugda.query.shapes import variable_names
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.match.embeddings import StrategyReport
    from gpugda.plan import logical
    from gpugda.query.ast import Expression, LabelExpression
    from gpugda.query.query_graph import QueryRelationship


__all__ = ["DegreeLookup", "count_by_degrees", "is_degree_lookup", "pays_for_all_nodes"]

_ALL_NODES_FACTOR: Final = 4
"""All nodes' degrees are computed if rows times this number reach the node count."""


def is_degree_lookup(tree: logical.Match, needed: frozenset[str]) -> bool:
    """True if the pattern is one relationship at bound nodes that is only counted.

    A free end may have labels, but no dynamic ones.
    """
    graph = tree.graph
    if len(graph.relationships) != 1 or graph.no_rows is not None:
        return False
    arrow = graph.relationships[0]
    if arrow.name in needed or arrow.name in tree.bound:
        return False
    bound = frozenset(tree.bound)
    if any(not variable_names(each) <= bound for each in graph.predicates):
        return False
    free = [node for node in graph.nodes if node.name not in bound]
    return len(free) < len(graph.nodes) and all(
        node.name not in needed and not any(map(_is_dynamic, node.labels)) for node in free
    )


def _is_dynamic(labels: LabelExpression) -> bool:
    return any(isinstance(each, LabelDynamic) for each in walk(labels))


class DegreeLookup(Operator):
    """Repeats each row by the number of relationships between its two nodes, or at its node.

    Args:
        child: Input rows.
        tree: The pattern, for which `is_degree_lookup` holds.
        weighted: True if rows may carry weights instead of being repeated.
        optional: True if a row without a relationship is returned once.
    """

    def __init__(
        self, child: Operator, tree: logical.Match, *, weighted: bool, optional: bool = False
    ) -> None:
        self.children = (child,)
        self._tree = tree
        self.optional = optional
        self.columns = child.columns
        self.graph = tree.graph
        self.bound = frozenset(tree.bound)
        self.weighted = weighted
        self._conditions = (*tree.graph.predicates, *_label_tests(tree))

    def optional_of(self, child: Operator) -> DegreeLookup | None:
        """The optional form over other rows: rows without a relationship are returned once.

        None if there are predicates on the rows, too.
        """
        if self._conditions:
            return None
        return DegreeLookup(child, self._tree, weighted=self.weighted, optional=True)

    @property
    def only_node(self) -> str | None:
        """The node column that alone determines a row's multiplicity; None if more does."""
        arrow = self.graph.relationships[0]
        if len(self._places) != 1 or self._conditions or not self.weighted or not arrow.directed:
            return None
        return self.graph.nodes[self._places[0]].name

    @property
    def _places(self) -> list[int]:
        arrow = self.graph.relationships[0]
        ends = (arrow.source, arrow.target)
        return [each for each in ends if self.graph.nodes[each].name in self.bound]

    def factors(self, graph: DataGraph) -> NDArray[np.uint32]:
        """Multiplicity of a row by its `only_node`: ``uint32`` per node of the data graph."""
        arrow, (start,) = self.graph.relationships[0], self._places
        types = type_ids(arrow.types, graph.types)
        end = arrow.target if start == arrow.source else arrow.source
        direction, labels = _direction(arrow, start), self.graph.nodes[end].labels
        return _all_degrees(graph, types, direction, labels, optional=self.optional)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        # Searches return many small batches, and some work of each depends on the graph alone.
        for batch in in_batches(self.children[0].batches(context), context.enough):
            context.check()
            counts = self._counts(batch, context)
            if self.optional:
                np.maximum(counts, 1, out=counts)
            if self.weighted:
                found = _weighted(batch, counts)
            else:
                found = batch.take(np.repeat(np.arange(batch.row_count), counts))
            yield kept_rows(found, self._conditions, context)

    def _counts(self, batch: Batch, context: ExecutionContext) -> NDArray[np.int64]:
        arrow = self.graph.relationships[0]
        types = type_ids(arrow.types, context.graph.types)
        ends, places = (arrow.source, arrow.target), self._places
        columns = [
            entity_column(batch.columns[self.graph.nodes[p].name], batch.row_count, is_node=True)
            for p in places
        ]
        if len(columns) == 2:
            one, other = (each.values for each in columns)
            counts = relationship_counts(
                context.graph, one, other, types, _direction(arrow, arrow.source)
            )
        else:
            direction = _direction(arrow, places[0])
            labels = self.graph.nodes[ends[1] if places[0] == ends[0] else ends[0]].labels
            counts = _degrees(context.graph, columns[0].values, types, direction, labels)
        for column in columns:
            if column.valid is not None:
                counts[~column.valid] = 0
        return counts

    def describe(self) -> str:
        """Describes the pattern."""
        optional = "optional " if self.optional else ""
        return f"{optional}{pattern_text(self.graph)} looked up"


def _degrees(
    graph: DataGraph,
    nodes: NDArray[np.uint32],
    types: tuple[int, ...] | None,
    direction: Direction,
    labels: tuple[LabelExpression, ...],
) -> NDArray[np.int64]:
    """As `degrees`; for many nodes it computes and caches the degrees of all nodes."""
    # Null nodes have an index, too, which is out of range in an empty graph.
    few = not pays_for_all_nodes(len(nodes), graph) or not graph.node_count
    if direction is Direction.BOTH or few:
        return degrees(graph, nodes, types, direction, _fitting(graph, labels))
    return _all_degrees(graph, types, direction, labels)[nodes].astype(np.int64)


def pays_for_all_nodes(nodes: float, graph: DataGraph) -> bool:
    """True if there are enough nodes for counting the degrees of all of them."""
    return nodes * _ALL_NODES_FACTOR >= graph.node_count


def _fitting(graph: DataGraph, labels: tuple[LabelExpression, ...]) -> NDArray[np.bool_] | None:
    return nodes_with_labels(graph, labels) if labels else None


def _all_degrees(
    graph: DataGraph,
    types: tuple[int, ...] | None,
    direction: Direction,
    labels: tuple[LabelExpression, ...],
    *,
    optional: bool = False,
) -> NDArray[np.uint32]:
    """Degrees of all nodes, cached with the graph; at least 1 if ``optional`` is set."""
    key = types, direction, tuple(text_of(each) for each in labels)

    def counted() -> NDArray[np.uint32]:
        return degrees_of_all_nodes(graph, types, direction, _fitting(graph, labels))

    if not optional:
        return graph.cached_node_numbers(key, counted)
    return graph.cached_node_numbers(
        (*key, "optional"),
        lambda: np.maximum(graph.cached_node_numbers(key, counted), np.uint32(1)),
    )


def _direction(arrow: QueryRelationship, start: int) -> Direction:
    if not arrow.directed:
        return Direction.BOTH
    return Direction.OUTGOING if start == arrow.source else Direction.INCOMING


def _label_tests(tree: logical.Match) -> Iterator[Expression]:
    """Predicates for the labels of bound nodes."""
    for node in tree.graph.nodes:
        for labels in node.labels if node.name in tree.bound else ():
            yield LabelPredicate(labels.span, Variable(labels.span, node.name), labels)


def _weighted(batch: Batch, counts: NDArray[np.int64]) -> Batch:
    """The rows with weights multiplied by the counts; drops rows with count 0."""
    if not counts.all():
        rows = np.flatnonzero(counts)
        batch, counts = batch.kept(rows), counts[rows]
    weights = counts.view(np.uint64)
    if batch.weights is not None:
        weights = product_of(batch.weights, weights)
    return replace(batch, weights=weights)


def count_by_degrees(
    child: Operator, context: ExecutionContext, report: StrategyReport
) -> int | None:
    """The number of rows of an operator; None if it has another form, or this is no faster.

    Degrees are multiplied with the group counts on the device, so no group is copied to the host.

    Args:
        child: The operator.
        context: Context of the run.
        report: Filled during the run.
    """
    if isinstance(child, Match):
        return None

    looked_up: list[DegreeLookup] = []
    while isinstance(child, DegreeLookup):
        looked_up.append(child)
        (child,) = child.children
    names = {each.only_node for each in looked_up}
    if len(names) != 1 or None in names or not isinstance(child, Match) or child.children:
        return None
    (name,) = names
    assert name is not None
    return _weighted_count(child, name, looked_up, context, report)


def _weighted_count(
    match: Match,
    name: str,
    looked_up: list[DegreeLookup],
    context: ExecutionContext,
    report: StrategyReport,
) -> int | None:

    graph, strategy = context.graph, context.strategy
    plan = match.plan_on(graph, strategy.name)
    expected, need = estimate(plan).rows, match.need(plan.bound)
    if not isinstance(strategy, Engine):
        return None
    if not pays_for_all_nodes(expected, graph):
        return None
    if not isinstance(need, Groups) or not need.counted:
        return None
    if [plan.bound.nodes[each].name for each in need.nodes] != [name]:
        return None
    selected = select(plan, graph, strategy, context.values, report, context.deadline)
    if selected is None or selected.rest.residuals:
        return None
    factors = [each.factors(graph) for each in looked_up]
    masks, deadline = selected.masks, context.deadline
    return strategy.weighted_count(selected.plan, masks, need, factors, report, deadline)
