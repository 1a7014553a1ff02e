"""Writes a graph into a Neo4j database for the comparison, if the database is empty."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.bench.cases import quoted
from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import PropertyStore
    from gpugda.ports import Progress

__all__ = [
    "GraphCounts",
    "Written",
    "counts_of",
    "create_indexes",
    "drop_indexes",
    "load_into",
    "remove_written",
]

logger = logging.getLogger(__name__)

_BATCH = 5_000
_INDEX = "gpugda_bench_"
_ADVICE = (
    "Name an empty database (--database), empty this one yourself if it may go, or leave --load "
    "out to compare on the graph that is in it."
)


class _Runs(Protocol):
    def run(self, query: str, parameters: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Runs a query, as `Accelerator.run`."""


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Counts that identify a graph.

    Args:
        nodes: Node count by label set, written as sorted names joined by ``:``.
        relationships: Relationship count by type.
    """

    nodes: Mapping[str, int]
    relationships: Mapping[str, int]

    @property
    def empty(self) -> bool:
        """True if there is no node."""
        return not self.nodes

    def __str__(self) -> str:
        nodes, relationships = sum(self.nodes.values()), sum(self.relationships.values())
        return f"{nodes:,} nodes and {relationships:,} relationships"


@dataclass(frozen=True, slots=True)
class Written:
    """Element ids of what was written.

    Args:
        nodes: In the order of the node indexes.
        relationships: In any order.
    """

    nodes: list[str]
    relationships: list[str]


def counts_of(graph: DataGraph) -> GraphCounts:
    """The counts of a data graph."""
    codes, sets = graph.label_codes()
    nodes: dict[str, int] = defaultdict(int)
    for labels, count in zip(sets, np.bincount(codes, minlength=len(sets)).tolist(), strict=True):
        nodes[":".join(sorted(labels))] += count
    types = np.bincount(graph.relationship_types(), minlength=len(graph.types)).tolist()
    return GraphCounts(
        {labels: count for labels, count in nodes.items() if count},
        {name: count for name, count in zip(graph.types.names, types, strict=True) if count},
    )


def _counts_in(database: _Runs) -> GraphCounts:
    nodes: dict[str, int] = defaultdict(int)
    for labels, count in _native(database, "MATCH (n) RETURN labels(n) AS l, count(*) AS c"):
        nodes[":".join(sorted(labels))] += count
    found = _native(database, "MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS c")
    return GraphCounts(dict(nodes), dict(map(tuple, found)))


def load_into(
    database: _Runs, graph: DataGraph, name: str, progress: Progress, advice: str = _ADVICE
) -> Written | None:
    """Writes a graph, unless the database already contains it.

    Args:
        database: The connected database; its snapshot is out of date afterwards.
        graph: The graph with all properties.
        name: Name of the graph, for errors.
        progress: Receives the progress.
        advice: What to do about a database that contains other data.

    Returns:
        What was written; None if the database already contained it.

    Raises:
        ConfigurationError: The database contains other data; nothing was written.
    """
    there, wanted = _counts_in(database), counts_of(graph)
    if there == wanted:
        return None
    if not there.empty:
        raise ConfigurationError(
            f"The database is not empty and does not hold the graph {name!r} ({wanted}): it holds "
            f"{there}. Nothing was written. {advice}"
        )
    try:
        ids = _load_nodes(database, graph, progress)
        written = Written(ids, _load_relationships(database, graph, ids, progress))
    except BaseException:
        logger.warning("writing the graph %r ended early: the database may hold a part of it", name)
        raise
    found = _counts_in(database)
    if found != wanted:
        raise ConfigurationError(
            f"The database holds {found} after loading {wanted}: another client writes to it. "
            "What was written stays."
        )
    return written


def remove_written(database: _Runs, written: Written, name: str) -> None:
    """Deletes what `load_into` wrote, and nothing else.

    Raises:
        ConfigurationError: Relationships of another client lead to some of the nodes.
    """
    for part in _parts(written.relationships):
        _native(database, "MATCH ()-[r]->() WHERE elementId(r) IN $ids DELETE r", ids=part)
    left = 0
    for part in _parts(written.nodes):
        ours = "MATCH (n) WHERE elementId(n) IN $ids"
        _native(database, f"{ours} AND NOT (n)--() DELETE n", ids=part)
        left += _native(database, f"{ours} RETURN count(n)", ids=part)[0][0]
    if left:
        raise ConfigurationError(
            f"{left:,} nodes of the graph {name!r} stay in the database, because another client "
            "has written relationships to them meanwhile. Nothing was removed that others wrote."
        )


def create_indexes(database: _Runs, graph: DataGraph) -> int:
    """Creates an index per label and property of its nodes, waits for all, returns their number.

    Those of a run that ended early have the same names and may be of others: they are dropped.
    """
    drop_indexes(database)
    pairs = sorted(
        (label, key)
        for label_id, label in enumerate(graph.labels.names)
        for key in graph.node_properties.columns
        if _has(graph, label_id, key)
    )
    for number, (label, key) in enumerate(pairs):
        _native(
            database,
            f"CREATE INDEX {_INDEX}{number} IF NOT EXISTS "
            f"FOR (n:{quoted(label)}) ON (n.{quoted(key)})",
        )
    _native(database, "CALL db.awaitIndexes(300)")
    return len(pairs)


def drop_indexes(database: _Runs) -> None:
    """Drops the indexes of `create_indexes`, and no other."""
    for (name,) in _native(database, "SHOW INDEXES YIELD name RETURN name"):
        if name.startswith(_INDEX):
            _native(database, f"DROP INDEX {quoted(name)} IF EXISTS")


def _native(database: _Runs, text: str, **parameters: Any) -> list[list[Any]]:
    found: list[list[Any]] = database.run(text, parameters, engine="native").values()
    return found


def _has(graph: DataGraph, label_id: int, key: str) -> bool:
    bits = np.unpackbits(graph.label_bits(label_id).view(np.uint8), bitorder="little")
    column = graph.node_properties[key]
    members = bits[: graph.node_count].astype(np.bool_)
    return bool((members if column.valid is None else members & column.valid).any())


def _load_nodes(database: _Runs, graph: DataGraph, progress: Progress) -> list[str]:
    """Writes the nodes; returns their element ids in the order of the node indexes."""
    progress.phase("writing nodes", graph.node_count)
    codes, sets = graph.label_codes()
    ids = [""] * graph.node_count
    for code, labels in enumerate(sets):
        names = "".join(f":{quoted(label)}" for label in labels)
        text = f"UNWIND $rows AS row CREATE (n{names}) SET n = row RETURN elementId(n) AS id"
        for part in _parts(np.flatnonzero(codes == code)):
            rows = _properties(graph.node_properties, part)
            made = _native(database, text, rows=rows)
            for node, (element_id,) in zip(part.tolist(), made, strict=True):
                ids[node] = element_id
            progress.advance(len(part))
    return ids


def _load_relationships(
    database: _Runs, graph: DataGraph, ids: Sequence[str], progress: Progress
) -> list[str]:
    """Writes the relationships; returns their element ids."""
    made = list[str]()
    progress.phase("writing relationships", graph.relationship_count)
    types, starts, ends = (
        graph.relationship_types(),
        graph.start_nodes(),
        graph.outgoing.neighbours,
    )
    for type_id, name in enumerate(graph.types.names):
        text = (
            "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row[0] "
            "MATCH (b) WHERE elementId(b) = row[1] "
            f"CREATE (a)-[r:{quoted(name)}]->(b) SET r = row[2] RETURN elementId(r) AS id"
        )
        for part in _parts(np.flatnonzero(types == type_id)):
            properties = _properties(graph.relationship_properties, part)
            rows = [
                [ids[start], ids[end], each]
                for start, end, each in zip(
                    starts[part].tolist(), ends[part].tolist(), properties, strict=True
                )
            ]
            made += [element_id for (element_id,) in _native(database, text, rows=rows)]
            progress.advance(len(part))
    return made


def _parts(indexes: Any) -> Iterator[Any]:
    for first in range(0, len(indexes), _BATCH):
        yield indexes[first : first + _BATCH]


def _properties(store: PropertyStore, indexes: Any) -> list[dict[str, Any]]:
    columns = {key: to_values(column, indexes) for key, column in store.columns.items()}
    return [
        {key: values[row] for key, values in columns.items() if values[row] is not None}
        for row in range(len(indexes))
    ]
