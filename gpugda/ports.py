"""What the core asks of a data source. Adapters implement it; the core never imports them.

Longer than other modules, as the whole border is to be read on one page.

More than 300 lines: protocols with their descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.data.column import Column

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
    "TouchedOnTheWay",
]


class Progress(Protocol):
    """Told how far long work has come. The command line draws it; the library stays silent."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; ``total`` units of work (rows, or bytes for files) if known."""

    def advance(self, amount: int) -> None:
        """That many units more are done."""


class SilentProgress:
    """A progress that nobody watches."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Nothing to show."""

    def advance(self, amount: int) -> None:
        """Nothing to show."""


@dataclass(frozen=True, slots=True)
class DatabaseVersion:
    """A state of a database: its newest committed transaction.

    Args:
        database_id: The database's uuid. A re-created or restored database has another one.
        transaction: Number of the newest committed transaction; rises with every commit.
        bookmark: What the driver is given to read at this state or a later one.
    """

    database_id: str
    transaction: int
    bookmark: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IdentifierPrefixes:
    """What stands before a node's or relationship's numeric id in its element id."""

    node: str
    relationship: str


@dataclass(frozen=True, slots=True)
class Projection:
    """The part of a database that is read.

    Args:
        labels: Nodes with one of these labels, None for all nodes.
        types: Relationships of these types between such nodes, None for all.
    """

    labels: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class GraphBatches:
    """A graph in columns: all node batches are read before the first relationship batch.

    Args:
        nodes: Rising ids where the source is a server, so that index order is id order.
        relationships: With ids where the source is a server.
        version: The state that is read, if it still is the newest when all has been read; None
            where the source does not change or cannot tell.
        element_ids: Given by servers, whose ids the data graph then keeps.
        properties_complete: Whether the batches hold all properties; else they are read when a
            query asks for them.
    """

    nodes: Iterable[NodeBatch]
    relationships: Iterable[RelationshipBatch]
    version: DatabaseVersion | None = None
    element_ids: IdentifierPrefixes | None = None
    properties_complete: bool = True


@dataclass(frozen=True, slots=True)
class EntityRows:
    """All properties of some nodes or relationships.

    Args:
        rows: In the order in which their ids were given.
        version: The newest state after the last of them was read; None if the server did not tell.
    """

    rows: list[dict[str, Any]]
    version: DatabaseVersion | None


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """The answer of a source whose graph lies ready as a saved snapshot.

    Args:
        path: The folder.
        trust: Nobody else may have written it, so what its checksums confirm is believed.
    """

    path: Path
    trust: bool = False


@runtime_checkable
class GraphSource(Protocol):
    """Where a data graph comes from."""

    @property
    def name(self) -> str:
        """Short text for people, without credentials: shown in summaries, errors and logs."""

    def read(self, progress: Progress) -> AbstractContextManager[GraphBatches | SnapshotFolder]:
        """Opens the source and gives its graph; what is open is closed on exit.

        Raises:
            SourceError: What was wrong, in which file or table, at which row.
        """


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a database server is, as found when connecting.

    Args:
        address: Scheme, host and port, without credentials.
        product: ``Neo4j``, or what another Bolt server calls itself.
        version: Such as ``5.26.0`` or ``2026.08.1``.
        edition: ``community``, ``enterprise`` or what the server says.
        database: The database's name.
        database_id: Its uuid, empty if it cannot be told.
        default_cypher: Cypher version of texts without a prefix: 5 or 25.
        user: Who is asked as, empty without authentication.
        impersonated_user: As whom the user acts, or empty.
        has_bookmarks: Whether `DatabaseServer.probe` can tell the version.
        clustered: Whether several members may answer.
        sees_everything: Whether the user may read all nodes, relationships and properties.
        restriction: Where not: a sentence for people.
        plugin: Version of gpugda's plugin in the server; empty if it is not there, or of no use.
        plugin_advice: Where it is of no use: why, and what to do, as a sentence for people.
        server_info: The driver's ``neo4j.ServerInfo`` of the connection that was asked.
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


