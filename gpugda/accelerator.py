"""The accelerator: public methods over one source, its data graph and one device."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, get_args, overload

from gpugda.answer.driver_query import parameters_of_call, transformed, unwrapped
from gpugda.answer.embedded import EmbeddedAnswers
from gpugda.answer.exports import GraphExports
from gpugda.answer.faults import as_internal_errors
from gpugda.answer.request import Request
from gpugda.config import (
    check_timeout,
    parse_bytes,
    parse_freshness,
    requested_cluster,
    requested_device,
    requested_devices,
)
from gpugda.deadline import deadline_after
from gpugda.errors import ConfigurationError, DeviceError, InternalError
from gpugda.match.registry import find_matcher
from gpugda.match.session import DeviceSession
from gpugda.ports import DatabaseServer, DatabaseVersion, GraphSource, Progress, SilentProgress
from gpugda.process import process_id
from gpugda.types import Engine, Refinement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpugda.answer.declined import Declined
    from gpugda.answer.watching import RowChanges, Watch
    from gpugda.loading import LoadedGraph
    from gpugda.plan.explain import Explanation
    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.plan.physical import Estimate
    from gpugda.query.query_graph import QueryGraph
    from gpugda.query.reads import Reads
    from gpugda.result.cursor import Cursor
    from gpugda.result.result import EagerResult, Result
    from gpugda.types import Freshness, Load, Planner, Strategy
__all__ = ["Accelerator"]

_Made = TypeVar("_Made")

ENGINES = get_args(Engine)
REFINEMENTS = get_args(Refinement)


class _Answers(Protocol):
    """The engine behind an accelerator: an embedded graph, or a live database with a snapshot."""

    @property
    def loaded(self) -> LoadedGraph | None: ...
    def run(self, request: Request, engine: str) -> Result: ...
    def try_device(self, request: Request) -> Result | Declined: ...
    def covers(self, bookmarks: Iterable[str]) -> bool: ...
    def observe_native(self, text: str, seconds: float | None) -> None: ...
    def explain(self, request: Request) -> Explanation: ...
    def refresh(self) -> None: ...
    def complete(self) -> LoadedGraph: ...
    def status(self) -> dict[str, Any]: ...
    def state_since(
        self, reads: Reads, since: DatabaseVersion | None
    ) -> tuple[DatabaseVersion | None, bool]: ...
    def calibrate(self, *, again: bool = False) -> dict[str, dict[str, float]]: ...
    def close(self) -> None: ...


class Accelerator(GraphExports):
    """Answers Cypher queries on one source; created by `gpugda.connect`.

    Thread-safe. It cannot be used after a fork, which an OpenCL context does not survive.

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
        devices: str | Sequence[str | int] | None = None,
        cluster: object = None,
        memory_limit: int | str | None = None,
        refinement: Refinement = "once",
        freshness: Freshness = "strict",
        planner: Planner = "cost",
        load: Load = "now",
        cache: bool = True,
        warm: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if refinement not in REFINEMENTS:
            raise ConfigurationError(
                f"refinement is {refinement!r}; it can be {', '.join(map(repr, REFINEMENTS))}."
            )
        policy = parse_freshness(freshness)
        self._pid = process_id()
        self._closed = False
        self._session = _session(device, devices, cluster, parse_bytes(memory_limit), refinement)
        self._progress = watched = progress or SilentProgress()
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        self._answers: _Answers
        if isinstance(source, DatabaseServer):
            from gpugda.answer.opening import open_server

            self._answers = open_server(
                source,
                self._session,
                policy,
                planner=planner,
                when=load,
                cache=cache,
                progress=watched,
            )
        else:
            self._session.start_ahead()  # every query of an embedded graph uses the device
            self._answers = EmbeddedAnswers(source, self._session, watched)
        if warm:
            self._warm_or_close()

    # ------------------------------------------------------------------ queries
    def run(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        *,
        engine: Engine = "auto",
        strategy: Strategy | None = None,
        timeout: float | None = None,
        **kwparameters: Any,
    ) -> Result:
        """Runs a query to completion and returns its rows.

        Args:
            query: Cypher text, a ``neo4j.Query``, or a query graph (which returns all its named
                variables). Engine ``"auto"`` leaves a ``neo4j.Query`` with metadata to the
                database, as its metadata is meant for the query log.
            parameters: Values of the query's parameters; needed for parameters that have the name
                of an argument of this method.
            engine: ``"auto"``, the faster of the device and the database; ``"gpu"``, the OpenCL
                device, which may be a CPU; ``"native"``, the database itself; ``"reference"``,
                plain Python, slow but simple. An explicit engine answers or raises an error.
            strategy: The join strategy of the device; by default the fastest.
            timeout: Time limit in seconds.
            kwparameters: Further parameters. Each must occur in the query, so that a misspelt
                argument is not silently taken for a parameter.

        Raises:
            ConfigurationError: An argument is invalid, or the accelerator is closed.
            CypherSyntaxError: The text is not Cypher; the error shows line and column.
            UnsupportedQueryError: No engine here answers a construct; the error names its place.
            ParameterMissingError: A parameter has no value.
            CypherTypeError: A value has a type for which an operation is not defined.
            DeviceError: There is no OpenCL device, or it failed.
            MemoryLimitError: The query cannot run within the memory limit.
            QueryTimeoutError: The timeout passed.
            StaleSnapshotError: The requested engine could not get a fresh snapshot.
            neo4j.exceptions.Neo4jError: The database raised it.
        """
        request = self._request(query, parameters, kwparameters, strategy, timeout)
        if engine not in ENGINES:
            raise ConfigurationError(
                f"engine is {engine!r}; it can be {', '.join(map(repr, ENGINES))}."
            )
        with self._closed_errors():
            return self._answers.run(request, engine)

    def cursor(self) -> Cursor:
        """A cursor for libraries that read from databases: ``polars.read_database(q, this)``."""
        from gpugda.result.cursor import Cursor

        return Cursor(self.run)

    @overload
    def execute_query(
        self,
        query_: Any,
        parameters_: Mapping[str, Any] | None = None,
        *,
        database_: str | None = None,
        engine_: Engine = "auto",
        timeout_: float | None = None,
        result_transformer_: None = None,
        **kwargs: Any,
    ) -> EagerResult: ...
    @overload
    def execute_query(
        self,
        query_: Any,
        parameters_: Mapping[str, Any] | None = None,
        *,
        database_: str | None = None,
        engine_: Engine = "auto",
        timeout_: float | None = None,
        result_transformer_: Callable[[Any], _Made],
        **kwargs: Any,
    ) -> _Made: ...
    def execute_query(
        self,
        query_: Any,
        parameters_: Mapping[str, Any] | None = None,
        *,
        database_: str | None = None,
        engine_: Engine = "auto",
        timeout_: float | None = None,
        result_transformer_: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Like the driver's ``execute_query``, to ease porting code to an accelerator.

        Args:
            query_: Cypher text, a ``neo4j.Query`` or a query graph.
            parameters_: Values of its parameters.
            database_: None, or the name of the accelerator's database.
            engine_: See `run`.
            timeout_: Time limit in seconds.
            result_transformer_: Converts the `Result` to the return value; by default to a
                ``neo4j.EagerResult`` of records, summary and keys.
            kwargs: Further parameters, which override ``parameters_``.

        Raises:
            ConfigurationError: An argument is invalid, or names another database.
            GpugdaError: See `run`.

        Example:
            records, summary, keys = accelerator.execute_query("MATCH (n) RETURN count(*) AS n")
        """
        ours = self.status().get("database") if database_ else None
        if database_ and ours != database_:
            raise ConfigurationError(
                f"database_ is {database_!r}, and this accelerator's is {ours or 'none'}: connect "
                "to the other with gpugda.connect(…, database=…)."
            )
        parameters = parameters_of_call(parameters_, kwargs)
        result = self.run(query_, parameters, engine=engine_, timeout=timeout_)
        return transformed(result, result_transformer_)

    def try_device(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> Result | Declined:
        """The device's result if it is correct and expected to be faster, else the reason.

        For callers with a connection of their own for declined queries: only a probe and property
        reads are sent to the server.

        Raises:
            ConfigurationError: An argument is invalid, or the accelerator is closed.
            QueryTimeoutError: The timeout passed.
        """
        request = self._request(query, parameters, {}, None, timeout)
        with self._closed_errors():
            return self._answers.try_device(request)

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """True if the snapshot includes the state of all these bookmarks.

        For callers of `try_device` whose freshness is not ``"strict"``; sends nothing. If the
        snapshot is older, it is refreshed in the background, unless its freshness is ``"manual"``.
        """
        self._check_usable()
        return self._answers.covers(bookmarks)

    def observe_native(self, text: str, seconds: float | None = None) -> None:
        """Tells the planner that the database answered a query that `try_device` declined.

        Args:
            text: The query.
            seconds: Time until the last row; None if unknown.
        """
        self._check_usable()
        self._answers.observe_native(text, seconds)

    def explain(
        self, query: str | QueryGraph, *, strategy: Strategy | None = None, rules: bool = False
    ) -> Explanation:
        """How a query would be answered, by which engine and why; runs nothing. Print it.

        For a query that the device cannot answer, the database is asked for its plan.

        Args:
            query: Cypher or a query graph.
            strategy: As in `run`.
            rules: True to show the logical tree as well, as built from the clauses and after each
                rule of the optimizer that changed it.

        Raises:
            QueryError: As in `run`, on an embedded graph.
            neo4j.exceptions.Neo4jError: The database rejected the text.
        """
        with as_internal_errors():
            request = self._request(query, None, {}, strategy, None)
            found = self._answers.explain(request)
            return found.with_rules(request.prepared()) if rules else found

    def profile(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        *,
        strategy: Strategy | None = None,
        timeout: float | None = None,
        **kwparameters: Any,
    ) -> OperatorNode:
        """Runs a query on the device and returns measured figures per operator. Print it.

        Raises:
            As `run` with ``engine="gpu"``.
        """
        from gpugda.answer.profiling import profile_of  # imported on use only

        how: dict[str, Any] = {"strategy": strategy, "timeout": timeout, **kwparameters}
        return profile_of(self.run(query, parameters, engine="gpu", **how))

    def estimate(self, query: str | QueryGraph) -> Estimate:
        """Estimated rows, device bytes and seconds of a query; runs nothing.

        Rows and bytes come from graph statistics. The seconds are those of the engine that would
        answer, from the rates that `calibrate` measured (else of a typical device and server), and
        from earlier runs of the same text.

        Raises:
            QueryError: As in `run`.
        """
        return self.explain(query).estimate

    def watch(
        self,
        query: str | QueryGraph,
        callback: Callable[[RowChanges], object] | None = None,
        parameters: Mapping[str, Any] | None = None,
        *,
        every: float = 1.0,
        engine: Engine = "auto",
    ) -> Watch:
        """Runs a query again whenever something that it reads has changed in the database.

        With gpugda's plugin, or change data capture, the changed labels, types and keys are known;
        otherwise any commit may have changed the result.

        Example:
            with accelerator.watch("MATCH (a:Alert) RETURN a.text") as watch:
                for changes in watch:
                    print(changes.added, changes.removed)

        Args:
            query: A reading query.
            callback: Called in a thread for each change of the result, first with all its rows; if
                it raises, the watch ends. None: iterate over the watch, also with ``async for``.
            parameters: Parameters of the query.
            every: Minimum seconds between two runs, and the polling interval of the server's state.
            engine: As in `run`.

        Raises:
            QueryError: The query is invalid.
            ConfigurationError: The source is not a live database, or an argument is invalid.
        """
        from gpugda.answer.watching import Watch  # imported on use only

        self._check_usable()
        if not every > 0:
            raise ConfigurationError(f"every is a number of seconds above 0, not {every!r}.")
        from gpugda.query.reads import reads_of

        reads = reads_of(self._request(query, parameters, {}, None, None).text)
        self._answers.state_since(reads, None)  # raises errors here rather than in the thread
        watch = Watch(
            lambda: self.run(query, parameters, engine=engine),
            lambda since: self._answers.state_since(reads, since),
            every,
            callback,
        )
        self._watches.add(watch)
        return watch

    # ------------------------------------------------------------------ the snapshot
    def refresh(self) -> None:
        """Reads the source again. Earlier results keep the graph that they came from.

        A database that has not changed since the snapshot is not read again.

        Raises:
            SourceError: The source cannot be read; the accelerator keeps its graph.
            StaleSnapshotError: The source changed during each of several attempts.
        """
        self._check_usable()
        self._answers.refresh()

    def status(self) -> dict[str, Any]:
        """The loaded graph, its size, load time and freshness, and the device."""
        self._check_usable()
        device = {
            "device": self._session.device_name,
            "device_bytes": self._session.bytes_used,
            "compiling": self._session.compiling_reason,
        }
        from gpugda.answer.exports import graph_status

        return {**graph_status(self._answers.loaded), **device, **self._answers.status()}

    def calibrate(self, *, again: bool = False) -> dict[str, dict[str, float]]:
        """Measures the speed of the device and of the server, for the planner.

        Takes some seconds. The rates are cached on disk, by device and by server.

        Args:
            again: True to measure even if there are cached rates.

        Returns:
            ``{"device": {…}, "server": {…}}``, the latter for a database only; see
            `gpugda.plan.cost`.

        Raises:
            DeviceError: There is no device, or it failed.
            SourceError: The server cannot be reached.
        """
        self._check_usable()
        return self._answers.calibrate(again=again)

    def warm(self, timeout: float | None = None) -> None:
        """Opens the device and waits for its kernels to be compiled, needed once per machine.

        Until they are compiled, ``engine="auto"`` leaves queries to the database, and an embedded
        graph compiles kernels on first use.

        Args:
            timeout: Maximum seconds to wait; compilation continues after it.

        Raises:
            DeviceError: There is no device, or a kernel does not compile.
            QueryTimeoutError: The timeout passed.
        """
        self._check_usable()
        self._session.warm(check_timeout(timeout))

    # ------------------------------------------------------------------ lifecycle
    @property
    def closed(self) -> bool:
        """True if `close` was called."""
        return self._closed

    def close(self) -> None:
        """Releases the device. Results stay readable. Closing twice has no effect."""
        was_closed, self._closed = self._closed, True
        if not was_closed and self._pid == process_id():
            for watch in list(self._watches):
                watch.close()
            self._answers.close()
            self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else (self._session.device_name or "no device opened yet")
        loaded = self._answers.loaded
        if loaded is None:
            return f"<Accelerator: no snapshot yet; {state}>"
        nodes, relationships = loaded.graph.node_count, loaded.graph.relationship_count
        return (
            f"<Accelerator {loaded.source_name}: {nodes:,} nodes, "
            f"{relationships:,} relationships; {state}>"
        )

    def _loaded(self) -> LoadedGraph | None:
        self._check_usable()
        return self._answers.loaded

    def _complete(self) -> LoadedGraph:
        self._check_usable()
        return self._answers.complete()

    def _warm_or_close(self) -> None:
        try:
            self._session.warm()
        except BaseException:
            self.close()
            raise

    def _request(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None,
        kwparameters: Mapping[str, Any],
        strategy: str | None,
        timeout: float | None,
    ) -> Request:
        self._check_usable()
        query, metadata, timeout = unwrapped(query, timeout)
        request = Request(
            query,
            _merged(parameters, kwparameters),
            find_matcher(strategy).name,
            deadline_after(check_timeout(timeout)),
            progress=self._progress,
            metadata=metadata,
        )
        if kwparameters:
            from gpugda.answer.driver_query import check_keywords

            check_keywords(request.text, kwparameters)
        return request

    def _check_usable(self) -> None:
        if self._closed:
            raise ConfigurationError("The accelerator is closed; connect again.")
        if self._pid != process_id():
            raise DeviceError(
                "The accelerator was made before a fork, which OpenCL does not survive; start "
                "processes by spawn, and connect in each."
            )

    @contextmanager
    def _closed_errors(self) -> Iterator[None]:
        """Replaces errors caused by a concurrent `close` with one that says so."""
        try:
            yield
        except (DeviceError, InternalError) as error:
            if not self._closed:
                raise
            raise ConfigurationError(
                "The accelerator was closed while the query ran; connect again."
            ) from error


def _session(
    device: str | int | None,
    devices: str | Sequence[str | int] | None,
    cluster: object,
    memory_limit: int | None,
    refinement: str,
) -> DeviceSession:
    if devices is not None and (device is not None or cluster is not None):
        other = "device" if cluster is None else "cluster"
        raise ConfigurationError(f"Give either {other} or devices, not both.")
    workers = requested_cluster(cluster) if devices is None else None
    if workers is not None:
        try:
            from gpugda.cluster.session import ClusterSession  # few have a cluster
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"A cluster needs Dask: pip install 'gpugda[cluster]' ({error})."
            ) from error

        return ClusterSession(workers, requested_device(device), memory_limit, refinement)
    several = requested_devices(devices) if device is None else ()
    if not several:
        return DeviceSession(requested_device(device), memory_limit, refinement)
    from gpugda.match.several_devices import SeveralDevices  # few machines have several

    return SeveralDevices(several, memory_limit, refinement)


def _merged(
    parameters: Mapping[str, Any] | None, kwparameters: Mapping[str, Any]
) -> Mapping[str, Any]:
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ConfigurationError(
            f"parameters must be a mapping of names to values, not a {type(parameters).__name__}."
        )
    return {**(parameters or {}), **kwparameters}
