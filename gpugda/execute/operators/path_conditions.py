"""Tests predicates that read a whole path, on paths of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.seeds import entity_column
from gpugda.expressions.lists import list_column, path_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.paths.trails import Level
    from gpugda.expressions.operands import Operand
    from gpugda.plan.logical import Expand
    from gpugda.query.ast import Expression

__all__ = ["passing", "path_columns", "path_lists"]

_PLACE: Final = "\0place"


def passing(
    batch: Batch,
    level: Level,
    asked: Expand,
    conditions: tuple[Expression, ...],
    context: ExecutionContext,
) -> NDArray[np.int64]:
    """Positions of the paths that satisfy the predicates.

    Args:
        batch: Rows that the paths belong to.
        level: The paths.
        asked: The expansion that found them.
        conditions: Predicates over the path, its relationships and the rows.
        context: Context of the run.
    """
    every = np.arange(len(level.rows))
    if not conditions or not len(every):
        return every
    ends = Column(ColumnKind.NODE, level.ends)
    found = batch.take(level.rows)
    found = found.adding({asked.end: ends})
    found = found.adding(path_columns(found, level, asked, context, None))
    if asked.path:
        lists = path_lists(level, is_reversed=asked.reversed)
        starts = entity_column(found.columns[asked.start], len(every), is_node=True)
        first = ends if asked.reversed else starts
        path = path_column(context.graph, first.values, [lists], None)
        found = found.adding({asked.path: path})
    found = found.adding({_PLACE: Column(ColumnKind.INTEGER, every)})
    kept = kept_rows(found, conditions, context).columns[_PLACE]
    assert isinstance(kept, Column)
    places: NDArray[np.int64] = kept.values
    return places


def path_columns(
    found: Batch,
    level: Level,
    asked: Expand,
    context: ExecutionContext,
    wanted: frozenset[str] | None,
) -> dict[str, Operand]:
    """The list columns of paths: relationships, and nodes of a repeated pattern.

    Args:
        found: The rows of the paths.
        level: The paths.
        asked: The expansion that found them.
        context: Context of the run.
        wanted: Names of the lists that are read; None for all.
    """
    made: dict[str, Operand] = {}
    if wanted is None or asked.relationships in wanted:
        made[asked.relationships] = path_lists(level, is_reversed=asked.reversed)
    step = asked.step
    if step is None or (wanted is not None and not step.names & wanted):
        return made
    starts = entity_column(found.columns[asked.start], found.row_count, is_node=True)
    nodes, relationships = _nodes(level, starts.values, context.graph), level.relationships
    if asked.reversed:
        nodes, relationships = nodes[:, ::-1], relationships[:, ::-1]
    length, size = relationships.shape[1], len(step.relationships)
    for place, name in enumerate(step.relationships):
        made[name] = _lists(relationships[:, place::size], of_nodes=False)
    for place, name in enumerate(step.nodes):
        made[name] = _lists(nodes[:, place : place + length : size], of_nodes=True)
    return made


def _nodes(level: Level, starts: NDArray[np.uint32], graph: DataGraph) -> NDArray[np.uint32]:
    """Nodes of paths in walking order, ``uint32[paths, length + 1]``."""
    sources, targets = graph.start_nodes(), graph.outgoing.neighbours
    nodes = [starts]
    for place in range(level.relationships.shape[1]):
        taken = level.relationships[:, place]
        one, other = sources[taken], targets[taken]
        nodes.append(np.where(one == nodes[-1], other, one))
    return np.stack(nodes, axis=1)


def _lists(elements: NDArray[np.uint32], *, of_nodes: bool) -> Column:
    count, length = elements.shape
    offsets = np.arange(count + 1, dtype=np.int64) * length
    return list_column(offsets, np.ascontiguousarray(elements).reshape(-1), of_nodes=of_nodes)


def path_lists(level: Level, *, is_reversed: bool) -> Column:
    """A list column of the paths' relationships, in the order of the pattern."""
    walked = level.relationships[:, ::-1] if is_reversed else level.relationships
    return _lists(walked, of_nodes=False)