@dataclass(frozen=True, slots=True, eq=False)
class NativeAnswer:
    """The server's own answer to a query.

    Args:
        keys: Column names.
        records: ``neo4j.Record`` each, in order.
        summary: The driver's ``neo4j.ResultSummary``.
        version: State in which, or after which, it was answered, if the server tells.
    """

    keys: tuple[str, ...]
    records: list[Any]
    summary: Any
    version: DatabaseVersion | None


@dataclass(frozen=True, slots=True, eq=False)
class LabelChanges:
    """Labels that nodes got or lost, of nodes that were there before and still are.

    Args:
        node_ids: ``int64``, rising; a node stands here once per label that changed.
        label_codes: ``int32`` per row: position in ``labels``.
        added: ``bool`` per row: the node got the label; else it lost it.
        labels: Distinct names.
    """

    node_ids: NDArray[np.int64]
    label_codes: NDArray[np.int32]
    added: NDArray[np.bool_]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PropertyChanges:
    """Where a property was set or removed, also on what was created; not on what was deleted.

    Args:
        ids: ``int64``, rising, none twice.
        values: What it is now, null where it was removed; None if this key's values were not asked
            for in time: then they are read with `DatabaseServer.read_properties`, and proven.
    """

    ids: NDArray[np.int64]
    values: Column | None


@dataclass(frozen=True, slots=True, eq=False)
class TouchedOnTheWay:
    """What transactions touched, also where nothing of it lasts.

    Args:
        nodes: ``int64``, rising: ids of all nodes that were created or deleted.
        relationships: Likewise.
        labels: Of nodes that are in both states: each label that was got or lost, as it is in the
            end.
    """

    nodes: NDArray[np.int64]
    relationships: NDArray[np.int64]
    labels: LabelChanges


@dataclass(frozen=True, slots=True, eq=False)
class ChangeBatch:
    """What leads from one state of a database to a later one: the net effect of its transactions.

    To apply it: delete relationships, delete nodes, create nodes, change labels, create
    relationships, take the properties. An id that was deleted and given again to something else is
    in both the deleted and the created ones, also when a relationship got its old type and ends.
    What came and went in between is nowhere. Deleted nodes' relationships are all listed.

    Args:
        since: Number of the transaction whose state this applies to.
        version: The state it leads to; with a bookmark for reading at it.
        transaction_count: How many transactions changed data in between; 0 if nothing changed.
        created_nodes: Ids rise; label sets as they are in the new state; without properties.
        deleted_nodes: ``int64``, rising.
        labels: Of nodes that are in both states.
        created_relationships: By rising id, with their ids; without properties.
        deleted_relationships: Likewise, with the ends and types that they had.
        node_properties: By key.
        relationship_properties: By key.
        touched: What was touched on the way; None where the source does not tell.
        is_newest: Whether the version was the newest state when the changes were asked for, or came
            later. False where the source does not tell.
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
    touched: TouchedOnTheWay | None = None
    is_newest: bool = False


@dataclass(frozen=True, slots=True)
class ChangeGap:
    """The changes since a state are not known, or not all: the graph has to be read anew.

    Args:
        reason: For people: a sentence without a full stop.
    """

    reason: str


class ChangeSource(Protocol):
    """Tells what the transactions of a database changed. May be called from several threads.

    Of the whole database: where a part is read (`Projection`), the reader picks what concerns it.
    """

    @property
    def described(self) -> str:
        """For people: what tells the changes, such as ``gpugda's plugin 0.1.0``."""

    def follow(
        self, node_keys: Collection[str] = (), relationship_keys: Collection[str] = ()
    ) -> DatabaseVersion | ChangeGap:
        """Has changes recorded from now on; to be called before a graph is read that is to follow.

        Calling it again adds keys. Who does not ask for changes for a long time is forgotten.

        Args:
            node_keys: Properties of nodes whose values are to be recorded; of others it is only
                recorded which nodes were touched.
            relationship_keys: Likewise.

        Returns:
            The state since which `changes_since` knows all changes; or why it will not.

        Raises:
            SourceError: The server cannot be reached, or does not answer.
        """

    def changes_since(
        self, version: DatabaseVersion, until: DatabaseVersion | None = None
    ) -> ChangeBatch | ChangeGap:
        """What was committed since a state, up to the newest that is completely known.

        Args:
            version: The state that the caller has.
            until: A state that the answer should reach, such as a probe's: it is waited for, for a
                short time. What comes may reach further, or less far: see its ``version``.

        Returns:
            The changes, of no transaction only a part, and none left out; or why they are not
            known: nothing is ever guessed.

        Raises:
            SourceError: The server cannot be reached, or does not answer.
        """


