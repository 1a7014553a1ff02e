"""From node and relationship indexes to values that a user can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.data.columns import Column, ColumnKind, to_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.entity_properties import EntityProperties

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

    def nodes(self, indexes: NDArray[np.uint32]) -> Sequence[Any]:
        """A value per entry of ``indexes``, in its order; repeats are allowed."""

    def relationships(self, indexes: NDArray[np.uint32]) -> Sequence[Any]:
        """A value per entry of ``indexes``, in its order; repeats are allowed."""


@dataclass(frozen=True, slots=True)
class NodeValue:
    """A node as plain data."""

    element_id: str
    labels: tuple[str, ...]
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RelationshipValue:
    """A relationship as plain data; its ends by element id."""

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
        """Nodes and relationships in turn, as the path is walked."""
        rest = zip(self.relationships, self.nodes[1:], strict=True)
        return [self.nodes[0], *(part for step in rest for part in step)]


def fresh(value: Any) -> Any:
    """The value, or a copy where it could be changed: the graph's lists are its own."""
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
    """The properties of each index, without those that are null.

    Args:
        graph: Whose columns hold them, if they hold all.
        read_later: Else, the properties that the result came with.
        indexes: Of nodes, or of relationships.
        of_nodes: Which of the two.
    """
    store = graph.node_properties if of_nodes else graph.relationship_properties
    if store.complete or read_later is None:
        return _from_columns(store, indexes)
    rows = read_later.nodes if of_nodes else read_later.relationships
    return [fresh(rows[index]) for index in indexes.tolist()]


def _from_columns(
    columns: Mapping[str, Column], indexes: NDArray[np.uint32]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{} for _ in range(len(indexes))]
    for key, column in columns.items():
        if column.valid is None:
            owners: Sequence[dict[str, Any]] = found
            rows = indexes
        else:
            has_value = column.valid[indexes]
            rows = indexes[has_value]
            owners = [found[place] for place in np.flatnonzero(has_value).tolist()]
        if not owners:
            continue
        values = to_values(Column(column.kind, column.values[rows], None, column.dictionary))
        if column.kind is ColumnKind.OBJECT:
            values = [fresh(value) for value in values]
        for owner, value in zip(owners, values, strict=True):
            owner[key] = value
    return found


def start_nodes_of(graph: DataGraph, relationships: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Start node of each relationship index; nothing of the graph's size is made."""
    return np.searchsorted(graph.outgoing.row_offsets, relationships, side="right") - 1


def type_ids_of(graph: DataGraph, relationships: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Type id of each relationship index."""
    outgoing = graph.outgoing
    runs = np.searchsorted(outgoing.run_starts, relationships, side="right") - 1
    return outgoing.run_types[runs]


class PlainEntities:
    """Entities as `NodeValue` and `RelationshipValue`, for texts and JSON; nothing is kept.

    Labels come in the order in which the source gave them.
    """

    def __init__(self, graph: DataGraph, read_later: EntityProperties | None = None) -> None:
        self._graph = graph
        self._read_later = read_later

    def nodes(self, indexes: NDArray[np.uint32]) -> Sequence[NodeValue]:
        """See `EntityReader`."""
        distinct, places = np.unique(indexes, return_inverse=True)
        graph = self._graph
        made = [
            NodeValue(graph.element_id_of_node(node), graph.node_labels(node), properties)
            for node, properties in zip(
                distinct.tolist(),
                properties_of(graph, self._read_later, distinct, of_nodes=True),
                strict=True,
            )
        ]
        return [made[place] for place in places.reshape(-1).tolist()]

    def relationships(self, indexes: NDArray[np.uint32]) -> Sequence[RelationshipValue]:
        """See `EntityReader`."""
        distinct, places = np.unique(indexes, return_inverse=True)
        graph = self._graph
        types = type_ids_of(graph, distinct).tolist()
        starts = start_nodes_of(graph, distinct).tolist()
        ends = graph.outgoing.neighbours[distinct].tolist()
        found = properties_of(graph, self._read_later, distinct, of_nodes=False)
        made = [
            RelationshipValue(
                graph.element_id_of_relationship(relationship),
                graph.types.names[type_id],
                graph.element_id_of_node(start),
                graph.element_id_of_node(end),
                properties,
            )
            for relationship, type_id, start, end, properties in zip(
                distinct.tolist(), types, starts, ends, found, strict=True
            )
        ]
        return [made[place] for place in places.reshape(-1).tolist()]
