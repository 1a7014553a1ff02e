"""The public functions: `connect`, `run`, `explain`, and constructors of graph sources."""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gpugda.accelerator import Accelerator
from gpugda.config import default_source
from gpugda.process import process_id
from gpugda.sources import adapter, is_networkx, resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gpugda.answer.declined import Declined
    from gpugda.answer.watching import RowChanges, Watch
    from gpugda.plan.explain import Explanation
    from gpugda.plan.physical import Estimate
    from gpugda.ports import GraphSource, Progress
    from gpugda.query.query_graph import QueryGraph
    from gpugda.result.result import Result
    from gpugda.types import Decimals, Engine, Freshness, Load, Planner, Refinement, Strategy

__all__ = ["AsyncAccelerator", "connect", "explain", "graph", "read_edges", "read_import", "run"]

T = TypeVar("T")
C = TypeVar("C", bound="Accelerator | Watch")


def connect(
    source: object,
    *,
    auth: Any = None,
    database: str | None = None,
    impersonated_user: str | None = None,
    labels: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
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
    trust: bool = False,
    progress: Progress | None = None,
) -> Accelerator:
    """Opens a source and returns an `Accelerator` for it.

    Args:
        source: A ``bolt://`` or ``neo4j://`` address (also ``+s`` and ``+ssc``) or a
            ``neo4j.Driver``; or a saved snapshot, a GraphML file, a table or list of edges in a
            file (``.csv``, ``.parquet``, ``.txt``, ``.mtx``), a folder or zip of such or of import
            CSV, ``"sample:wordnet"``, a NetworkX graph, a Ladybug connection or
            ``"ladybug:path"``, or a result of `graph`, `read_edges` or `read_import`.
        auth: ``(user, password)`` or any form the driver accepts; default ``NEO4J_USERNAME`` and
            ``NEO4J_PASSWORD``.
        database: Database name; default ``NEO4J_DATABASE``, else the user's home database.
        impersonated_user: The user to impersonate.
        labels: Read only nodes with one of these labels; queries whose result could depend on
            other nodes go to the database.
        types: The same for relationship types.
        device: ``"gpu"``, ``"cpu"``, a part of the platform's or device's name, or a number as
            ``gpugda devices`` shows it; default ``GPUGDA_DEVICE``, else the GPU with the most
            memory, else any device.
        devices: Several devices instead, ``"all"`` or a list such as ``[0, 1]``, each with a copy
            of the graph: patterns that take long are divided between them. ``"0:1"`` is a half of
            device 0. Default ``GPUGDA_DEVICES``, else one device.
        cluster: The address of a scheduler of Dask (``"tcp://host:8786"``), a
            ``distributed.Client`` or a cluster of Dask, whose workers share the patterns that take
            long; needs ``gpugda[cluster]``. Default ``GPUGDA_CLUSTER``, else none.
        memory_limit: Bytes on the device (``512 * 2**20`` or ``"512MiB"``); default 80 % of its
            memory.
        refinement: How often candidates are refined: ``"off"``, ``"once"`` or ``"fixpoint"``.
        freshness: Allowed age of an accelerated result: ``"strict"``, none; ``"max_age=5s"``;
            ``"manual"``, as of the last `Accelerator.refresh`.
        planner: The rule that chooses the engine: ``"cost"`` or ``"density"``.
        load: When a database is first read: ``"now"``, or in the ``"background"`` while queries go
            to it.
        cache: True to keep snapshots of databases on disk, in ``GPUGDA_CACHE_DIR``.
        warm: True to wait for the compilation of the device's kernels, some seconds once per
            machine; otherwise queries go to the database meanwhile.
        trust: True to check only the checksums of a saved snapshot, not its consistency: for large
            snapshots that no other user can write.
        progress: Receives the progress of loading, and of queries longer than a second.

    Raises:
        ConfigurationError: An argument is invalid.
        SourceError: The source cannot be read, or is inconsistent.
    """
    server: dict[str, Any] = {
        "auth": auth,
        "database": database,
        "impersonated_user": impersonated_user,
        "labels": labels,
        "types": types,
    }
    return Accelerator(
        resolve_source(
            source,
            trust=trust,
            **{name: each for name, each in server.items() if each is not None},
        ),
        device=device,
        devices=devices,
        cluster=cluster,
        memory_limit=memory_limit,
        refinement=refinement,
        freshness=freshness,
        planner=planner,
        load=load,
        cache=cache,
        warm=warm,
        progress=progress,
    )


