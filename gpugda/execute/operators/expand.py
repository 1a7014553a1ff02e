"""Expands rows by variable-length paths from their nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.batch import Batch, in_batches
from gpugda.execute.entry_windows import entries_of
from gpugda.execute.operator import Operator
from gpugda.execute.operators.path_conditions import passing, path_columns, path_lists
from gpugda.execute.paths.bound_lists import follows_bound_list
from gpugda.execute.paths.device_searches import DeviceSearches
from gpugda.execute.paths.distinct_pairs import DistinctPairs
from gpugda.execute.paths.path_choice import Ends
from gpugda.execute.paths.reach import Reach
from gpugda.execute.paths.steps import Steps, StepsCache
from gpugda.execute.paths.trail_sets import (
    MAX_NUMBERED,
    NumberedSteps,
    TrailSets,
    numbered,
    trail_sets,
)
from gpugda.execute.paths.trails import Level, trails, without_relationships
from gpugda.execute.relationship_lists import avoiding, lists_of
from gpugda.execute.seeds import entity_column
from gpugda.expressions.operands import as_column
from gpugda.plan.logical import ExpandMode
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.relationship_lists import Avoids, RelationshipLists
    from gpugda.expressions.operands import Operand
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["Expand", "TooManyTrailsError", "empty_level", "path_starts", "paths_to", "set_of"]

_SHORT: Final = 4
"""Trails up to this length are enumerated one by one."""


def set_of(relationships: str) -> str:
    """The column with an expansion's relationships in any order, of which only the set is read.

    It also has those that the expansion avoided: what must avoid it avoids them, too.
    """
    return f"\0set of {relationships}"


class TooManyTrailsError(Exception):
    """More trails than the limit would be enumerated."""


class Expand(Operator):
    """Joins each row with each path from one of its nodes.

    Args:
        child: Input rows.
        asked: The logical operator that describes the paths.
        wanted: Names of the lists of relationships and nodes that are read.
        kept: Columns that are read of rows whose trails may be merged, each with the number of
            its trails as its weight; None if each trail needs its own row.
        gives_set: True if the column `set_of` its relationships is read.
        most: Limit of trails per batch, above which `TooManyTrailsError` is raised; None for none.
    """

    def __init__(
        self,
        child: Operator,
        asked: LogicalExpand,
        wanted: frozenset[str],
        *,
        kept: frozenset[str] | None = None,
        gives_set: bool = False,
        most: int | None = None,
    ) -> None:
        self.children = (child,)
        self.asked = asked
        self.wanted = wanted
        self.kept = kept
        self.gives_set = gives_set
        self.most = most
        added = () if asked.end_is_bound else (asked.end,)
        self.columns = (*child.columns, *added, *sorted(wanted))
        self._cache = StepsCache(asked)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        asked = self.asked
        steps = self._cache.steps(context)
        together = self._numbered(steps, context)
        if together is not None:
            for batch in in_batches(self.children[0].batches(context), context.enough):
                yield from self._merged(batch, steps, together, context)
            return
        for batch in self.children[0].batches(context):
            rows, starts, target = path_starts(batch, asked, steps.nodes_allowed)
            yield self._batch(batch, empty_level(asked.minimum), context)
            keeps = follows_bound_list(batch, asked.given) if asked.given else None
            if self.most is not None:
                keeps = _bounded(steps.forwards, asked.maximum, self.most)
            if target is not None and not self._walks(steps):
                found = self._joined(steps, rows, starts, target, context)
                yield replace(self._batch(batch, found, context), distinct=batch.distinct)
                continue
            # A search returns each end once per row.
            distinct = batch.distinct and not self._walks(steps)
            avoids = self._avoids(batch, context)
            for level in self._levels(steps, rows, starts, context, keeps, avoids):
                kept = paths_to(level, target)
                kept = kept.taken(passing(batch, kept, asked, steps.residuals, context))
                yield replace(self._batch(batch, kept, context), distinct=distinct)

    def _walks(self, steps: Steps) -> bool:
        """True if all paths are enumerated, False if a search over nodes suffices."""
        return self.asked.mode.gives_all or bool(steps.residuals)

    def _levels(
        self,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        context: ExecutionContext,
        keeps: Callable[[Level], NDArray[np.bool_]] | None,
        avoids: Avoids | None,
    ) -> Iterator[Level]:
        asked = self.asked
        if self._walks(steps):
            lengths = asked.minimum, asked.maximum
            repeats = asked.mode is ExpandMode.WALKS
            given = steps.forwards, rows, starts, *lengths, context.check, keeps
            yield from trails(*given, repeats=repeats, avoids=avoids)
            return
        some, start_of = np.unique(starts, return_inverse=True)
        order = rows[np.argsort(start_of, kind="stable")]
        bounds = offsets_of(start_of, len(some))
        for reached_starts, nodes in self._reach(steps, context).ends(some):
            if len(some) == len(starts):
                yield without_relationships(order[reached_starts], nodes)
                continue
            paths, places = entries_of(bounds, reached_starts)
            yield without_relationships(order[places], nodes[paths])

    def _reach(self, steps: Steps, context: ExecutionContext) -> Reach:
        asked = self.asked
        return Reach(
            steps.forwards,
            lambda: steps.backwards,
            asked.maximum,
            context.check,
            undirected=asked.direction is Direction.BOTH,
            with_start=asked.minimum == 0,
            device=DeviceSearches(context, self),
            symmetric=steps.is_symmetric,
        )

    def _joined(
        self,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        target: Column,
        context: ExecutionContext,
    ) -> Level:
        """The rows whose first node reaches their last node, each once."""
        if target.valid is not None:
            there = target.valid[rows]
            rows, starts = rows[there], starts[there]
        pairs = DistinctPairs(Ends(rows, starts, target.values[rows]), np.arange(len(rows)))
        joined = self._reach(steps, context).joined(pairs.ends.starts, pairs.ends.ends)
        places = np.sort(pairs.places(np.flatnonzero(joined)))
        return without_relationships(rows[places], target.values[rows[places]])

    def _batch(self, batch: Batch, level: Level, context: ExecutionContext) -> Batch:
        asked = self.asked
        found = batch.take(level.rows)
        if not asked.end_is_bound:
            found = found.adding({asked.end: Column(ColumnKind.NODE, level.ends)})
        if self.gives_set:
            found = found.adding(
                {set_of(asked.relationships): path_lists(level, is_reversed=False)}
            )
        return found.adding(path_columns(found, level, asked, context, self.wanted))

    # -------------------------------------------------------------- relationships of other parts
    def _apart(self, batch: Batch) -> list[RelationshipLists]:
        """The relationships that the paths of each row may not contain."""
        columns = batch.columns
        names = (set_of(n) if set_of(n) in columns else n for n in self.asked.apart)
        return [lists_of(as_column(columns[name], batch.row_count)) for name in names]

    def _avoids(self, batch: Batch, context: ExecutionContext) -> Avoids | None:
        lists = self._apart(batch)
        return avoiding(lists, context.graph.relationship_count) if lists else None

    # -------------------------------------------------------------- trails that are merged
    def _numbered(self, steps: Steps, context: ExecutionContext) -> NumberedSteps | None:
        """The steps with bits for relationships; None if trails are enumerated one by one."""
        asked = self.asked
        is_short = asked.maximum is not None and asked.maximum <= _SHORT
        is_read = self.kept is None or self.wanted or steps.residuals or asked.given
        if is_read or is_short or not self._walks(steps):
            return None
        if asked.mode is ExpandMode.WALKS:
            return numbered(steps.forwards, steps.forwards.relationships[:0])
        if self.gives_set and asked.apart:
            count = context.graph.relationship_count
            if count > MAX_NUMBERED:
                return None
            return numbered(steps.forwards, np.arange(count, dtype=np.uint32))
        if self.gives_set or asked.apart or asked.direction is Direction.BOTH:
            return numbered(steps.forwards, steps.forwards.relationships)
        return steps.on_cycles

    def _merged(
        self, batch: Batch, steps: Steps, together: NumberedSteps, context: ExecutionContext
    ) -> Iterator[Batch]:
        asked = self.asked
        rows, starts, target = path_starts(batch, asked, steps.nodes_allowed)
        assert self.kept is not None
        names = [name for name in batch.columns if name in self.kept or name in batch.carried]
        ends = [asked.end] if asked.end_is_bound else []
        alike = group_rows([batch.columns[n] for n in {*names, *ends}], batch.row_count)
        used = together.used(self._apart(batch), batch.row_count)[rows]
        weights = batch.weights
        taken = np.ones(len(rows), dtype=np.uint64) if weights is None else weights[rows]
        begin = TrailSets(alike.group_of[rows], starts, used, taken)
        firsts = batch.only(names).take(alike.first)
        nothing = np.zeros(0, dtype=np.int64)
        yield self._sets(firsts, begin.taken(nothing), together)
        if target is not None:
            target = target.take(alike.first)
        lengths = asked.minimum, asked.maximum
        for level in trail_sets(together, begin, *lengths, context.check):
            if target is not None:
                level = level.taken(places_to(level, target))
            yield self._sets(firsts, level, together)

    def _sets(self, firsts: Batch, level: TrailSets, together: NumberedSteps) -> Batch:
        asked = self.asked
        added: dict[str, Operand] = {}
        if not asked.end_is_bound:
            added[asked.end] = Column(ColumnKind.NODE, level.ends)
        if self.gives_set:
            added |= dict.fromkeys(
                map(set_of, (*asked.apart, asked.relationships)), together.listed(level.used)
            )
        weights = None if asked.once else level.weights
        return replace(firsts.take(level.rows), weights=weights).adding(added)

    def describe(self) -> str:
        """Describes bounds and direction."""
        asked = self.asked
        upper = "" if asked.maximum is None else asked.maximum
        return f"expand {asked.mode} *{asked.minimum}..{upper} from {asked.start} to {asked.end}"


def _bounded(
    steps: Adjacency, maximum: int | None, most: int
) -> Callable[[Level], NDArray[np.bool_]]:
    """Keeps all paths until there are too many; checked before they are computed."""
    left = most

    def keeps(level: Level) -> NDArray[np.bool_]:
        nonlocal left
        if maximum is None or level.relationships.shape[1] < maximum:
            left -= steps.entry_count(level.ends)
        if left < 0:
            raise TooManyTrailsError
        return np.ones(len(level.ends), dtype=np.bool_)

    return keeps


def path_starts(
    batch: Batch, asked: LogicalExpand, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.uint32], Column | None]:
    """Rows where paths begin, their first nodes, and the last nodes if these are bound."""
    start = entity_column(batch.columns[asked.start], batch.row_count, is_node=True)
    rows = np.arange(batch.row_count)
    if start.valid is not None:
        rows = rows[start.valid]
    if allowed is not None:
        rows = rows[allowed[start.values[rows]]]
    target: Column | None = None
    if asked.end_is_bound:
        target = entity_column(batch.columns[asked.end], batch.row_count, is_node=True)
    return rows, start.values[rows], target


def empty_level(length: int) -> Level:
    """An empty level of paths of a length."""
    return Level(
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=np.uint32),
        np.zeros((0, length), dtype=np.uint32),
    )


def paths_to(level: Level, target: Column | None) -> Level:
    """The paths that end at their row's target node."""
    return level if target is None else level.taken(places_to(level, target))


def places_to(level: Level | TrailSets, target: Column) -> NDArray[np.int64]:
    """Positions of the paths that end at their row's target node."""
    reached = target.values[level.rows] == level.ends
    if target.valid is not None:
        reached &= target.valid[level.rows]
    return np.flatnonzero(reached)