@runtime_checkable
class DatabaseServer(GraphSource, Protocol):
    """A source that is a live database: it changes, and answers queries itself.

    All methods may be called from several threads. Errors of the server (``neo4j.exceptions``) pass
    unchanged from `run_native`; elsewhere they become `SourceError` with what to do.
    """

    @property
    def facts(self) -> ServerFacts:
        """What was found when connecting."""

    @property
    def projection(self) -> Projection:
        """The part of the database that `read` gives."""

    def read(
        self, progress: Progress, *, gentle: bool = False, moving: bool = False
    ) -> AbstractContextManager[GraphBatches]:
        """As `GraphSource.read`, of the newest state.

        Args:
            progress: Told how far it has come; what it raises ends the reading.
            gentle: Leave most of the server to others, as nobody waits.
            moving: The database may change meanwhile. What no transaction touches is read, each
                once; of what one touches anything, in any state, also twice.
        """

    def probe(self, timeout: float | None = None) -> DatabaseVersion | None:
        """The newest committed state, one round trip; None if the server cannot tell.

        Raises:
            SourceError: The server cannot be reached, or refuses.
        """

    def asking(
        self, timeout: float | None = None
    ) -> AbstractContextManager[Callable[[], DatabaseVersion | None]]:
        """As `probe`, which is sent on entering; what this gives is called to wait for the answer.

        By the same thread, once, before leaving. A server that cannot do both apart is asked then.
        """

    def version_in(self, bookmark: str) -> DatabaseVersion | None:
        """The state that a bookmark names, without asking; None if it is not of this database."""

    def listed_labels(self, labels: Collection[str]) -> tuple[str, ...]:
        """The labels of some node that has all of these now, as the server lists them.

        Empty if there is none. In which order it lists them never changes.

        Raises:
            SourceError: The server cannot be asked.
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
            keys: Which; None for all that there are.
            ids: Numeric ids, none twice: the nodes' rise, the relationships' may be in any order.
            version: The state of the snapshot: the caller probes afterwards whether it still holds.
            of_nodes: Of nodes, else of relationships.
            progress: Told how far it has come.

        Returns:
            A column of ``len(ids)`` values per key; a key that nothing has may be left out.

        Raises:
            StaleSnapshotError: An id is of nothing any more.
        """

    def read_entities(
        self, ids: NDArray[np.int64], version: DatabaseVersion | None, *, of_nodes: bool
    ) -> EntityRows:
        """All properties of some nodes or relationships, read at the version or a later one.

        Raises:
            StaleSnapshotError: An id is of nothing any more.
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
    ) -> NativeAnswer:
        """The query, unchanged, in a transaction of its own.

        Args:
            text: Cypher.
            parameters: Values by name.
            timeout: Seconds, enforced by the server and, if it does not answer, here.
            read_only: In read access mode; else writes are allowed.
            progress: Told of the rows that came.
            metadata: Of the transaction: the server shows it in its query log.

        Raises:
            QueryTimeoutError: The timeout passed.
            neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: As the driver raises them.
        """

    def change_source(self) -> ChangeSource | None:
        """Tells changes; None if nothing there does, or the user may not see everything."""

    def close(self) -> None:
        """Closes what it opened: a driver that was given by the user stays open."""
