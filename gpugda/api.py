"""The front door: `connect`, `run`, `explain`, and the ways to make a graph of your own.

More than 300 lines: public functions with their descriptions.
"""

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
    from gpugda.plan.estimate import Estimate
    from gpugda.plan.explain import Explanation
    from gpugda.ports import GraphSource, Progress
    from gpugda.query.query_graph import QueryGraph
    from gpugda.result.result import Result

__all__ = ["AsyncAccelerator", "connect", "explain", "graph", "read_edges", "read_import", "run"]

T = TypeVar("T")


def connect(
    source: object,
    *,
    auth: Any = None,
    database: str | None = None,
    impersonated_user: str | None = None,
    labels: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    device: str | int | None = None,
    memory_limit: int | str | None = None,
    refinement: str = "once",
    freshness: str = "strict",
    planner: str = "cost",
    load: str = "now",
    cache: bool = True,
    warm: bool = False,
    trust: bool = False,
    progress: Progress | None = None,
) -> Accelerator:
    """Opens a source and gives an `Accelerator` for it.

    Args:
        source: A ``bolt://`` or ``neo4j://`` address (also ``+s`` and ``+ssc``) or a
            ``neo4j.Driver``; or a saved snapshot, a GraphML file, a folder or zip of import
            CSV, a folder of Parquet, ``"sample:wordnet"``, a NetworkX graph, a Ladybug connection
            or ``"ladybug:path"``, or what `graph`, `read_edges` and `read_import` return.
        auth: ``(user, password)`` or what the driver takes; default ``NEO4J_USERNAME`` and
            ``NEO4J_PASSWORD``.
        database: Name; default ``NEO4J_DATABASE``, else the user's home database.
        impersonated_user: As whom to read and ask.
        labels: Read only nodes with one of these labels; queries that this could change go to the
            database.
        types: Read only relationships of these types, likewise.
        device: ``"gpu"``, ``"cpu"``, a part of the platform's or device's name, or a number as
            ``gpugda devices`` shows it; default ``GPUGDA_DEVICE``, else the GPU with most memory,
            else any.
        memory_limit: Bytes on the device (``512 * 2**20`` or ``"512MiB"``); default 80 % of its
            memory.
        refinement: How often candidates are refined: ``"off"``, ``"once"`` or ``"fixpoint"``.
        freshness: How old an accelerated answer may be: ``"strict"``, not at all; ``"max_age=5s"``;
            ``"manual"``, as of the last `Accelerator.refresh`.
        planner: Who judges which engine is faster: ``"cost"`` or ``"density"``.
        load: When a database is read first: ``"now"``, or in the ``"background"`` while queries go
            to it.
        cache: Keep snapshots of databases on disk, in ``GPUGDA_CACHE_DIR``.
        warm: Wait until the device's kernels are compiled, which takes some seconds once for a
            machine; else queries go to the database meanwhile.
        trust: Open a saved snapshot without checking that it makes sense, only its checksums: for
            large ones that nobody else may have written.
        progress: Told how far loading, and a query of more than a second, has come.

    Raises:
        ConfigurationError: An argument makes no sense.
        SourceError: The source cannot be read, or contradicts itself.
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
    id: str = "id",
    labels: str = "labels",
    source: str = "source",
    target: str = "target",
    type: str = "type",
) -> GraphSource:
    """A source made of tables, in memory or in files, or of a NetworkX graph.

    Args:
        nodes: A table (pandas, Polars, Arrow, or a dict of columns), the path of one (``.csv``,
            ``.tsv``, ``.parquet``, ``.arrow``), a list of these, or these by label: ``{"Person":
            "people.csv"}``. A column has ids, one may have labels (text or lists of text); every
            other column, and the ids, are properties. Without nodes, they are those that the
            relationships name. A NetworkX graph alone is nodes and relationships.
        relationships: The same with columns of both ends' ids, and types in a column or as keys:
            ``{"KNOWS": "knows.csv"}``; or ``{("Person", "LIVES_IN", "City"): table}`` where ids
            are distinct within a label only.
        id: Name of the column of nodes' ids.
        labels: Name of the column of labels.
        source: Name of the column of start nodes' ids.
        target: Name of the column of end nodes' ids.
        type: Name of the column of types.

    Raises:
        ConfigurationError: A key makes no sense.
        SourceError: A table lacks a column or holds what no property can be.

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
        made = adapter("networkx")(nodes, labels=labels, type=type)
    else:
        made = adapter("tables")(nodes, relationships, **names)
    return made


