"""The state of one run of a query."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpugda.deadline import FAR_SECONDS, deadline_after, seconds_left
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import QueryGraph
from gpugda.result.summary import Summary
from gpugda.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.ports import Progress
    from gpugda.query.statement import Statement

__all__ = ["Request"]


@dataclass(slots=True)
class Request:
    """One run: the query, its deadline, and the times measured so far.

    Args:
        query: Cypher text or a query graph.
        values: Values of the query's parameters.
        strategy: Name of the device's join strategy.
        deadline: Time of ``time.monotonic`` at which the run is given up, None for never.
        timings: Seconds per stage.
        notes: Further facts for the summary.
        progress: Receives the progress of a long query.
        metadata: Metadata for the server's query log.
        started: Time of ``time.monotonic`` at which the request was made.
        joined_after: Seconds that the database had not answered when the device joined it; None if
            the database was not asked first.
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
    joined_after: float | None = None
    _prepared: Statement | None = None

    @property
    def text(self) -> str:
        """The query as Cypher."""
        return self.query if isinstance(self.query, str) else self.prepared().text

    def prepared(self) -> Statement:
        """Returns the checked query, which is checked only once.

        Raises:
            QueryError: The text is no Cypher, or not supported here.
            ConfigurationError: The query is neither text nor a query graph.
        """
        if self._prepared is None:
            with self.stage("parse"):
                self._prepared = _prepared(self.query)
        return self._prepared

    def replace(self, statement: Statement | None) -> None:
        """Sets what the query was checked to; None leaves that to `prepared`."""
        self._prepared = statement

    def joining(self, after: float) -> Request:
        """The same run for the device that joins the database, with its own times and notes."""
        return replace(
            self,
            deadline=self.deadline or deadline_after(FAR_SECONDS),
            timings=dict(self.timings),
            notes=dict(self.notes),
            joined_after=after,
        )

    def again(self, seconds: float) -> Request:
        """Another run of the query, with a time limit and times of its own."""
        return replace(
            self,
            deadline=deadline_after(seconds),
            timings={},
            notes={},
            started=time.monotonic(),
            progress=SilentProgress(),
            joined_after=None,
        )

    def seconds_left(self) -> float | None:
        """Seconds until the deadline, None without one.

        Raises:
            QueryTimeoutError: The deadline has passed.
        """
        return seconds_left(self.deadline)

    def stage(self, name: str) -> Stage:
        """Returns a context manager that adds the time of its block to a stage."""
        return Stage(self.timings, name)

    def add_time(self, stage: str, seconds: float) -> None:
        """Adds seconds to a stage."""
        self.timings[stage] = self.timings.get(stage, 0.0) + seconds

    def summary(self, **facts: Any) -> Summary:
        """Makes the summary of this run; the total is the time that its caller has waited."""
        self.timings["total"] = time.monotonic() - self.started
        return Summary(
            query=self.text,
            parameters=self.values,
            timings=self.timings,
            **{**self.notes, **facts},
        )


def _prepared(query: str | QueryGraph) -> Statement:
    if isinstance(query, str):
        return prepare(query)
    if isinstance(query, QueryGraph):
        return prepare(query.to_cypher())
    raise ConfigurationError(
        f"A query is Cypher text or a QueryGraph, not a {type(query).__name__}."
    )
