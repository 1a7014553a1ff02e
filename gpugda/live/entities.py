"""Properties of nodes and relationships in a result, proven to belong to its state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.values.columns import ColumnKind
from gpugda.data.values.property_store import EntityProperties
from gpugda.errors import StaleSnapshotError
from gpugda.expressions.lists import PathRows, nodes_of_paths, only_used, relationships_of_paths
from gpugda.live.properties import MissingProperties
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Column
    from gpugda.execute.result_table import ResultTable
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion


__all__ = ["entities_in", "load_entities", "properties_to_complete"]


def entities_in(table: ResultTable) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Distinct node and relationship indexes in the table, also in lists, maps and paths.

    End nodes of relationships are not included: a result holds only their ids.
    """
    nodes, relationships = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    within: set[Entity] = set()
    waiting = list(table.columns)
    while waiting:
        column = waiting.pop()
        if column.kind is ColumnKind.NODE or column.kind is ColumnKind.RELATIONSHIP:
            found = column.values if column.valid is None else column.values[column.valid]
            (nodes if column.kind is ColumnKind.NODE else relationships).append(
                unique_values(found)
            )
        elif column.kind is ColumnKind.OBJECT:
            lists, _ = only_used(_without_nulls(column))
            if isinstance(lists, PathRows):
                waiting += [nodes_of_paths(lists).elements, relationships_of_paths(lists).elements]
            elif lists is not None:
                waiting.append(lists.elements)
            else:
                within.update(_entities(_used_values(column)))
    nodes.append(_indexes(within, of_nodes=True))
    relationships.append(_indexes(within, of_nodes=False))
    return unique_values(np.concatenate(nodes)), unique_values(np.concatenate(relationships))


def _used_values(column: Column) -> list[Any]:
    if not column.dictionary:
        return []
    codes = column.values if column.valid is None else column.values[column.valid]
    return column.dictionary.values(unique_values(codes).astype(np.int32))


def _without_nulls(column: Column) -> Column:
    return column if column.valid is None else column.take(np.flatnonzero(column.valid))


def _indexes(entities: set[Entity], *, of_nodes: bool) -> NDArray[np.uint32]:
    found = [each.index for each in entities if each.is_node is of_nodes]
    return np.array(found, dtype=np.uint32)


def _entities(value: Any) -> Iterator[Entity]:
    if isinstance(value, Entity):
        yield value
    elif isinstance(value, Path):
        yield from value.entities
    elif isinstance(value, list):
        for item in value:
            yield from _entities(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _entities(item)


_MAX_VALUES = 4_000_000
_MAX_BYTES = 256 << 20
"""Limits for reading all properties of a graph because a result has nodes or relationships."""

_HOLDING_ENTITIES = (ColumnKind.NODE, ColumnKind.RELATIONSHIP, ColumnKind.OBJECT)
_BYTES_OF_VALUE = 8
"""Minimum size of a value; a text adds its length, a list this much per element."""


def load_entities(
    keeper: SnapshotKeeper, server: DatabaseServer, loaded: LoadedGraph, table: ResultTable
) -> ResultTable | None:
    """The table with all properties of the nodes and relationships in it.

    None if the database changed: then what was read does not belong to the snapshot's state.

    Raises:
        SourceError: The properties cannot be read.
    """
    graph = loaded.graph
    ids = graph.external_ids
    if ids is None or not any(column.kind in _HOLDING_ENTITIES for column in table.columns):
        return table
    nodes, relationships = entities_in(table)
    if graph.node_properties.complete:
        nodes = nodes[:0]
    if graph.relationship_properties.complete:
        relationships = relationships[:0]
    if not (len(nodes) or len(relationships)):
        return table
    versions: list[DatabaseVersion | None] = []
    try:
        found = EntityProperties(
            _rows(server, loaded, nodes, versions, of_nodes=True),
            _rows(server, loaded, relationships, versions, of_nodes=False),
        )
    except StaleSnapshotError:  # one of them was deleted meanwhile
        return None
    # Reads start at the snapshot's state or later; one that also ended there belongs to that state.
    proven = loaded.version is not None and all(version == loaded.version for version in versions)
    if not proven and not keeper.confirm(loaded):
        return None
    return replace(table, entity_properties=found)


def properties_to_complete(graph: DataGraph, found: EntityProperties) -> MissingProperties:
    """The properties to load completely, so that later results need no round trip.

    All properties of the nodes, or of the relationships, if some of them were just read by id and
    the estimated total is below the limits.
    """
    of_nodes = _are_few(found.nodes, graph.node_count)
    of_relationships = _are_few(found.relationships, graph.relationship_count)
    return MissingProperties(
        None if of_nodes else (), None if of_relationships else (), seconds=0.0
    )


def _are_few(read: dict[int, dict[str, Any]], count: int) -> bool:
    if not read:
        return False
    values = sum(map(len, read.values()))
    size = sum(_size(value) for row in read.values() for value in row.values())
    return values * count <= _MAX_VALUES * len(read) and size * count <= _MAX_BYTES * len(read)


def _size(value: Any) -> int:
    if isinstance(value, list):
        return _BYTES_OF_VALUE * (1 + len(value)) + sum(map(_size, value))
    return _BYTES_OF_VALUE + (len(value) if isinstance(value, str | bytes | bytearray) else 0)


def _rows(
    server: DatabaseServer,
    loaded: LoadedGraph,
    indexes: NDArray[np.uint32],
    versions: list[DatabaseVersion | None],
    *,
    of_nodes: bool,
) -> dict[int, dict[str, Any]]:
    if not len(indexes):
        return {}
    numbers = loaded.graph.ids_of(indexes, of_nodes=of_nodes)
    found = server.read_entities(numbers, loaded.version, of_nodes=of_nodes)
    versions.append(found.version)
    return dict(zip(indexes.tolist(), found.rows, strict=True))
