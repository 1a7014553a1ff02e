"""The accelerator: one source, its data graph, one device, and the way of a query on one page."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gpugda.config import check_timeout, device_wanted, parse_bytes
from gpugda.errors import ConfigurationError, DeviceError
from gpugda.execute.device_session import DEFAULT_STRATEGY, STRATEGIES, DeviceSession
from gpugda.execute.embeddings import StrategyReport
from gpugda.execute.gpu import run_on_device
from gpugda.execute.reference import run_reference
from gpugda.loading import LoadedGraph, load
from gpugda.plan.explain import Estimate, Explanation, explain_text
from gpugda.ports import GraphSource, Progress, SilentProgress
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query, QueryGraph, query_of
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.snapshot.store import save_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
__all__ = ["Accelerator"]

ENGINES = ("auto", "gpu", "native", "reference")
REFINEMENTS = ("off", "once", "fixpoint")


class Accelerator:
    """Answers Cypher queries on one source; made by `gpugda.connect`.

    Usable from several threads. Not after a fork: an OpenCL context does not survive one.

    Example:
        >>> import gpugda
        >>> with gpugda.connect("sample:wordnet") as wordnet:
        ...     text = "MATCH (:Word {name: $name})-[:HAS_SENSE]->(s:Noun) RETURN count(*)"
        ...     wordnet.run(text, name="dog").single().value()
        7
    """

    def __init__(
        self,
        source: GraphSource,
        *,
        device: str | int | None = None,
        memory_limit: int | str | None = None,
        refinement: str = "once",
        progress: Progress | None = None,
    ) -> None:
        if refinement not in REFINEMENTS:
            raise ConfigurationError(
                f"refinement is {refinement!r}; it can be {', '.join(map(repr, REFINEMENTS))}."
            )
        self._source = source
        self._progress = progress or SilentProgress()
        self._session = DeviceSession(device_wanted(device), parse_bytes(memory_limit), refinement)
        self._pid = os.getpid()
        self._closed = False
        self._loaded = load(source, self._progress)

    # ------------------------------------------------------------------ queries
    def run(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        *,
        engine: str = "auto",
        strategy: str | None = None,
        timeout: float | None = None,
        **kwparameters: Any,
    ) -> Result:
        """Runs a query to its end and gives its rows.

        Args:
            query: Cypher text, or a query graph (then all its named variables are returned).
            parameters: Values of the query's parameters; those named like an argument here must
                come this way.
            engine: ``"auto"``; ``"gpu"``, the OpenCL device, which may be a CPU; ``"reference"``,
                plain Python, slow and obviously right. An engine asked for by name is used or
                raises: nothing falls back.
            strategy: How the device joins; default the fastest.
            timeout: Seconds after which the query is given up.
            kwparameters: More parameters.

        Raises:
            ConfigurationError: An argument makes no sense, or the accelerator is closed.
            CypherSyntaxError: The text is not Cypher; the error shows line, column and the place.
            UnsupportedQueryError: A construct that no engine here answers; the error names it and
                its place.
            ParameterMissingError: A parameter has no value.
            CypherTypeError: A value had a type for which an operation is not defined.
            DeviceError: There is no OpenCL device, or it failed.
            MemoryLimitError: Not possible within the memory limit.
            QueryTimeoutError: The timeout passed.
        """
        self._check_usable()
        request = _Request(
            values=_merged(parameters, kwparameters),
            deadline=_deadline(check_timeout(timeout)),
            loaded=self._loaded,
        )
        chosen, reason = _route(engine)
        with request.stage("parse"):
            prepared = _prepared(query)
        if prepared.mode == "EXPLAIN":
            return self._run_explain(prepared, request, chosen, _strategy(strategy))
        if chosen == "reference":
            return self._run_reference(prepared, request, reason)
        return self._run_gpu(prepared, request, reason, _strategy(strategy))

    def _run_gpu(self, query: Query, request: _Request, reason: str, strategy: str) -> Result:
        loaded, report = request.loaded, StrategyReport()
        with request.stage("plan"):
            plan = loaded.plan(query, strategy)
        with self._said_if_closed(), ExitStack() as device:
            with request.stage("open"):
                runner = device.enter_context(self._session.strategy(strategy, loaded.graph))
            started, device_name = time.perf_counter(), self._session.device_name
            table = run_on_device(
                plan, loaded.graph, runner, request.values, report, request.deadline
            )
        request.timings.update(report.timings)
        request.timings["other"] = max(
            0.0, time.perf_counter() - started - sum(report.timings.values())
        )
        summary = request.summary(
            query,
            engine="gpu",
            reason=reason,
            strategy=strategy,
            device=device_name,
            rows=table.row_count,
            warnings=plan.warnings,
            steps=tuple(report.steps),
        )
        return Result(table, summary)

    def _run_reference(self, query: Query, request: _Request, reason: str) -> Result:
        with request.stage("join"):
            found = run_reference(
                parse(query.text), request.loaded.graph, request.values, deadline=request.deadline
            )
        summary = request.summary(query, engine="reference", reason=reason, rows=len(found.rows))
        return Result.from_rows(found.names, found.rows, request.loaded.graph, summary)

    def _run_explain(self, query: Query, request: _Request, engine: str, strategy: str) -> Result:
        with request.stage("plan"):
            text = explain_text(request.loaded.plan(query, strategy))
        names = tuple(column.name for column in query.columns)
        summary = request.summary(
            query,
            engine=engine,
            reason="EXPLAIN asks for the plan and runs nothing",
            strategy=strategy,
            steps=tuple(text.splitlines()),
        )
        return Result.from_rows(names, [], request.loaded.graph, summary)

    def explain(self, query: str | QueryGraph, *, strategy: str | None = None) -> Explanation:
        """How a query would be answered; runs nothing. Print it.

        Raises:
            QueryError: As `run` does for the text.
        """
        self._check_usable()
        return Explanation(self._loaded.plan(_prepared(query), _strategy(strategy)))

    def estimate(self, query: str | QueryGraph) -> Estimate:
        """Rows, bytes on the device and seconds, estimated from statistics; runs nothing.

        Raises:
            QueryError: As `run` does for the text.
        """
        return self.explain(query).estimate

    # ------------------------------------------------------------------ the snapshot
    def refresh(self) -> None:
        """Reads the source again. Results already given keep the graph they came from.

        Raises:
            SourceError: It cannot be read; the accelerator keeps what it had.
        """
        self._check_usable()
        self._loaded = load(self._source, self._progress)

    def save(self, path: str | os.PathLike[str], *, compression: str | None = None) -> None:
        """Saves the data graph as a folder for `gpugda.connect`; replaces an older snapshot there.

        Args:
            path: The folder.
            compression: None (memory-mapped without a copy when opened), ``"lz4"`` or ``"zstd"``.

        Raises:
            SourceError: It cannot be written, or something else lies there.
        """
        self._check_usable()
        save_snapshot(
            self._loaded.graph,
            Path(path),
            compression=compression,
            source_name=self._loaded.source_name,
        )

    def status(self) -> dict[str, Any]:
        """What is loaded, since when, how large, and on which device."""
        self._check_usable()
        loaded = self._loaded
        age = datetime.now(UTC) - loaded.loaded_at
        return {
            "source": loaded.source_name,
            "nodes": loaded.graph.node_count,
            "relationships": loaded.graph.relationship_count,
            "labels": len(loaded.graph.labels),
            "types": len(loaded.graph.types),
            "loaded_at": loaded.loaded_at.isoformat(timespec="seconds"),
            "age_seconds": age.total_seconds(),
            "load_seconds": loaded.seconds,
            "host_bytes": loaded.graph.nbytes,
            "device": self._session.device_name,
            "device_bytes": self._session.bytes_used,
            "plans_cached": len(loaded.plans),
        }

    # ------------------------------------------------------------------ life
    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Frees the device. Results stay readable. Closing twice does nothing."""
        was_closed, self._closed = self._closed, True
        if not was_closed and self._pid == os.getpid():
            self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        graph = self._loaded.graph
        state = "closed" if self._closed else (self._session.device_name or "no device opened yet")
        return (
            f"<Accelerator {self._loaded.source_name}: {graph.node_count:,} nodes, "
            f"{graph.relationship_count:,} relationships; {state}>"
        )

    def _check_usable(self) -> None:
        if self._closed:
            raise ConfigurationError("The accelerator is closed; connect again.")
        if self._pid != os.getpid():
            raise DeviceError(
                "The accelerator was made before a fork, which OpenCL does not survive; start "
                "processes by spawn, and connect in each."
            )

    @contextmanager
    def _said_if_closed(self) -> Iterator[None]:
        """What fails because `close` was called meanwhile says so."""
        try:
            yield
        except DeviceError as error:
            if not self._closed:
                raise
            raise ConfigurationError(
                "The accelerator was closed while the query ran; connect again."
            ) from error


