"""The graph of a database in columns, by pages of ids; see docs/adr/0006.

Nodes and relationships are read by their numeric ids, upwards from 0 until as many were found as
the database's count store says. Where ids are so scattered that most of a page is empty, the ids
themselves are listed first.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.errors import SourceError
from gpugda.ports import GraphBatches, IdentifierPrefixes, Projection

from .bolt_pages import PageQuery, in_pages, lists_of, ranges_from

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import neo4j
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion, Progress

    from .bolt_connection import BoltConnection
    from .bolt_pages import Page

__all__ = ["export"]

_NODES = "MATCH (n) WHERE id(n) IN {ids} RETURN labels(n) AS labels, collect(id(n)) AS ids"
_RELATIONSHIPS = (
    "UNWIND {ids} AS i MATCH (n)-[r]->(m) WHERE id(r) = i RETURN type(r) AS type, "
    "collect(i) AS ids, collect(id(n)) AS sources, collect(id(m)) AS targets"
)
_NODE_PAGE = 100_000
_RELATIONSHIP_PAGE = 50_000
_SCATTERED = 16
"""Ids are taken for scattered when fewer than one in so many exists."""

_PATIENCE = 8
"""After so many pages without much in them."""


@contextmanager
def export(
    connection: BoltConnection,
    version: DatabaseVersion | None,
    progress: Progress,
    *,
    labels: tuple[str, ...] | None = None,
    types: tuple[str, ...] | None = None,
    sessions: int | None = None,
) -> Iterator[GraphBatches]:
    """The nodes and relationships of the database, without properties.

    All sessions read at ``version`` or later: if it still is the newest state afterwards, all that
    was read is of that state.

    Raises:
        SourceError: The server cannot be reached, or refuses.
        StaleSnapshotError: The database changed so that what was read contradicts itself.
    """
    reader = _Reader(
        connection, version, progress, Projection(labels, types), sessions or connection.sessions
    )
    with connection.check("reading the sizes of the database"):
        prefixes = reader.prefixes()
        node_count = reader.count("MATCH (n) RETURN count(n) AS count")
        relationship_count = reader.count("MATCH ()-[r]->() RETURN count(r) AS count")
    with (
        closing(reader.nodes(node_count)) as nodes,
        closing(reader.relationships(relationship_count)) as relationships,
    ):
        yield GraphBatches(nodes, relationships, version, prefixes, properties_complete=False)


class _Reader:
    """One export."""

    def __init__(
        self,
        connection: BoltConnection,
        version: DatabaseVersion | None,
        progress: Progress,
        projection: Projection,
        sessions: int,
    ) -> None:
        self._connection = connection
        self._version = version
        self._progress = progress
        self._projection = projection
        self._sessions = sessions
        self._kept: list[NDArray[np.int64]] = []

    def prefixes(self) -> IdentifierPrefixes:
        """What element ids begin with, checked on a sample of each kind.

        Raises:
            SourceError: Element ids are not made of a prefix and the id.
        """
        nodes = self._rows("MATCH (n) RETURN id(n) AS id, elementId(n) AS text LIMIT 20")
        relationships = self._rows(
            "MATCH ()-[r]->() RETURN id(r) AS id, elementId(r) AS text LIMIT 20"
        )
        return IdentifierPrefixes(_common_prefix(nodes), _common_prefix(relationships))

    def count(self, text: str) -> int:
        """What a query of the count store says."""
        return int(self._rows(text)[0]["count"])

    # -------------------------------------------------------------- nodes
    def nodes(self, count: int) -> Generator[NodeBatch]:
        """Nodes by rising id."""
        self._progress.phase("reading nodes", count)
        query = PageQuery(self._connection, self._version, _NODES, {})
        labels = self._projection.labels
        scan = f"MATCH (n{_alternatives(labels)}) RETURN id(n) AS id"
        found = self._answers(query, scan, count, _NODE_PAGE, listed=labels is not None)
        with self._connection.check("reading nodes"), closing(found):
            for records in found:
                batch = _node_batch(records)
                if labels is not None or self._projection.types is not None:
                    self._kept.append(np.asarray(batch.ids))
                self._progress.advance(batch.count)
                yield batch

    # -------------------------------------------------------------- relationships
    def relationships(self, count: int) -> Generator[RelationshipBatch]:
        """Relationships by rising id; of a part of the nodes, those between them."""
        self._progress.phase("reading relationships", count)
        query = PageQuery(self._connection, self._version, _RELATIONSHIPS, {})
        types = self._projection.types
        scan = f"MATCH ()-[r{_alternatives(types)}]->() RETURN id(r) AS id"
        found = self._answers(query, scan, count, _RELATIONSHIP_PAGE, listed=types is not None)
        kept = None
        if self._projection.labels is not None:
            kept = np.concatenate([np.zeros(0, np.int64), *self._kept])
        with self._connection.check("reading relationships"), closing(found):
            for records in found:
                batch = _relationship_batch(records, kept)
                self._progress.advance(batch.count)
                yield batch

    # -------------------------------------------------------------- pages
    def _answers(
        self, query: PageQuery, scan: str, count: int, width: int, *, listed: bool
    ) -> Generator[list[neo4j.Record]]:
        """The answers of all pages, in the order of ids."""
        first = 0
        if not listed:
            asked = found = 0
            pages = in_pages(ranges_from(0, width), query.records, self._sessions)
            with closing(pages):
                while found < count and not _is_scattered(asked, found, width):
                    page, records = next(pages)
                    asked, first = asked + len(page), first + width
                    found += sum(len(record["ids"]) for record in records)
                    yield records
            if found >= count:
                return
        numbers = self._scan(scan, first)
        todo: Iterator[Page] = lists_of(numbers, width)
        with closing(in_pages(todo, query.records, self._sessions)) as pages:
            for _, records in pages:
                yield records

    def _scan(self, text: str, first: int) -> NDArray[np.int64]:
        """The ids from ``first`` on that a scan finds, rising."""
        asked: Any = self._connection.prefix(text)
        with self._connection.session(bookmarks=self._version) as session:
            numbers = np.fromiter(session.run(asked).value("id"), dtype=np.int64)
        numbers.sort()
        return numbers[np.searchsorted(numbers, first) :]

    def _rows(self, text: str) -> list[dict[str, Any]]:
        asked: Any = self._connection.prefix(text)
        with self._connection.session(bookmarks=self._version) as session:
            return session.run(asked).data()


def _is_scattered(asked: int, found: int, width: int) -> bool:
    return asked >= _PATIENCE * width and found * _SCATTERED < asked


def _alternatives(names: tuple[str, ...] | None) -> str:
    if names is None:
        return ""
    return ":" + "|".join("`" + name.replace("`", "``") + "`" for name in names)


def _common_prefix(rows: list[dict[str, Any]]) -> str:
    found = set()
    for row in rows:
        number, text = str(row["id"]), str(row["text"])
        if not text.endswith(number):
            raise SourceError(
                f"The server's element ids ({text!r} for id {number}) are of a form that is not "
                "known here: use engine='native'."
            )
        found.add(text.removesuffix(number))
    # The last digits of one prefix may look like a part of a number: all must agree.
    if len(found) > 1:
        raise SourceError("The server's element ids have no common form: use engine='native'.")
    return found.pop() if found else ""


# ------------------------------------------------------------------ batches
def _node_batch(records: list[neo4j.Record]) -> NodeBatch:
    ids = [np.array(record["ids"], dtype=np.int64) for record in records]
    codes = np.repeat(np.arange(len(ids), dtype=np.int32), [len(each) for each in ids])
    numbers = np.concatenate([np.zeros(0, np.int64), *ids])
    order = np.argsort(numbers, kind="stable")
    return NodeBatch(
        count=len(numbers),
        ids=pa.array(numbers[order]),
        label_codes=codes[order],
        label_sets=tuple(tuple(record["labels"]) for record in records),
        properties={},
        origin="nodes of the database",
    )


def _relationship_batch(
    records: list[neo4j.Record], kept: NDArray[np.int64] | None
) -> RelationshipBatch:
    columns = [_joined(records, name) for name in ("ids", "sources", "targets")]
    lengths = [len(record["ids"]) for record in records]
    codes = np.repeat(np.arange(len(records), dtype=np.int32), lengths)
    if kept is not None:
        inside = np.isin(columns[1], kept) & np.isin(columns[2], kept)
        columns = [column[inside] for column in columns]
        codes = codes[inside]
    ids, sources, targets = columns
    return RelationshipBatch(
        count=len(ids),
        source_ids=pa.array(sources),
        target_ids=pa.array(targets),
        type_codes=codes,
        type_names=tuple(str(record["type"]) for record in records),
        origin="relationships of the database",
        relationship_ids=ids,
    )


def _joined(records: list[neo4j.Record], name: str) -> NDArray[np.int64]:
    pieces = [np.array(record[name], dtype=np.int64) for record in records]
    return np.concatenate([np.zeros(0, np.int64), *pieces])