def read_edges(
    files: Any,
    *,
    type: str = "RELATED",
    columns: Sequence[str] = ("source", "target"),
    delimiter: str | None = None,
    comments: str = "#",
) -> GraphSource:
    """A source made of lists of edges: lines of two ids, without a header and without nodes.

    Args:
        files: A path or several; ``.gz``, ``.xz`` and a ``.zip`` of one file are read, too.
        type: Of all relationships.
        columns: What is in a line, ``"source"`` and ``"target"`` among it; the others are
            properties of relationships.
        delimiter: Between them; default blanks or tabs.
        comments: What lines that say something else start with.

    Raises:
        ConfigurationError: The columns lack an end.
        SourceError: A file is missing, or a line has more or fewer fields.
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
    """A source made of CSV files, by the arguments of ``neo4j-admin database import``.

    Args:
        nodes: Files by labels, as in ``{"Person": ["people-header.csv", "people.csv"],
            "Message:Post": "posts.csv"}``; or pairs of the two, where several groups with
            headers of their own have the same labels, as the command repeats its option.
        relationships: Files by type, as in ``[("IS_PART_OF", "city_country.csv"), ("IS_PART_OF",
            "country_continent.csv")]``.
        delimiter: Between fields.
        array_delimiter: Between the items of an array, and between labels.
        quote: Around fields that hold a delimiter or a newline.
        id_type: ``"string"`` or ``"integer"``: what a named id column is stored as.
        ignore_empty_strings: Is ``""`` null too? An empty field without quotes always is.
        trim_strings: Are blanks around texts dropped?
        auto_skip_subsequent_headers: May further files of a group repeat its header?

    Raises:
        SourceError: A file is missing, not UTF-8, or its header or values are not what they should
            be.
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
    """The accelerator that `run` and `explain` share, made from the environment on first use."""

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
        # After a fork the parent's accelerator is not ours to close.
        if self._accelerator is not None and self._pid == process_id():
            self._accelerator.close()
        self._accelerator = None


_default = _Default()
atexit.register(_default.close)


def run(
    query: str | QueryGraph,
    parameters: Mapping[str, Any] | None = None,
    *,
    engine: str = "auto",
    strategy: str | None = None,
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


def explain(query: str | QueryGraph) -> Explanation:
    """How a query would be answered on the source named by ``GPUGDA_SOURCE`` or ``NEO4J_URI``.

    Raises:
        ConfigurationError: No source is configured.
        GpugdaError: What `Accelerator.explain` raises.
    """
    return _default.get().explain(query)


# ------------------------------------------------------------------ asyncio
async def _in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    import asyncio  # 25 ms, which only those wait for who await

    return await asyncio.to_thread(function, *arguments, **options)


class AsyncAccelerator:
    """An `Accelerator` whose long work is awaited: it runs in a thread.

    Example:
        async with await AsyncAccelerator.connect("sample:wordnet") as accelerator:
            result = await accelerator.run("MATCH (n:Noun) RETURN count(*)")
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    @classmethod
    async def connect(cls, source: object, **options: Any) -> Self:
        """Like `connect`, awaited."""
        return cls(await _in_thread(connect, source, **options))

    async def run(
        self,
        query: str | QueryGraph,
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Result:
        """Like `Accelerator.run`, awaited.

        Cancelling leaves the query to end in its thread: give a timeout.
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
        """Like `Accelerator.try_device`, awaited; cancelling does as with `run`."""
        return await _in_thread(self._accelerator.try_device, query, parameters, timeout=timeout)

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """Like `Accelerator.covers`, which waits for nothing."""
        return self._accelerator.covers(bookmarks)

    def observe_native(self, text: str, seconds: float | None = None) -> None:
        """Like `Accelerator.observe_native`, which waits for nothing."""
        self._accelerator.observe_native(text, seconds)

    async def watch(
        self,
        query: str | QueryGraph,
        callback: Callable[[RowChanges], object] | None = None,
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Watch:
        """Like `Accelerator.watch`, awaited; what it gives is for ``async for``."""
        return await _in_thread(self._accelerator.watch, query, callback, parameters, **options)

    async def explain(self, query: str | QueryGraph) -> Explanation:
        """Like `Accelerator.explain`, awaited."""
        return await _in_thread(self._accelerator.explain, query)

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
