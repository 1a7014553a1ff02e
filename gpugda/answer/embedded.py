"""Answers of an accelerator whose source is an embedded graph; no database can answer instead."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.answer.faults import as_internal_errors
from gpugda.answer.on_graph import (
    answer_by_reference,
    answer_on_device,
    explained,
    shown_plan,
)
from gpugda.answer.projection import refuse_other_databases, refuse_outside
from gpugda.deadline import working_until
from gpugda.errors import ConfigurationError
from gpugda.loading import LoadedGraph, load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gpugda.answer.device_costs import DeviceCosts
    from gpugda.answer.request import Request
    from gpugda.match.session import DeviceSession
    from gpugda.plan.explain import Explanation
    from gpugda.ports import DatabaseVersion, GraphSource, Progress
    from gpugda.query.reads import Reads
    from gpugda.result.result import Result

__all__ = ["EmbeddedAnswers"]

_MAY_DESCRIBE = re.compile(r"\bCALL\s+[\w`]|^\s*SHOW\s", re.IGNORECASE)
_NO_NATIVE = "an embedded source has no native engine"
_ONLY_ENGINE = f"{_NO_NATIVE}, and the device answers this query"


class EmbeddedAnswers:
    """Answers from one embedded graph with one device.

    Args:
        source: The source, read immediately.
        session: The device.
        progress: Receives the progress of reading.

    Raises:
        SourceError: The source cannot be read.
    """

    def __init__(self, source: GraphSource, session: DeviceSession, progress: Progress) -> None:
        self._source = source
        self._session = session
        self._progress = progress
        self._loaded = load(source, progress, sorter=session.sort_rows)

    @cached_property
    def _device(self) -> DeviceCosts:
        from gpugda.answer.device_costs import DeviceCosts  # only needed for estimates

        return DeviceCosts(self._session)

    @property
    def loaded(self) -> LoadedGraph:
        """The graph."""
        return self._loaded

    def run(self, request: Request, engine: str) -> Result:
        """See `Accelerator.run`."""
        with as_internal_errors(), working_until(request.deadline):
            return self._run(request, engine)

    def _run(self, request: Request, engine: str) -> Result:
        if engine == "native":
            raise ConfigurationError(
                "engine='native' needs a Neo4j server as source; this source is an embedded graph."
            )
        loaded, reason = self._loaded, f"engine={engine!r} was asked for"
        if engine == "auto":
            engine = "gpu"
            reason = _ONLY_ENGINE
        self._prepare(request)
        if request.prepared().mode == "EXPLAIN":
            return explained(request, loaded, self._session, engine).result(request)
        if engine == "reference":
            return answer_by_reference(request, loaded).result(request, reason=reason)
        found = answer_on_device(request, loaded, self._session, request.deadline)
        return found.result(request, reason=reason)

    def try_device(self, request: Request) -> Result:
        """Runs on the device like `run`, because there is no database to fall back to."""
        return self.run(request, "gpu")

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """True if there are no bookmarks: none can name a state of an embedded graph."""
        return not list(bookmarks)

    def observe_native(self, text: str, seconds: float | None) -> None:
        """Does nothing, because there is no database to compare with."""

    def explain(self, request: Request) -> Explanation:
        """Explains the plan of a query; the engine is always the device."""
        from gpugda.plan.explain import Explanation, cannot_run
        from gpugda.plan.physical import estimate_query  # neither is needed to run a query

        self._prepare(request)
        plan = self._loaded.plan(request.prepared(), request.strategy)
        graph, declined = self._loaded.graph, plan.declined
        physical = plan.physical(self._device.rates, values=request.values)
        seconds = self._device.seconds(physical, plan, graph)
        refused = f"{_NO_NATIVE}, and {cannot_run(plan.strategy, declined)}"
        return Explanation(
            estimate_query(physical, plan.patterns, seconds),
            engine="gpu",
            reason=refused if declined else _ONLY_ENGINE,
            physical=shown_plan(self._session, plan, physical),
            patterns=plan.patterns,
            lines=self._device.lines(plan, graph),
        )

    def _prepare(self, request: Request) -> None:
        """Checks the query; procedures that describe the graph become their rows."""
        if isinstance(request.query, str) and _MAY_DESCRIBE.search(request.query):
            from gpugda.schema.procedures import statement_with_procedures  # rarely used

            request.replace(statement_with_procedures(request.query, self._loaded.graph))
        refuse_other_databases(request.prepared())
        refuse_outside(request.prepared(), self._loaded.projection)

    def refresh(self) -> None:
        """Reads the source again."""
        self._loaded = load(self._source, self._progress, sorter=self._session.sort_rows)

    def state_since(
        self, reads: Reads, since: DatabaseVersion | None
    ) -> tuple[DatabaseVersion | None, bool]:
        """Always raises ConfigurationError, because an embedded graph has no states."""
        raise ConfigurationError(
            "Only a query on a live database can be watched: this graph does not change by itself."
        )

    def complete(self) -> LoadedGraph:
        """The graph with all its properties."""
        return self._loaded

    def status(self) -> dict[str, Any]:
        """Facts for the status besides those of the graph: none."""
        return {}

    def calibrate(self, *, again: bool = False) -> dict[str, dict[str, float]]:
        """Measures the device."""
        return {"device": asdict(self._device.measure(again=again))}

    def close(self) -> None:
        """Does nothing, because nothing is open."""
