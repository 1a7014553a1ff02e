"""Short trails: enumerated on the host if they are few, else joined per length on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.execute.operator import Operator
from gpugda.execute.operators.expand import TooManyTrailsError
from gpugda.execute.operators.match import PatternOperator
from gpugda.plan.label_programs import type_ids
from gpugda.plan.physical import estimate
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operators.expand import Expand
    from gpugda.execute.operators.simple import Union

__all__ = ["MAX_WALKED", "ShortTrails"]

MAX_TRAILS: Final = 1 << 15
"""Trails that the host enumerates in the time that joins of several patterns need to start."""
MAX_WALKED: Final = MAX_TRAILS
"""Trails after which the host gives up, having expected fewer."""
_MAX_RELATIONSHIPS: Final = 1 << 20
"""Most relationships of the graph: the host reads all to build the adjacency, cached with it."""


class ShortTrails(Operator):
    """Joins each row with each path from one of its nodes; the paths themselves are not read.

    Its first input is tried first. If that finds more than `MAX_TRAILS`, the second one is used.

    Args:
        start: Provides the rows where paths begin.
        walked: Enumerates the paths on the host.
        joined: Joins them on the device.
    """

    def __init__(self, start: Operator, walked: Expand, joined: Union) -> None:
        self.columns = joined.columns
        self.children = (joined,)
        self._start = start
        self._walked = walked
        self._joined = joined
        self._finds_too_many = False

    def choose(self, graph: DataGraph, strategy: str) -> None:
        """Chooses the host if few trails are expected on this graph, until it finds too many."""
        self._finds_too_many = False
        few = graph.relationship_count <= _MAX_RELATIONSHIPS
        few = few and self._expected(graph, strategy) <= MAX_TRAILS
        self.children = (self._walked, self._joined) if few else (self._joined,)
        super().choose(graph, strategy)

    def _expected(self, graph: DataGraph, strategy: str) -> float:
        asked = self._walked.asked
        assert asked.maximum is not None
        assert isinstance(self._start, PatternOperator)
        rows = estimate(self._start.plan_on(graph, strategy)).rows
        entries = graph.statistics.relationships_of(type_ids(asked.types, graph.types))
        entries *= 2 if asked.direction is Direction.BOTH else 1
        degree = entries / max(graph.node_count, 1)
        return rows * sum(degree**length for length in range(1, asked.maximum + 1))

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        if self.children[0] is self._walked and not self._finds_too_many:
            try:
                found = list(self._walked.batches(context))
            except TooManyTrailsError:
                self._finds_too_many = True  # the next run on this graph does not try again
            else:
                yield from (batch.only(self.columns) for batch in found)
                return
        yield from self._joined.batches(context)

    def describe(self) -> str:
        """Describes the operator."""
        return (
            "trails of bounded length: the second input if the first finds too many"
            if (len(self.children) > 1)
            else "trails of bounded length"
        )
