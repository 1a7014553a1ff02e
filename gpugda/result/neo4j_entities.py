"""Nodes and relationships as neo4j's own classes, in one graph per result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from neo4j.graph import Graph, Node, Relationship

from gpugda.result.entities import properties_of, start_nodes_of, type_ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.entity_properties import EntityProperties

__all__ = ["Neo4jEntities"]


class Neo4jEntities:
    """Makes and keeps the entities of one result: the same entity is always the same object.

    The driver has no public way to build a graph, so this fills the attributes that its own decoder
    of records fills. As there, a node that is only known as an end of a relationship has neither
    labels nor properties until it is returned itself.
    """

    def __init__(self, data_graph: DataGraph, read_later: EntityProperties | None = None) -> None:
        self._data_graph = data_graph
        self._read_later = read_later
        self.graph = Graph()
        self._nodes: dict[int, Node] = {}
        self._relationships: dict[int, Relationship] = {}
        self._ends: dict[int, Node] = {}  # known as ends only, until they are returned themselves
        self._label_sets: dict[tuple[str, ...], frozenset[str]] = {}  # shared by the nodes

    def nodes(self, indexes: NDArray[np.uint32]) -> Sequence[Node]:
        """See `EntityReader`."""
        wanted = indexes.tolist()
        known = self._nodes
        missing = [index for index in dict.fromkeys(wanted) if index not in known]
        if missing:
            self._add_nodes(missing)
        return [known[index] for index in wanted]

    def relationships(self, indexes: NDArray[np.uint32]) -> Sequence[Relationship]:
        """See `EntityReader`."""
        wanted = indexes.tolist()
        known = self._relationships
        missing = [index for index in dict.fromkeys(wanted) if index not in known]
        if missing:
            self._add_relationships(missing)
        return [known[index] for index in wanted]

    def _add_nodes(self, indexes: list[int]) -> None:
        array = np.array(indexes, dtype=np.uint32)
        found = properties_of(self._data_graph, self._read_later, array, of_nodes=True)
        for index, properties in zip(indexes, found, strict=True):
            names = self._data_graph.node_labels(index)
            labels = self._label_sets.get(names)
            if labels is None:
                labels = self._label_sets[names] = frozenset(names)
            node = self._ends.pop(index, None) if self._ends else None
            if node is None:
                node = self._new_node(index, labels, properties)
            else:
                node._labels = labels
                node._properties = properties
            self._nodes[index] = node

    def _new_node(self, index: int, labels: frozenset[str], properties: dict[str, Any]) -> Node:
        element_id = self._data_graph.element_id_of_node(index)
        number = self._data_graph.id_of(index, of_nodes=True)
        node = Node(self.graph, element_id, number, labels, properties)
        self.graph._nodes[element_id] = node
        self._legacy("_legacy_nodes", number, node)
        return node

    def _end(self, index: int) -> Node:
        node = self._nodes.get(index, self._ends.get(index))
        if node is None:
            node = self._ends[index] = self._new_node(index, frozenset(), {})
        return node

    def _add_relationships(self, indexes: list[int]) -> None:
        data_graph = self._data_graph
        array = np.array(indexes, dtype=np.uint32)
        types = type_ids_of(data_graph, array).tolist()
        starts = start_nodes_of(data_graph, array).tolist()
        ends = data_graph.outgoing.neighbours[array].tolist()
        found = properties_of(data_graph, self._read_later, array, of_nodes=False)
        classes = {
            type_id: self.graph.relationship_type(data_graph.types.names[type_id])
            for type_id in set(types)
        }
        for place, index in enumerate(indexes):
            element_id = data_graph.element_id_of_relationship(index)
            number = data_graph.id_of(index, of_nodes=False)
            made = classes[types[place]](self.graph, element_id, number, found[place])
            made._start_node = self._end(starts[place])
            made._end_node = self._end(ends[place])
            self._relationships[index] = self.graph._relationships[element_id] = made
            self._legacy("_legacy_relationships", number, made)

    def _legacy(self, table: str, number: int, entity: Any) -> None:
        # Version 5 of the driver also finds entities by their old numeric id.
        by_id = getattr(self.graph, table, None)
        if by_id is not None:
            by_id[str(number)] = entity