def graph(
    nodes: object = None,
    relationships: object = None,
    *,
    id: str | None = None,
    labels: str | None = None,
    source: str | None = None,
    target: str | None = None,
    type: str | None = None,
    decimals: Decimals = "exact",
) -> GraphSource:
    """A source from tables, in memory or in files, or from a NetworkX graph.

    Args:
        nodes: A table (pandas, Polars, Arrow, DuckDB, a dict of columns, a list of dicts), its path
            (``.csv``, ``.tsv``, ``.parquet``, ``.arrow``; patterns with ``*``), a list of these, or
            a dict of these by label: ``{"Person": "people.csv"}``. One column has ids, one may have
            labels (text or lists of text); all other columns, and the ids, are properties. Without
            nodes, the relationships define them. A NetworkX graph alone supplies both.
        relationships: The same, with columns of the ids of both ends, and types in a column or as
            keys: ``{"KNOWS": "knows.csv"}``; or ``{("Person", "LIVES_IN", "City"): table}`` if ids
            are unique within a label only. A list of pairs of ids is a table, too.
        id: Name of the column of node ids. By default, as for the others, the column with a usual
            name: ``id``, ``node_id``, ….
        labels: Name of the column of labels; or, if there is no such column, labels of all nodes.
        source: Name of the column of start node ids: ``source``, ``src``, ``from``, ….
        target: Name of the column of end node ids: ``target``, ``dst``, ``to``, ….
        type: Name of the column of types; or, if there is no such column, the type of all.
        decimals: ``"float"`` makes decimal numbers floats. By default they have to be integers of
            64 bits, since a float may be another number.

    Raises:
        ConfigurationError: A key is invalid.
        SourceError: A table lacks a column or holds values that no property can have.

    Example:
        >>> import gpugda
        >>> graph = gpugda.graph(nodes={"id": ["a", "b"]},
        ...                      relationships={"source": ["a"], "target": ["b"], "type": ["R"]})
        >>> gpugda.connect(graph).run("MATCH (x)-->(y) RETURN x.id, y.id").values()
        [['a', 'b']]
    """
    names = {"id": id, "labels": labels, "source": source, "target": target, "type": type}
    made: GraphSource
    if relationships is None and is_networkx(nodes):
        made = adapter("networkx")(nodes, labels=labels or "labels", type=type or "type")
    else:
        made = adapter("tables")(nodes, relationships, decimals=decimals, **names)
    return made


def read_edges(
    files: Any,
    *,
    type: str = "RELATED",
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    comments: str | Sequence[str] | None = ("#", "%"),
) -> GraphSource:
    """A source from edge lists: lines of two ids, without nodes; also Matrix Market (``.mtx``).

    A line may end with a dict, as NetworkX writes attributes: ``1 2 {'weight': 3}``.

    Args:
        files: One or more paths; ``.gz``, ``.xz`` and a ``.zip`` of one file are supported.
        type: The type of all relationships.
        columns: The columns of a line, including ``"source"`` and ``"target"``; the others are
            properties of relationships. By default, the header names them if there is one; else
            the first two are the ends, and a third alone is ``weight``.
        delimiter: Field separator; by default that of the first line, or spaces and tabs.
        comments: Prefixes of lines to ignore; None if there are none.

    Raises:
        ConfigurationError: The columns lack ``"source"`` or ``"target"``.
        SourceError: A file is missing, or a line has a wrong number of fields.
    """
    made: GraphSource = adapter("edges")(
        files, type=type, columns=columns, delimiter=delimiter, comments=comments
    )
    return made


def read_import(
    nodes: Mapping[str, Any] | Sequence[Any],
    relationships: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    delimiter: str = ",",
    array_delimiter: str = ";",
    quote: str = '"',
    id_type: str = "string",
    ignore_empty_strings: bool = False,
    trim_strings: bool = False,
    auto_skip_subsequent_headers: bool = False,
) -> GraphSource:
    """A source from CSV files, with the arguments of ``neo4j-admin database import``.

    Args:
        nodes: Files by labels, as in ``{"Person": ["people-header.csv", "people.csv"],
            "Message:Post": "posts.csv"}``; or (labels, files) pairs if several groups with their
            own headers have the same labels, like repeated options of the command.
        relationships: Files by type, as in ``[("IS_PART_OF", "city_country.csv"), ("IS_PART_OF",
            "country_continent.csv")]``.
        delimiter: Separator between fields.
        array_delimiter: Separator between array items, and between labels.
        quote: Quote around fields that hold a delimiter or a newline.
        id_type: ``"string"`` or ``"integer"``: the stored type of a named id column.
        ignore_empty_strings: True if ``""`` is null; an empty field without quotes always is.
        trim_strings: True if spaces around texts are removed.
        auto_skip_subsequent_headers: True if further files of a group may repeat its header.

    Raises:
        SourceError: A file is missing or not UTF-8, or its header or values are invalid.
    """
    made: GraphSource = adapter("import")(
        nodes,
        relationships or {},
        delimiter=delimiter,
        array_delimiter=array_delimiter,
        quote=quote,
        id_type=id_type,
        ignore_empty_strings=ignore_empty_strings,
        trim_strings=trim_strings,
        auto_skip_subsequent_headers=auto_skip_subsequent_headers,
    )
    return made


