"""The interfaces that adapters of data sources implement; the core imports no adapter."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gpugda.errors import SourceError
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.data.values.column import Column
    from gpugda.deadline import Cancellation

__all__ = [
    "ChangeBatch",
    "ChangeGap",
    "ChangeSource",
    "DatabaseServer",
    "DatabaseVersion",
    "EntityRows",
    "GraphBatches",
    "GraphSource",
    "IdentifierPrefixes",
    "LabelChanges",
    "NativeAnswer",
    "Progress",
    "Projection",
    "PropertyChanges",
    "ServerFacts",
    "SilentProgress",
    "SnapshotFolder",
    "TouchedEntities",
    "UnkeptPropertyError",
]


class UnkeptPropertyError(SourceError):
    """A property has values that columns cannot hold.

    Attributes:
        key: Its key.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Progress(Protocol):
    """Receives the progress of long work. The command line shows it; the library is silent."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; ``total``: units of work (rows, or bytes for files), if known."""

    def advance(self, amount: int) -> None:
        """This many further units are done."""


class SilentProgress:
    """A progress that shows nothing."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Does nothing."""


@value(frozen=True, slots=True)
class DatabaseVersion:
    """A state of a database, identified by its last committed transaction.

    Args:
        database_id: The database's uuid. A re-created or restored database has another one.
        transaction: Id of the last committed transaction; grows with every commit.
        bookmark: Bookmark with which the driver reads at this state or a later one.
    """

    database_id: str
    transaction: int
    bookmark: str = field(default="", compare=False, repr=False)


@value(frozen=True, slots=True)
class IdentifierPrefixes:
    """The prefixes of the numeric ids in element ids of nodes and relationships."""

    node: str
    relationship: str


@value(frozen=True, slots=True)
class Projection:
    """The part of a database that is read.

    Args:
        labels: Nodes with one of these labels; None for all nodes.
        types: Relationships of these types between such nodes; None for all types.
    """

    labels: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None


@value(frozen=True, slots=True)
class GraphBatches:
    """A graph in columns. All node batches must be read before the first relationship batch.

    Args:
        nodes: Node batches; a server's ids ascend, so that index order is id order.
        relationships: Relationship batches, with ids if the source is a server.
        version: The state that is read, valid if it is still the newest state at the end; None if
            the source does not change or cannot tell.
        element_ids: Prefixes of element ids, given by servers; the data graph keeps their ids.
        properties_complete: True if the batches hold all properties; otherwise properties are read
            when a query needs them.
    """

    nodes: Iterable[NodeBatch]
    relationships: Iterable[RelationshipBatch]
    version: DatabaseVersion | None = None
    element_ids: IdentifierPrefixes | None = None
    properties_complete: bool = True


@value(frozen=True, slots=True)
class EntityRows:
    """All properties of some nodes or relationships.

    Args:
        rows: Property maps in the order of the given ids.
        version: The newest state after the last one was read; None if the server does not tell.
    """

    rows: list[dict[str, Any]]
    version: DatabaseVersion | None


@value(frozen=True, slots=True)
class SnapshotFolder:
    """The content of a source whose graph is already a saved snapshot.

    Args:
        path: The folder.
        trust: True if no other user can write it, so that only its checksums are checked.
    """

    path: Path
    trust: bool = False


@runtime_checkable
class GraphSource(Protocol):
    """A source of a data graph."""

    @property
    def name(self) -> str:
        """A short name without credentials, shown in summaries, errors and logs."""

    def read(self, progress: Progress) -> AbstractContextManager[GraphBatches | SnapshotFolder]:
        """Opens the source and returns its graph; leaving the context closes everything.

        Raises:
            SourceError: The data is invalid; the message names the file or table and the row.
        """


@value(frozen=True, slots=True)
class ServerFacts:
    """Facts about a database server, collected when connecting.

    Args:
        address: Scheme, host and port, without credentials.
        product: ``Neo4j``, or the name that another Bolt server reports.
        version: Such as ``5.26.0`` or ``2026.08.1``.
        edition: ``community``, ``enterprise`` or what the server reports.
        database: The database's name.
        database_id: Its uuid; empty if unknown.
        default_cypher: Cypher version of texts without a prefix: 5 or 25.
        user: The authenticated user; empty without authentication.
        impersonated_user: The impersonated user, or empty.
        has_bookmarks: True if `DatabaseServer.probe` can determine the version.
        clustered: True if several members may answer.
        sees_everything: True if the user may read all nodes, relationships and properties.
        restriction: If not: a sentence for the user that says why.
        plugin: Version of gpugda's plugin in the server; empty if it is missing or unusable.
        plugin_advice: If it is unusable: a sentence that says why and what to do.
        server_info: The driver's ``neo4j.ServerInfo`` of the connection.
    """

    address: str
    product: str
    version: str
    edition: str
    database: str
    database_id: str
    default_cypher: int
    user: str
    impersonated_user: str
    has_bookmarks: bool
    clustered: bool
    sees_everything: bool
    restriction: str = ""
    plugin: str = ""
    plugin_advice: str = ""
    server_info: Any = field(default=None, compare=False, repr=False)


