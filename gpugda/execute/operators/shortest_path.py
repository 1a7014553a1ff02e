"""Joins rows with the shortest paths between two nodes: one, all or the first k."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.errors import CypherExecutionError, UnsupportedQueryError
from gpugda.execute.batch import Batch, in_batches
from gpugda.execute.operator import Operator
from gpugda.execute.operators.path_conditions import passing, path_columns
from gpugda.execute.paths.device_searches import DeviceSearches
from gpugda.execute.paths.distinct_pairs import DistinctPairs
from gpugda.execute.paths.pair_trails import PairTrails
from gpugda.execute.paths.path_choice import AtMost, Ends, Shortest
from gpugda.execute.paths.paths_by_length import paths_by_length
from gpugda.execute.paths.shortest import distances, shortest_paths
from gpugda.execute.paths.steps import Steps, StepsCache
from gpugda.execute.paths.trails import Level, without_relationships
from gpugda.execute.seeds import entity_column
from gpugda.plan.logical import ExpandMode
from gpugda.query.searches import FEW_NODES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.paths.path_choice import PathChoice
    from gpugda.plan.logical import Expand as LogicalExpand


__all__ = ["SelectedPaths", "ShortestPath"]

_LATE: Final = (
    "a condition on a shortest path and on another part of the pattern, which Neo4j tests in the"
    " search or on the path found, as its plan decides"
)

_SAME_NODE: Final = (
    "a shortest path cannot begin and end at the same node: compare the two nodes with <> before"
    " the search, or let it have no relationship (*0..)"
)


class ShortestPath(Operator):
    """Joins each row with one or all shortest paths between two of its nodes.

    Predicates that read the path are part of the search: it finds the shortest path that satisfies
    them. Where Neo4j may test some of them on the path found instead, both must give the same.

    Args:
        child: Input rows.
        asked: The logical operator that describes the paths; both ends are bound.
        wanted: Names of the lists of relationships and nodes that are read.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, wanted: frozenset[str]) -> None:
        self.children = (child,)
        self.asked = asked
        self.wanted = wanted
        self.every = asked.mode is ExpandMode.ALL_SHORTEST
        self.columns = (*child.columns, *sorted(wanted))
        self._cache = StepsCache(asked)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        steps = self._cache.steps(context)
        for batch in in_batches(self.children[0].batches(context), context.enough):
            asked = self._ends(batch)
            nothing = np.zeros(0, dtype=np.int64)
            none = Level(nothing, asked.starts[:0], np.zeros((0, 1), np.uint32))
            yield self._batch(batch, none, context)
            self._refuse_same(asked)
            if steps.nodes_allowed is not None:
                allowed = steps.nodes_allowed
                asked = asked.taken(allowed[asked.starts] & allowed[asked.ends])
            for level in self._found(batch, steps, asked, context):
                yield self._batch(batch, level, context)

    def _ends(self, batch: Batch) -> Ends:
        """The rows whose ends are both nodes."""
        asked, count = self.asked, batch.row_count
        start = entity_column(batch.columns[asked.start], count, is_node=True)
        end = entity_column(batch.columns[asked.end], count, is_node=True)
        there = np.ones(count, dtype=np.bool_)
        for column in (start, end):
            if column.valid is not None:
                there &= column.valid
        rows = np.flatnonzero(there)
        return Ends(rows, start.values[rows], end.values[rows])

    def _refuse_same(self, asked: Ends) -> None:
        refused = self.asked.minimum > 0 or self.asked.closed
        if refused and bool((asked.starts == asked.ends).any()):
            raise CypherExecutionError(_SAME_NODE)

    def _found(
        self, batch: Batch, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Iterator[Level]:
        late, few = self.asked.late_predicates, self.asked.few_predicates
        if context.graph.node_count > FEW_NODES:
            late = (*late, *few)
        else:
            steps = replace(steps, residuals=(*steps.residuals, *few))
        if not late:
            yield from self._chosen(batch, steps, asked, context, every=self.every)
            return
        first = list(self._chosen(batch, steps, asked, context, every=True))
        inside = replace(steps, residuals=(*steps.residuals, *late))
        found = list(self._chosen(batch, inside, asked, context, every=self.every))
        counts = np.zeros((3, batch.row_count), dtype=np.int64)
        for level in first:
            passed = level.rows[passing(batch, level, self.asked, late, context)]
            np.add.at(counts[0], level.rows, 1)
            np.add.at(counts[1], passed, 1)
        for level in found:
            np.add.at(counts[2], level.rows, 1)
        shortest, passed, chosen = counts
        differs = (passed == 0) & (chosen > 0)
        if not self.every:
            differs |= (passed > 0) & (passed < shortest)
        if bool(differs.any()):
            message = f"{_LATE}, is not supported by this engine if the two differ"
            raise UnsupportedQueryError(message, context.text, late[0].span, construct=_LATE)
        yield from found

    def _chosen(
        self, batch: Batch, steps: Steps, asked: Ends, context: ExecutionContext, *, every: bool
    ) -> Iterator[Level]:
        if not steps.residuals:
            for level in chain(
                (_empty_paths(asked),), self._searched(steps, asked, context, every)
            ):
                yield Level(asked.rows[level.rows], level.ends, level.relationships)
            return
        choice = Shortest(len(asked.rows), every)
        for level in (_empty_paths(asked), *self._searched(steps, asked, context, True)):
            yield self._taken(batch, steps, asked, level, choice, context)
        left = np.flatnonzero(~choice.satisfied)
        if len(left):
            # No path of least length satisfies the predicates.
            longer = Shortest(len(left), every)
            yield from self._by_length(batch, steps, asked.taken(left), longer, context)

    def _searched(
        self, steps: Steps, asked: Ends, context: ExecutionContext, every: bool
    ) -> Iterator[Level]:
        """Shortest paths of pairs of distinct nodes; each pair is searched once."""
        pairs = DistinctPairs(asked, np.flatnonzero(asked.starts != asked.ends))
        starts, ends = pairs.ends.starts, pairs.ends.ends
        given = steps.forwards, steps.backwards, starts, ends, self.asked.maximum, context.check
        device = DeviceSearches(context, self)
        if every or self.wanted or steps.residuals:
            for level in shortest_paths(*given, every=every, device=device):
                yield pairs.of_places(level)
            return
        # Nothing of a path is read: it is enough that there is one.
        joined = np.flatnonzero(distances(*given, device))
        yield pairs.of_places(without_relationships(joined, ends[joined]))

    def _by_length(
        self,
        batch: Batch,
        steps: Steps,
        asked: Ends,
        choice: PathChoice,
        context: ExecutionContext,
    ) -> Iterator[Level]:
        """Paths in order of length, until the choice is satisfied."""
        found: list[Level] = []

        def enough(level: Level) -> NDArray[np.bool_]:
            if len(level.rows):
                found.append(self._taken(batch, steps, asked, level, choice, context))
            else:
                choice.end_length()
            return choice.waiting

        bounds = self.asked.minimum, self.asked.maximum
        back = steps.backwards
        paths_by_length(
            steps.forwards, back, asked.starts, asked.ends, bounds, enough, context.check
        )
        yield from found

    def _taken(
        self,
        batch: Batch,
        steps: Steps,
        asked: Ends,
        level: Level,
        choice: PathChoice,
        context: ExecutionContext,
    ) -> Level:
        """The chosen paths, with pair numbers translated to rows of the batch."""
        here = Level(asked.rows[level.rows], level.ends, level.relationships)
        kept = passing(batch, here, self.asked, steps.residuals, context)
        return here.taken(kept[choice.take(level.rows[kept])])

    def _batch(self, batch: Batch, level: Level, context: ExecutionContext) -> Batch:
        found = batch.take(level.rows)
        return found.adding(path_columns(found, level, self.asked, context, self.wanted))

    def describe(self) -> str:
        """Describes bounds and ends."""
        asked = self.asked
        upper = "" if asked.maximum is None else asked.maximum
        return f"{asked.mode} *{asked.minimum}..{upper} from {asked.start} to {asked.end}"


def _empty_paths(asked: Ends) -> Level:
    rows = np.flatnonzero(asked.starts == asked.ends)
    return without_relationships(rows, asked.starts[rows])


class SelectedPaths(ShortestPath):
    """``SHORTEST k``, ``SHORTEST k GROUPS``, ``ALL SHORTEST`` and ``ANY k`` for bound ends.

    Predicates inside the pattern's parentheses are part of the search, those after it are not.
    Both ends may be the same node.

    Args:
        child: Input rows.
        asked: The logical operator that describes the paths.
        wanted: Names of the lists of relationships and nodes that are read.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, wanted: frozenset[str]) -> None:
        super().__init__(child, asked, wanted)
        self.every = asked.by_group

    def _refuse_same(self, asked: Ends) -> None:
        """Accepts equal ends: a closed path is a valid result."""

    def _found(
        self, batch: Batch, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Iterator[Level]:
        rest = np.arange(len(asked.rows))
        if self.asked.most == 1 and self.asked.minimum <= 1 and not steps.residuals:
            # A shortest walk between two nodes repeats no node, so no relationship either.
            for level in self._searched(steps, asked, context, self.every):
                yield Level(asked.rows[level.rows], level.ends, level.relationships)
            rest = np.flatnonzero(asked.starts == asked.ends)
        if len(rest) and not steps.residuals:
            rest = rest[(yield from self._walked(steps, asked.taken(rest), context))]
        if len(rest):
            choice = AtMost(len(rest), self.asked.most, self.asked.by_group)
            yield from self._by_length(batch, steps, asked.taken(rest), choice, context)

    def _walked(
        self, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Generator[Level, None, NDArray[np.int64]]:
        """Yields trails found by walks of all pairs; returns the places without a result."""
        back = steps.backwards
        pairs = DistinctPairs(asked, np.arange(len(asked.rows)))
        bounds = self.asked.minimum, self.asked.maximum
        device = DeviceSearches(context, self)
        trails = PairTrails(bounds, self.asked.most, self.asked.by_group, context.check, device)
        found = trails.of(steps.forwards, back, pairs.ends.starts, pairs.ends.ends)
        while True:
            try:
                level = pairs.of_places(next(found))
            except StopIteration as end:
                return pairs.places(end.value)
            yield Level(asked.rows[level.rows], level.ends, level.relationships)