# ------------------------------------------------------------------ the default accelerator
class _Default:
    """The accelerator shared by `run` and `explain`, created from the environment on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._address: str | None = None
        self._accelerator: Accelerator | None = None
        self._pid = process_id()

    def get(self) -> Accelerator:
        """The accelerator for the source that the environment names now."""
        address = default_source()
        with self._lock:
            stale = self._address != address or self._pid != process_id()
            if self._accelerator is None or self._accelerator.closed or stale:
                self._close()
                self._accelerator = connect(address)
                self._address, self._pid = address, process_id()
            return self._accelerator

    def close(self) -> None:
        """Closes the accelerator if there is one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        # After a fork, the accelerator belongs to the parent process.
        if self._accelerator is not None and self._pid == process_id():
            self._accelerator.close()
        self._accelerator = None


_default = _Default()
atexit.register(_default.close)


def run(
    query: str | QueryGraph,
    parameters: Mapping[str, Any] | None = None,
    *,
    engine: Engine = "auto",
    strategy: Strategy | None = None,
    timeout: float | None = None,
    **kwparameters: Any,
) -> Result:
    """Runs a query on the source that ``GPUGDA_SOURCE`` or ``NEO4J_URI`` names: `Accelerator.run`.

    Raises:
        ConfigurationError: No source is configured.
        GpugdaError: What `Accelerator.run` raises.
    """
    return _default.get().run(
        query, parameters, engine=engine, strategy=strategy, timeout=timeout, **kwparameters
    )


def explain(query: str | QueryGraph, *, rules: bool = False) -> Explanation:
    """How a query would be answered on the source named by ``GPUGDA_SOURCE`` or ``NEO4J_URI``.

    Args:
        query: Cypher or a query graph.
        rules: As in `Accelerator.explain`.

    Raises:
        ConfigurationError: No source is configured.
        GpugdaError: What `Accelerator.explain` raises.
    """
    return _default.get().explain(query, rules=rules)


# ------------------------------------------------------------------ asyncio
async def _in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    import asyncio  # imported here, as it costs 25 ms that synchronous users need not pay

    return await asyncio.to_thread(function, *arguments, **options)


async def _opened_in_thread(open_: Callable[..., C], *arguments: Any, **options: Any) -> C:
    """Like `_in_thread`; closes what was opened if the caller was cancelled meanwhile."""
    lock, opened, cancelled = threading.Lock(), list[C](), threading.Event()

    def work() -> C:
        found = open_(*arguments, **options)
        with lock:
            opened.append(found)
            unwanted = cancelled.is_set()
        if unwanted:
            found.close()
        return found

    try:
        return await _in_thread(work)
    except BaseException:
        with lock:
            cancelled.set()
            late = list(opened)
        for each in late:  # it was opened, but the caller does not get it any more
            threading.Thread(target=each.close, name="gpugda-close").start()
        raise


class AsyncAccelerator:
    """An `Accelerator` whose long operations are awaited while they run in a thread.

    Example:
        async with await AsyncAccelerator.connect("sample:wordnet") as accelerator:
            result = await accelerator.run("MATCH (n:Noun) RETURN count(*)")
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    @classmethod
    async def connect(cls, source: object, **options: Any) -> Self:
        """Like `connect`, awaited. If that is cancelled, what was opened is closed."""
        return cls(await _opened_in_thread(connect, source, **options))

    async def run(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Result:
        """Like `Accelerator.run`, awaited.

        Cancelling does not stop the query in its thread; use a timeout.
        """
        return await _in_thread(self._accelerator.run, query, parameters, **options)

    async def execute_query(
        self, query_: Any, parameters_: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """Like `Accelerator.execute_query`, awaited."""
        return await _in_thread(self._accelerator.execute_query, query_, parameters_, **options)

    async def try_device(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> Result | Declined:
        """Like `Accelerator.try_device`, awaited; cancelling does not stop it, as in `run`."""
        return await _in_thread(self._accelerator.try_device, query, parameters, timeout=timeout)

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """Like `Accelerator.covers`, which does not block."""
        return self._accelerator.covers(bookmarks)

    def observe_native(self, text: str, seconds: float | None = None) -> None:
        """Like `Accelerator.observe_native`, which does not block."""
        self._accelerator.observe_native(text, seconds)

    async def watch(
        self,
        query: str | QueryGraph,
        callback: Callable[[RowChanges], object] | None = None,
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Watch:
        """Like `Accelerator.watch`, awaited; iterate over the watch with ``async for``."""
        return await _opened_in_thread(
            self._accelerator.watch, query, callback, parameters, **options
        )

    async def explain(self, query: str | QueryGraph, *, rules: bool = False) -> Explanation:
        """Like `Accelerator.explain`, awaited."""
        return await _in_thread(self._accelerator.explain, query, rules=rules)

    async def estimate(self, query: str | QueryGraph) -> Estimate:
        """Like `Accelerator.estimate`, awaited."""
        return await _in_thread(self._accelerator.estimate, query)

    async def status(self) -> dict[str, Any]:
        """Like `Accelerator.status`, awaited."""
        return await _in_thread(self._accelerator.status)

    async def refresh(self) -> None:
        """Like `Accelerator.refresh`, awaited."""
        await _in_thread(self._accelerator.refresh)

    async def close(self) -> None:
        """Like `Accelerator.close`, awaited."""
        await _in_thread(self._accelerator.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