@value(frozen=True, slots=True, eq=False)
class NativeAnswer:
    """The server's own result of a query.

    Args:
        keys: Column names.
        records: ``neo4j.Record`` objects in order.
        summary: The driver's ``neo4j.ResultSummary``.
        version: The state at which, or after which, it was computed, if the server tells.
    """

    keys: tuple[str, ...]
    records: list[Any]
    summary: Any
    version: DatabaseVersion | None


@value(frozen=True, slots=True, eq=False)
class LabelChanges:
    """Labels added to or removed from nodes that existed before and still exist.

    Args:
        node_ids: ``int64``, ascending; one entry per node and changed label.
        label_codes: ``int32`` per row: position in ``labels``.
        added: ``bool`` per row: True if the label was added, False if it was removed.
        labels: Distinct label names.
    """

    node_ids: NDArray[np.int64]
    label_codes: NDArray[np.int32]
    added: NDArray[np.bool_]
    labels: tuple[str, ...]


@value(frozen=True, slots=True, eq=False)
class PropertyChanges:
    """New values of one property, also on created elements, but not on deleted ones.

    Args:
        ids: ``int64``, ascending and distinct.
        values: The new values, null for removed ones. None if recording of this key was requested
            too late: then they are read with `DatabaseServer.read_properties`, and verified.
    """

    ids: NDArray[np.int64]
    values: Column | None


@value(frozen=True, slots=True, eq=False)
class TouchedEntities:
    """Everything that transactions touched, even if it has no net effect.

    Args:
        nodes: ``int64``, ascending: ids of all nodes that were created or deleted.
        relationships: The same for relationships.
        labels: For nodes in both states: each label that was added or removed, in its final state.
    """

    nodes: NDArray[np.int64]
    relationships: NDArray[np.int64]
    labels: LabelChanges


@value(frozen=True, slots=True, eq=False)
class ChangeBatch:
    """The change set between two states of a database: the net effect of its transactions.

    Apply it in this order: delete relationships, delete nodes, create nodes, change labels, create
    relationships, set properties. An id that was deleted and reused is in both the deleted and the
    created ones, even if a relationship got its old type and ends again. Elements that were created
    and deleted in between are not listed. All relationships of deleted nodes are listed.

    Args:
        since: Transaction id of the state that this applies to.
        version: The resulting state, with a bookmark for reading at it.
        transaction_count: Number of transactions that changed data in between; 0 for no change.
        created_nodes: Ids ascend; label sets of the new state; without properties.
        deleted_nodes: ``int64``, ascending.
        labels: Label changes of nodes in both states.
        created_relationships: By ascending id, with ids; without properties.
        deleted_relationships: The same, with their former ends and types.
        node_properties: Property changes by key.
        relationship_properties: Property changes by key.
        touched: Everything touched in between; None if the source does not tell.
        is_newest: True if the version was the newest state when the changes were requested, or is
            later. False if the source does not tell.
    """

    since: int
    version: DatabaseVersion
    transaction_count: int
    created_nodes: NodeBatch
    deleted_nodes: NDArray[np.int64]
    labels: LabelChanges
    created_relationships: RelationshipBatch
    deleted_relationships: RelationshipBatch
    node_properties: Mapping[str, PropertyChanges]
    relationship_properties: Mapping[str, PropertyChanges]
    touched: TouchedEntities | None = None
    is_newest: bool = False


@value(frozen=True, slots=True)
class ChangeGap:
    """The changes since a state are unknown or incomplete: the graph has to be read again.

    Args:
        reason: The reason, as a sentence without a full stop.
    """

    reason: str


