"""What belongs to one run of a query."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.deadline import seconds_left
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query, QueryGraph, query_of
from gpugda.result.summary import Summary
from gpugda.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.ports import Progress
    from gpugda.query.statement import Statement

__all__ = ["Request"]


@dataclass(slots=True)
class Request:
    """One run: what was asked, until when, and what has been timed so far.

    Args:
        query: Cypher text or a query graph.
        values: Of its parameters.
        strategy: How the device joins.
        deadline: Time of ``time.monotonic`` at which it is given up, None for never.
        timings: Seconds per stage.
        notes: What the summary says besides.
        progress: Told how far a long query has come.
        metadata: For the server's query log.
        started: Time of ``time.monotonic`` when it was made.
    """

    query: str | QueryGraph
    values: Mapping[str, Any]
    strategy: str
    deadline: float | None = None
    timings: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    progress: Progress = field(default_factory=SilentProgress)
    started: float = field(default_factory=time.monotonic)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _prepared: Query | Statement | None = None

    @property
    def text(self) -> str:
        """The query as Cypher."""
        return self.query if isinstance(self.query, str) else self.prepared().text

    def prepared(self) -> Query | Statement:
        """The analysed query, analysed once.

        Raises:
            QueryError: It is no Cypher, or outside what is answered here.
            ConfigurationError: It is neither text nor a query graph.
        """
        if self._prepared is None:
            with self.stage("parse"):
                self._prepared = _prepared(self.query)
        return self._prepared

    def seconds_left(self) -> float | None:
        """Until the deadline, None without one.

        Raises:
            QueryTimeoutError: It has passed.
        """
        return seconds_left(self.deadline)

    def stage(self, name: str) -> Stage:
        """Adds the time of a block to a stage."""
        return Stage(self.timings, name)

    def add_time(self, stage: str, seconds: float) -> None:
        """Adds to a stage."""
        self.timings[stage] = self.timings.get(stage, 0.0) + seconds

    def summary(self, **facts: Any) -> Summary:
        """The summary of this run; the total is what was timed so far."""
        self.timings["total"] = sum(
            seconds for stage, seconds in self.timings.items() if stage != "total"
        )
        return Summary(
            query=self.text,
            parameters=self.values,
            timings=self.timings,
            **{**self.notes, **facts},
        )


def _prepared(query: str | QueryGraph) -> Query | Statement:
    if isinstance(query, str):
        return prepare(query)
    if isinstance(query, QueryGraph):
        return query_of(query)
    raise ConfigurationError(
        f"A query is Cypher text or a QueryGraph, not a {type(query).__name__}."
    )
