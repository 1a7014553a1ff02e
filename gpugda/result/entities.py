"""Converts node and relationship indexes to values for users."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind, shown_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import EntityProperties
    from gpugda.types import NameId

__all__ = [
    "EntityReader",
    "NodeValue",
    "PathValue",
    "PlainEntities",
    "RelationshipValue",
    "fresh",
    "properties_of",
    "start_nodes_of",
    "type_ids_of",
]


class EntityReader(Protocol):
    """Makes one value per node or relationship index."""

    def nodes(self, indexes: NDArray[np.uint32]) -> list[Any]:
        """A value per entry of ``indexes``, in its order; repeats are allowed."""

    def relationships(self, indexes: NDArray[np.uint32]) -> list[Any]:
        """A value per entry of ``indexes``, in its order; repeats are allowed."""

    def path(self, nodes: Sequence[Any], relationships: Sequence[Any]) -> Any:
        """A path of values made by this reader: one node more than relationships."""


@dataclass(frozen=True, slots=True)
class NodeValue:
    """A node as plain data."""

    element_id: str
    labels: tuple[str, ...]
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RelationshipValue:
    """A relationship as plain data; its end nodes are given by element id."""

    element_id: str
    type: str
    start: str
    end: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PathValue:
    """A path as plain data: one node more than relationships."""

    nodes: tuple[NodeValue, ...]
    relationships: tuple[RelationshipValue, ...]

    @property
    def parts(self) -> list[NodeValue | RelationshipValue]:
        """Nodes and relationships alternately, in the order of the path."""
        rest = zip(self.relationships, self.nodes[1:], strict=True)
        return [self.nodes[0], *(part for step in rest for part in step)]


def fresh(value: Any) -> Any:
    """The value; a copy if it is mutable, as users must not change the graph's lists."""
    if type(value) is list:
        return [fresh(item) for item in value]
    if type(value) is dict:
        return {key: fresh(item) for key, item in value.items()}
    return value


def properties_of(
    graph: DataGraph,
    read_later: EntityProperties | None,
    indexes: NDArray[np.uint32],
    *,
    of_nodes: bool,
) -> list[dict[str, Any]]:
    """The properties of each index without nulls.

    Args:
        graph: The data graph; its columns are read if they hold all properties.
        read_later: The properties that were read with the result, used otherwise.
        indexes: Node or relationship indexes.
        of_nodes: True for nodes, False for relationships.
    """
    if len(indexes) == 0:
        return []  # no properties were read
    store = graph.node_properties if of_nodes else graph.relationship_properties
    if store.complete or read_later is None:
        return _from_columns(store, indexes)
    rows = read_later.nodes if of_nodes else read_later.relationships
    return [fresh(rows[index]) for index in indexes.tolist()]


def _from_columns(
    columns: Mapping[str, Column], indexes: NDArray[np.uint32]
) -> list[dict[str, Any]]:
    if columns and all(column.valid is None for column in columns.values()):
        keys = tuple(columns)
        rows = zip(*(_present(column, indexes) for column in columns.values()), strict=True)
        return [dict(zip(keys, row, strict=True)) for row in rows]
    found: list[dict[str, Any]] = [{} for _ in range(len(indexes))]
    for key, column in columns.items():
        owners: Iterable[dict[str, Any]] = found
        present = indexes
        if column.valid is not None:
            has_value = column.valid[indexes]
            present = indexes[has_value]
            owners = compress(found, has_value.tolist())
        for owner, value in zip(owners, _present(column, present), strict=True):
            owner[key] = value
    return found


def _present(column: Column, indexes: NDArray[np.uint32]) -> list[Any]:
    values = shown_values(Column(column.kind, column.values[indexes], None, column.dictionary))
    return [fresh(value) for value in values] if column.kind is ColumnKind.OBJECT else values


def start_nodes_of(graph: DataGraph, relationships: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Start node of each relationship index; allocates nothing of the graph's size."""
    return np.searchsorted(graph.outgoing.row_offsets, relationships, side="right") - 1


def type_ids_of(graph: DataGraph, relationships: NDArray[np.uint32]) -> NDArray[NameId]:
    """Type id of each relationship index."""
    outgoing = graph.outgoing
    runs = np.searchsorted(outgoing.run_starts, relationships, side="right") - 1
    return outgoing.run_types[runs]


class PlainEntities:
    """Makes `NodeValue` and `RelationshipValue`, for text and JSON; caches nothing.

    Labels have the order in which the source gave them.
    """

    def __init__(self, graph: DataGraph, read_later: EntityProperties | None = None) -> None:
        self._graph = graph
        self._read_later = read_later

    def nodes(self, indexes: NDArray[np.uint32]) -> list[NodeValue]:
        """See `EntityReader`."""
        distinct, places = np.unique(indexes, return_inverse=True)
        graph = self._graph
        made = list(
            map(
                NodeValue,
                graph.element_ids(distinct, of_nodes=True),
                graph.labels_of(distinct),
                properties_of(graph, self._read_later, distinct, of_nodes=True),
            )
        )
        return [made[place] for place in places.reshape(-1).tolist()]

    def relationships(self, indexes: NDArray[np.uint32]) -> list[RelationshipValue]:
        """See `EntityReader`."""
        distinct, places = np.unique(indexes, return_inverse=True)
        graph = self._graph
        ends = graph.outgoing.neighbours[distinct]
        made = list(
            map(
                RelationshipValue,
                graph.element_ids(distinct, of_nodes=False),
                [graph.types.names[each] for each in type_ids_of(graph, distinct).tolist()],
                graph.element_ids(start_nodes_of(graph, distinct), of_nodes=True),
                graph.element_ids(ends, of_nodes=True),
                properties_of(graph, self._read_later, distinct, of_nodes=False),
            )
        )
        return [made[place] for place in places.reshape(-1).tolist()]

    def path(
        self, nodes: Sequence[NodeValue], relationships: Sequence[RelationshipValue]
    ) -> PathValue:
        """See `EntityReader`."""
        return PathValue(tuple(nodes), tuple(relationships))