@dataclass(frozen=True, slots=True)
class _Request:
    """What belongs to one run."""

    values: Mapping[str, Any]
    deadline: float | None
    loaded: LoadedGraph
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time of a block to a stage."""
        started = time.perf_counter()
        yield
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - started

    def summary(self, query: Query, **facts: Any) -> Summary:
        """The summary of this run; the total is what was timed so far."""
        self.timings["total"] = sum(self.timings.values())
        return Summary(
            query=query.text,
            parameters=self.values,
            timings=self.timings,
            snapshot=self.loaded.described,
            **facts,
        )


def _merged(
    parameters: Mapping[str, Any] | None, kwparameters: Mapping[str, Any]
) -> Mapping[str, Any]:
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ConfigurationError(
            f"parameters must be a mapping of names to values, not a {type(parameters).__name__}."
        )
    return {**(parameters or {}), **kwparameters}


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def _prepared(query: str | QueryGraph) -> Query:
    if isinstance(query, str):
        return prepare(query)
    if isinstance(query, QueryGraph):
        return query_of(query)
    raise ConfigurationError(
        f"A query is Cypher text or a QueryGraph, not a {type(query).__name__}."
    )


def _route(engine: str) -> tuple[str, str]:
    """The engine to use and the reason."""
    if engine not in ENGINES:
        raise ConfigurationError(
            f"engine is {engine!r}; it can be {', '.join(map(repr, ENGINES))}."
        )
    if engine == "native":
        raise ConfigurationError(
            "engine='native' needs a Neo4j server as source; this source is an embedded graph."
        )
    if engine == "auto":
        return "gpu", "an embedded source has no native engine, and the device answers this query"
    return engine, f"engine={engine!r} was asked for"


def _strategy(name: str | None) -> str:
    if name is None:
        return DEFAULT_STRATEGY
    if name not in STRATEGIES:
        raise ConfigurationError(
            f"strategy is {name!r}; it can be {', '.join(map(repr, STRATEGIES))}."
        )
    return name
