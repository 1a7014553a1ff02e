"""Rows with the relationships between two of their nodes, which only their number is asked of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.adjacent import adjacent, degrees
from gpugda.execute.operator import Operator
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.operators.pattern import pattern_text
from gpugda.execute.seeds import entity_column
from gpugda.plan.label_programs import type_ids
from gpugda.query.ast import Direction, LabelPredicate, Variable
from gpugda.query.shapes import variable_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.logical import Match
    from gpugda.query.ast import Expression
    from gpugda.query.query_graph import QueryNode, QueryRelationship

__all__ = ["Adjacent", "is_adjacent"]


def is_adjacent(tree: Match, needed: frozenset[str]) -> bool:
    """Whether a pattern is one relationship at bound nodes, of which nothing is read."""
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
        not node.labels and node.name not in needed for node in free
    )


class Adjacent(Operator):
    """Each row as often as there are relationships between its nodes, or at its node.

    Args:
        child: Rows.
        tree: The pattern, for which `is_adjacent` holds.
        weighted: Whether rows may stand for several equal ones.
    """

    def __init__(self, child: Operator, tree: Match, *, weighted: bool) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.graph = tree.graph
        self.bound = frozenset(tree.bound)
        self.weighted = weighted
        self._conditions = (*tree.graph.predicates, *_label_tests(tree.graph.nodes))

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            context.check()
            counts = self._counts(batch, context)
            if self.weighted:
                rows = np.flatnonzero(counts)
                found = batch.take(rows)
                found = _weighed(found, counts[rows].astype(np.uint64))
            else:
                found = batch.take(np.repeat(np.arange(batch.row_count), counts))
            yield kept_rows(found, self._conditions, context)

    def _counts(self, batch: Batch, context: ExecutionContext) -> NDArray[np.int64]:
        arrow = self.graph.relationships[0]
        types = type_ids(arrow.types, context.graph.types)
        ends = (arrow.source, arrow.target)
        places = [place for place in ends if self.graph.nodes[place].name in self.bound]
        columns = [
            entity_column(batch.columns[self.graph.nodes[p].name], batch.row_count, is_node=True)
            for p in places
        ]
        if len(columns) == 2:
            one, other = (each.values for each in columns)
            counts = adjacent(context.graph, one, other, types, _direction(arrow, arrow.source))
        else:
            direction = _direction(arrow, places[0])
            counts = degrees(context.graph, columns[0].values, types, direction)
        for column in columns:
            if column.valid is not None:
                counts[~column.valid] = 0
        return counts

    def describe(self) -> str:
        """With the pattern."""
        return f"{pattern_text(self.graph)} looked up"


def _direction(arrow: QueryRelationship, start: int) -> Direction:
    if not arrow.directed:
        return Direction.BOTH
    return Direction.OUTGOING if start == arrow.source else Direction.INCOMING


def _label_tests(nodes: tuple[QueryNode, ...]) -> Iterator[Expression]:
    for node in nodes:
        for labels in node.labels:
            yield LabelPredicate(labels.span, Variable(labels.span, node.name), labels)


def _weighed(batch: Batch, counts: NDArray[np.uint64]) -> Batch:
    weights = counts if batch.weights is None else batch.weights * counts
    return replace(batch, weights=weights)
