"""Exports a database's graph in columns, by pages of ids, without properties; docs/adr/0006."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.ports import GraphBatches, IdentifierPrefixes

from .bolt_known_nodes import KnownNodes
from .bolt_nodes import (
    NODES,
    any_of,
    read_labelled_nodes,
    read_nodes,
    read_scattered_nodes,
)
from .bolt_reading import PageReader
from .bolt_relationships import RelationshipReading
from .bolt_walk import walk
from .plugin_pages import PLUGIN_ROUND, plugin_nodes, plugin_page

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.ports import DatabaseVersion, Progress

    from .bolt_connection import BoltConnection

__all__ = ["export"]

_Batch = TypeVar("_Batch", "NodeBatch", "RelationshipBatch")

_SAMPLE = 20
_FEW = 10
"""Relationships are read from their start nodes if at most one node in this many is wanted."""


@contextmanager
def export(
    connection: BoltConnection,
    version: DatabaseVersion | None,
    progress: Progress,
    *,
    labels: tuple[str, ...] | None = None,
    types: tuple[str, ...] | None = None,
    sessions: int | None = None,
    moving: bool = False,
) -> Iterator[GraphBatches]:
    """The nodes and relationships of a database, without properties.

    All sessions read at the version or later: if it is still the newest state afterwards, all data
    belongs to that state. The progress receives phases and their totals; the consumer of the
    batches counts rows. Leaving the block cancels running requests.

    Args:
        connection: The connection.
        version: The state, None if the server cannot report it.
        progress: Receives the phases.
        labels: Only nodes with one of these; None for all.
        types: Only relationships of these types; None for all.
        sessions: Number of pages requested concurrently; None for the connection's default.
        moving: True if the data need not be of one state, for a whole database; see
            `DatabaseServer`.

    Raises:
        SourceError: The server cannot be reached, refuses, or is lost on the way.
        StaleSnapshotError: The database changed, so that the data is inconsistent.
    """
    reading = _Export(connection, version, progress, labels, types, sessions, moving)
    prefixes = reading.prefixes()
    with closing(reading.nodes()) as nodes, closing(reading.relationships()) as relationships:
        yield GraphBatches(nodes, relationships, version, prefixes, properties_complete=False)


class _Export:
    """One export: nodes first, as relationships are checked against them."""

    def __init__(
        self,
        connection: BoltConnection,
        version: DatabaseVersion | None,
        progress: Progress,
        labels: tuple[str, ...] | None,
        types: tuple[str, ...] | None,
        sessions: int | None,
        moving: bool,
    ) -> None:
        self._moving = moving
        self._connection = connection
        self._version = version
        self._progress = progress
        self._labels = labels
        self._types = types
        self._sessions = sessions or connection.sessions
        self._known = KnownNodes(partial=labels is not None)

    def prefixes(self) -> IdentifierPrefixes:
        """Prefixes of element ids, verified on a sample of nodes and relationships.

        Raises:
            SourceError: Element ids are not a prefix followed by the id.
        """
        reader = self._reader("asking for element ids", 1)
        nodes, relationships = (
            reader.rows(f"MATCH {pattern} RETURN id(x) AS id, elementId(x) AS text LIMIT {_SAMPLE}")
            for pattern in ("(x)", "()-[x]->()")
        )
        return IdentifierPrefixes(
            _common_prefix([(row["id"], row["text"]) for row in nodes]),
            _common_prefix([(row["id"], row["text"]) for row in relationships]),
        )

    # -------------------------------------------------------------- nodes
    def nodes(self) -> Generator[NodeBatch, None, None]:
        """Nodes by increasing id."""
        reader = self._reader("reading nodes")
        if self._labels is None:
            count = self._count(reader, "(x)")
            found = self._exactly(count, self._all_nodes(reader, count))
        else:
            count = sum(self._count(reader, f"(x{any_of((name,))})") for name in self._labels)
            found = read_labelled_nodes(reader, self._labels, count) if self._labels else _none()
        self._progress.phase("reading nodes", count)
        with closing(found):
            for batch in found:
                if batch.count:
                    self._known.add(batch)
                    yield batch

    def _all_nodes(self, reader: PageReader, count: int) -> Generator[NodeBatch, None, None]:
        if not self._connection.facts.plugin:
            yield from read_nodes(reader, count, moving=self._moving)
            return
        page = plugin_page(count, self._sessions)
        first = yield from walk(
            reader, plugin_nodes(), NODES, count, page, most=PLUGIN_ROUND, moving=self._moving
        )
        if first is not None:
            yield from read_scattered_nodes(reader, first)

    # -------------------------------------------------------------- relationships
    def relationships(self) -> Generator[RelationshipBatch, None, None]:
        """Relationships; for a part of the nodes, only those between them."""
        reader = self._reader("reading relationships")
        if self._types is None:
            count = self._count(reader, "()-[x]->()")
        else:
            count = sum(self._count(reader, f"()-[x{any_of((name,))}]->()") for name in self._types)
        self._progress.phase("reading relationships", count)
        self._known.freeze()
        with closing(self._relationships(reader, count)) as found:
            for batch in found:
                if batch.count:
                    yield batch if self._moving else self._known.checked(batch)

    def _relationships(
        self, reader: PageReader, count: int
    ) -> Generator[RelationshipBatch, None, None]:
        nodes = self._known.ids
        if (count == 0 or len(nodes) == 0) and not self._moving:
            if count and self._labels is None:
                raise StaleSnapshotError(_CHANGED)
            return _none()
        known_largest = self._version and self._labels is None and not self._moving
        reading = RelationshipReading(
            reader,
            self._reader("reading degrees", 1),
            self._all_types(reader) if self._types is None else self._types,
            restricted=self._types is not None,
            largest_node=int(nodes[-1]) if known_largest else None,
            moving=self._moving,
        )
        if self._few_start(reader, len(nodes)):
            found = reading.by_node(nodes)
        elif self._connection.facts.plugin and self._labels is None and self._types is None:
            found = reading.by_plugin(nodes, count)
        else:
            found = reading.by_id(nodes, count)
        return (
            found
            if self._labels is not None or self._types is not None
            else self._exactly(count, found)
        )

    def _few_start(self, reader: PageReader, node_count: int) -> bool:
        """True if the nodes are so few that reading relationships node by node is faster."""
        return self._labels is not None and node_count * _FEW < self._count(reader, "(x)")

    def _exactly(
        self, count: int, batches: Generator[_Batch, None, None]
    ) -> Generator[_Batch, None, None]:
        return batches if self._moving else _exactly(count, batches)

    # -------------------------------------------------------------- questions
    def _reader(self, doing: str, sessions: int | None = None) -> PageReader:
        return PageReader(self._connection, self._version, doing, sessions or self._sessions)

    def _count(self, reader: PageReader, pattern: str) -> int:
        """Answered from the count store in constant time."""
        (row,) = reader.rows(f"MATCH {pattern} RETURN count(x) AS count")
        return int(row["count"])

    def _all_types(self, reader: PageReader) -> tuple[str, ...]:
        rows = reader.rows(
            "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType AS name"
        )
        return tuple(str(row["name"]) for row in rows)


_CHANGED = "The database changed while it was read."


def _none() -> Generator[Any, None, None]:
    yield from ()


def _exactly(count: int, batches: Iterator[_Batch]) -> Generator[_Batch, None, None]:
    """Yields the batches, and raises unless they have ``count`` rows in total."""
    found = 0
    for batch in batches:
        found += batch.count
        yield batch
    if found != count:
        raise StaleSnapshotError(f"{_CHANGED} There were {count:,}, and {found:,} came.")


def _common_prefix(samples: Iterable[tuple[int, str]]) -> str:
    found = set()
    for number, text in samples:
        if not text.endswith(str(number)):
            raise SourceError(
                f"The server's element ids, such as {text!r} for the id {number}, have an unknown "
                "form: use engine='native'."
            )
        found.add(text.removesuffix(str(number)))
    if len(found) > 1:
        raise SourceError("The server's element ids have no common form: use engine='native'.")
    return found.pop() if found else ""
