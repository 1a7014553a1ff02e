"""Rows with the paths of varying length that begin at their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.operator import Operator
from gpugda.execute.seeds import entity_column
from gpugda.execute.trails import Adjacency, Level, adjacency_of, trails
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.lists import list_column
from gpugda.expressions.operands import check_faults
from gpugda.plan.label_programs import type_ids
from gpugda.plan.logical import ExpandMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["Expand"]


class Expand(Operator):
    """Each row with each path from one of its nodes.

    Args:
        child: Rows.
        asked: Which paths.
        wants_list: Whether somebody reads the relationships.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, *, wants_list: bool) -> None:
        self.children = (child,)
        self.asked = asked
        self.wants_list = wants_list
        added = () if asked.end_is_bound else (asked.end,)
        self.columns = (*child.columns, *added, *((asked.relationships,) if wants_list else ()))
        self._adjacency: tuple[object, Adjacency] | None = None

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        asked = self.asked
        if asked.mode is not ExpandMode.TRAILS:
            message = "shortestPath() is not supported by this engine"
            raise UnsupportedQueryError(message, construct="shortestPath()")
        adjacency = self._steps(context)
        for batch in self.children[0].batches(context):
            start = entity_column(batch.columns[asked.start], batch.row_count, is_node=True)
            rows = np.arange(batch.row_count)
            if start.valid is not None:
                rows = rows[start.valid]
            target: Column | None = None
            if asked.end_is_bound:
                target = entity_column(batch.columns[asked.end], batch.row_count, is_node=True)
            yield self._batch(batch, _none_of(asked.minimum), target)
            made = trails(
                adjacency, rows, start.values[rows], asked.minimum, asked.maximum, context.check
            )
            for level in made:
                yield self._batch(batch, level, target)

    def _batch(self, batch: Batch, level: Level, target: Column | None) -> Batch:
        asked = self.asked
        if target is not None:
            reached = target.values[level.rows] == level.ends
            if target.valid is not None:
                reached &= target.valid[level.rows]
            kept = np.flatnonzero(reached)
            level = Level(level.rows[kept], level.ends[kept], level.relationships[kept])
        found = batch.take(level.rows)
        if not asked.end_is_bound:
            found = found.adding({asked.end: Column(ColumnKind.NODE, level.ends)})
        if self.wants_list:
            found = found.adding({asked.relationships: _lists(level, turned=asked.reversed)})
        return found

    def _steps(self, context: ExecutionContext) -> Adjacency:
        graph, asked = context.graph, self.asked
        if self._adjacency is None or self._adjacency[0] is not graph or asked.predicates:
            types = type_ids(asked.types, graph.types)
            allowed = self._allowed(context) if asked.predicates else None
            self._adjacency = graph, adjacency_of(graph, asked.direction, types, allowed)
        return self._adjacency[1]

    def _allowed(self, context: ExecutionContext) -> NDArray[np.bool_]:
        graph = context.graph
        count = graph.relationship_count
        every = Column(ColumnKind.RELATIONSHIP, np.arange(count, dtype=np.uint32))
        environment = Environment(
            count,
            context.parameters,
            context.text,
            graph,
            {self.asked.variable: every},
            everything=True,
            cache=context.cache,
        )
        truth = evaluate_truth(self.asked.predicates, environment)
        check_faults(truth.faults, count)
        return np.array(np.broadcast_to(truth.holds, count))

    def describe(self) -> str:
        """With bounds and direction."""
        asked = self.asked
        upper = "" if asked.maximum is None else asked.maximum
        return f"expand {asked.mode} *{asked.minimum}..{upper} from {asked.start} to {asked.end}"


def _none_of(length: int) -> Level:
    return Level(
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=np.uint32),
        np.zeros((0, length), dtype=np.uint32),
    )


def _lists(level: Level, *, turned: bool) -> Column:
    count, length = level.relationships.shape
    walked = level.relationships[:, ::-1] if turned else level.relationships
    offsets = np.arange(count + 1, dtype=np.int64) * length
    return list_column(offsets, np.ascontiguousarray(walked).reshape(-1), of_nodes=False)