class ChangeSource(Protocol):
    """Reports the changes of a database's transactions. Thread-safe.

    It covers the whole database: a reader of a part (`Projection`) selects its own changes.
    """

    @property
    def described(self) -> str:
        """Name of the mechanism for users, such as ``gpugda's plugin 0.1.0``."""

    def follow(
        self, node_keys: Collection[str] = (), relationship_keys: Collection[str] = ()
    ) -> DatabaseVersion | ChangeGap:
        """Starts recording changes; call it before reading a graph that will be kept up to date.

        Further calls add keys. A reader that does not ask for changes for a long time is dropped.

        Args:
            node_keys: Node properties whose values are recorded; for other properties only the
                touched nodes are recorded.
            relationship_keys: The same for relationships.

        Returns:
            The state from which `changes_since` knows all changes; or why there is none.

        Raises:
            SourceError: The server cannot be reached, or does not answer.
        """

    def changes_since(
        self, version: DatabaseVersion, until: DatabaseVersion | None = None
    ) -> ChangeBatch | ChangeGap:
        """The changes committed since a state, up to the newest completely known state.

        Args:
            version: The caller's state.
            until: A state to reach, such as that of a probe; it is waited for briefly. The result
                may reach further, or less far: see its ``version``.

        Returns:
            The changes of whole transactions without omissions; or why they are unknown. They are
            never guessed.

        Raises:
            SourceError: The server cannot be reached, or does not answer.
        """


@runtime_checkable
class DatabaseServer(GraphSource, Protocol):
    """A source that is a live database: it changes, and answers queries itself.

    All methods are thread-safe. `run_native` passes the server's errors (``neo4j.exceptions``)
    unchanged; other methods raise a `SourceError` that says what to do.
    """

    @property
    def facts(self) -> ServerFacts:
        """Facts collected when connecting."""

    @property
    def projection(self) -> Projection:
        """The part of the database that `read` returns."""

    def read(
        self, progress: Progress, *, gentle: bool = False, moving: bool = False
    ) -> AbstractContextManager[GraphBatches]:
        """Like `GraphSource.read`, at the newest state.

        Args:
            progress: Receives the progress; an error that it raises ends the reading.
            gentle: True to leave most of the server's capacity to others, as no user waits.
            moving: True if the database may change meanwhile. Data that no transaction touches is
                read exactly once; data that one touches, in any state, may be read twice.
        """

    def probe(self, timeout: float | None = None) -> DatabaseVersion | None:
        """The newest committed state, in one round trip; None if the server cannot tell.

        Raises:
            SourceError: The server cannot be reached, or refuses.
        """

    def asking(
        self, timeout: float | None = None
    ) -> AbstractContextManager[Callable[[], DatabaseVersion | None]]:
        """An asynchronous `probe`: sent on entering; call the returned function for the answer.

        Call it once, from the same thread, before leaving. A server without support for this is
        asked at the call.
        """

    def version_in(self, bookmark: str) -> DatabaseVersion | None:
        """The state that a bookmark names, without a request; None for another database's."""

    def listed_labels(self, labels: Collection[str]) -> tuple[str, ...]:
        """The labels of a node that has all of these labels, in the server's order.

        Empty if there is no such node. The order in which a server lists labels never changes.

        Raises:
            SourceError: The server cannot be reached.
        """

    def read_properties(
        self,
        keys: Sequence[str] | None,
        ids: NDArray[np.int64],
        version: DatabaseVersion | None,
        *,
        of_nodes: bool,
        progress: Progress | None = None,
    ) -> Mapping[str, Column]:
        """Property columns of all nodes or relationships, read at the version or a later one.

        Args:
            keys: The keys; None for all keys.
            ids: Distinct numeric ids; node ids ascend, relationship ids may be in any order.
            version: The state of the snapshot; the caller probes afterwards whether it still holds.
            of_nodes: True for nodes, False for relationships.
            progress: Receives the progress.

        Returns:
            A column of ``len(ids)`` values per key; a key without values may be left out.

        Raises:
            StaleSnapshotError: An id no longer exists.
        """

    def read_entities(
        self, ids: NDArray[np.int64], version: DatabaseVersion | None, *, of_nodes: bool
    ) -> EntityRows:
        """All properties of some nodes or relationships, read at the version or a later one.

        Raises:
            StaleSnapshotError: An id no longer exists.
        """

    def run_native(
        self,
        text: str,
        parameters: Mapping[str, Any],
        *,
        timeout: float | None = None,
        read_only: bool = False,
        progress: Progress | None = None,
        metadata: Mapping[str, Any] | None = None,
        cancellation: Cancellation | None = None,
    ) -> NativeAnswer:
        """Runs the unchanged query in a transaction of its own.

        Args:
            text: Cypher text.
            parameters: Values by name.
            timeout: Seconds, enforced by the server and, if it does not respond, by the client.
            read_only: True for read access mode; False allows writes.
            progress: Receives the number of rows.
            metadata: Transaction metadata, which the server shows in its query log.
            cancellation: Ends the query, also on the server, when it is cancelled.

        Raises:
            QueryTimeoutError: The timeout passed, or the query was cancelled.
            neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: As the driver raises them.
        """

    def change_source(self) -> ChangeSource | None:
        """The source of changes; None if there is none, or the user may not see everything."""

    def close(self) -> None:
        """Closes what it opened itself; a driver given by the user stays open."""
