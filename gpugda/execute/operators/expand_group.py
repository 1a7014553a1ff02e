"""Expands rows by paths that repeat a pattern of several steps or with per-row predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.operators.expand import Expand, empty_level, path_starts, paths_to
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.paths.steps import reversed_direction, truth_of_each
from gpugda.execute.paths.trails import adjacency_of, trails
from gpugda.plan.building.pattern_reader import needs_each_row
from gpugda.plan.label_programs import type_ids
from gpugda.plan.logical import ExpandMode
from gpugda.query.shapes import variable_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.paths.trails import Level
    from gpugda.plan.logical import Expand as LogicalExpand
    from gpugda.plan.logical import StepPattern
    from gpugda.query.ast import Expression

__all__ = ["ExpandGroup"]

_PLACE = "\0place"
_Masks = dict[str, "NDArray[np.bool_]"]


class ExpandGroup(Expand):
    """Joins each row with each path that repeats a group of steps.

    Predicates on a single node or relationship of the group are evaluated for all of them at once;
    the others are tested on paths when a repetition is complete.
    """

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        asked, step = self.asked, _step_of(self.asked)
        masks, left = _split(step, context)
        steps = _as_walked(asked, step, masks, context)
        size = len(steps)
        bounds = asked.minimum * size, None if asked.maximum is None else asked.maximum * size
        for batch in self.children[0].batches(context):
            avoids = self._avoids(batch, context)
            rows, starts, target = path_starts(batch, asked)
            yield self._batch(batch, empty_level(bounds[0]), context)
            keeps = self._keeps(batch, left, context) if left else None
            repeats = asked.mode is ExpandMode.WALKS
            given = steps, rows, starts, *bounds, context.check, keeps
            for level in trails(*given, repeats=repeats, avoids=avoids):
                yield self._batch(batch, paths_to(level, target), context)

    def _keeps(
        self, batch: Batch, conditions: tuple[Expression, ...], context: ExecutionContext
    ) -> Callable[[Level], NDArray[np.bool_]]:
        """A test of the predicates on the last repetition of each path."""
        size = len(_step_of(self.asked).relationships)

        def keeps(level: Level) -> NDArray[np.bool_]:
            length = level.relationships.shape[1]
            if length == 0 or length % size or not len(level.rows):
                return np.ones(len(level.rows), dtype=np.bool_)
            places = Column(ColumnKind.INTEGER, np.arange(len(level.rows)))
            found = batch.take(level.rows).adding(self._last(level, context) | {_PLACE: places})
            passed = kept_rows(found, conditions, context).columns[_PLACE]
            assert isinstance(passed, Column)
            flags = np.zeros(len(level.rows), dtype=np.bool_)
            flags[passed.values] = True
            return flags

        return keeps

    def _last(self, level: Level, context: ExecutionContext) -> dict[str, Column]:
        """The group's variables in the last repetition of each path."""
        step, graph = _step_of(self.asked), context.graph
        size = len(step.relationships)
        taken = level.relationships[:, -size:]
        sources, targets = graph.start_nodes(), graph.outgoing.neighbours
        nodes = [level.ends]
        for place in reversed(range(size)):
            one, other = sources[taken[:, place]], targets[taken[:, place]]
            nodes.append(np.where(one == nodes[-1], other, one))
        # Collected from the end of the path to its beginning.
        in_order = nodes if self.asked.reversed else nodes[::-1]
        walked = taken[:, ::-1] if self.asked.reversed else taken
        found = {n: Column(ColumnKind.NODE, v) for n, v in zip(step.nodes, in_order, strict=True)}
        for place, name in enumerate(step.relationships):
            found[name] = Column(ColumnKind.RELATIONSHIP, walked[:, place])
        return found

    def describe(self) -> str:
        """Describes bounds and size."""
        upper = "" if self.asked.maximum is None else self.asked.maximum
        size = len(_step_of(self.asked).relationships)
        return f"repeat {size} steps {self.asked.minimum}..{upper} times from {self.asked.start}"


def _step_of(asked: LogicalExpand) -> StepPattern:
    assert asked.step is not None
    return asked.step


def _split(step: StepPattern, context: ExecutionContext) -> tuple[_Masks, tuple[Expression, ...]]:
    """A mask for each variable, and the predicates that masks cannot express."""
    masks: _Masks = {}
    left: list[Expression] = []
    graph = context.graph
    for each in step.predicates:
        names = variable_names(each)
        name = next(iter(names)) if len(names) == 1 else ""
        if name not in step.names or needs_each_row(each):
            left.append(each)
            continue
        of_nodes = name in step.nodes
        truth = truth_of_each((each,), name, context, of_nodes=of_nodes)
        if truth.faults:
            # Elements on no path must not raise.
            left.append(each)
            continue
        count = graph.node_count if of_nodes else graph.relationship_count
        passed = np.array(np.broadcast_to(truth.holds, count))
        masks[name] = passed & masks[name] if name in masks else passed
    return masks, tuple(left)


def _as_walked(
    asked: LogicalExpand,
    step: StepPattern,
    masks: Mapping[str, NDArray[np.bool_]],
    context: ExecutionContext,
) -> list[Adjacency]:
    """The adjacency of each step, in walking order."""
    graph = context.graph
    found = []
    for place, arrow in enumerate(step.arrows):
        before, after = step.nodes[place : place + 2]
        direction = arrow.direction
        if asked.reversed:
            before, after, direction = after, before, reversed_direction(direction)
        types = type_ids(arrow.types, graph.types)
        allowed = masks.get(step.relationships[place])
        steps = adjacency_of(graph, direction, types, allowed)
        if before in masks:
            steps = steps.taken(masks[before][steps.nodes()])
        if after in masks:
            steps = steps.taken(masks[after][steps.neighbours])
        found.append(steps)
    return found[::-1] if asked.reversed else found
