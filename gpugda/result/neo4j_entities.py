"""Nodes and relationships as classes of the neo4j driver, in one graph per result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from neo4j.graph import Graph, Node, Path, Relationship

from gpugda.result.entities import properties_of, start_nodes_of, type_ids_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import EntityProperties

__all__ = ["Neo4jEntities"]

_NODE_ATTRIBUTES = {"_graph", "_element_id", "_id", "_properties", "_labels"}
_RELATIONSHIP_ATTRIBUTES = {
    "_graph",
    "_element_id",
    "_id",
    "_properties",
    "_start_node",
    "_end_node",
}
_has_known_attributes = (
    vars(Node(Graph(), "", 0, (), {})).keys() == _NODE_ATTRIBUTES
    and vars(Relationship(Graph(), "", 0, {})).keys() == _RELATIONSHIP_ATTRIBUTES
)


class Neo4jEntities:
    """Makes and caches the entities of one result: one object per entity.

    The driver has no public way to build a graph, so this sets the attributes that the driver's
    record decoder sets. As in the driver, a node that is known only as the end of a relationship
    has no labels and no properties until the result returns the node itself.
    """

    def __init__(self, data_graph: DataGraph, read_later: EntityProperties | None = None) -> None:
        self._data_graph = data_graph
        self._read_later = read_later
        self.graph = Graph()
        self._nodes: dict[int, Node] = {}
        self._relationships: dict[int, Relationship] = {}
        self._ends: dict[int, Node] = {}  # known as ends only, not yet returned themselves
        self._label_sets: dict[tuple[str, ...], frozenset[str]] = {(): frozenset()}  # shared

    def nodes(self, indexes: NDArray[np.uint32]) -> list[Node]:
        """See `EntityReader`."""
        wanted = indexes.tolist()
        known = self._nodes
        try:
            return list(map(known.__getitem__, wanted))
        except KeyError:
            self._add_nodes([index for index in dict.fromkeys(wanted) if index not in known])
            return list(map(known.__getitem__, wanted))

    def relationships(self, indexes: NDArray[np.uint32]) -> list[Relationship]:
        """See `EntityReader`."""
        wanted = indexes.tolist()
        known = self._relationships
        try:
            return list(map(known.__getitem__, wanted))
        except KeyError:
            missing = [index for index in dict.fromkeys(wanted) if index not in known]
            self._add_relationships(missing)
            return list(map(known.__getitem__, wanted))

    def path(self, nodes: Sequence[Node], relationships: Sequence[Relationship]) -> Path:
        """See `EntityReader`."""
        return Path(nodes[0], *relationships)

    # -------------------------------------------------------------- nodes
    def _add_nodes(self, indexes: list[int]) -> None:
        data_graph, ends = self._data_graph, self._ends
        array = np.array(indexes, dtype=np.uint32)
        properties = properties_of(data_graph, self._read_later, array, of_nodes=True)
        label_sets = [self._label_set(names) for names in data_graph.labels_of(array)]
        if not ends:
            self._nodes.update(self._new_nodes(array, label_sets, properties))
            return
        is_new = np.array([index not in ends for index in indexes], dtype=np.bool_)
        places = np.flatnonzero(is_new).tolist()
        new = self._new_nodes(
            array[is_new],
            [label_sets[place] for place in places],
            [properties[place] for place in places],
        )
        self._nodes.update(new)
        for place in np.flatnonzero(~is_new).tolist():
            node = self._nodes[indexes[place]] = ends.pop(indexes[place])
            node._labels = label_sets[place]
            node._properties = properties[place]

    def _new_nodes(
        self,
        indexes: NDArray[np.uint32],
        label_sets: Iterable[frozenset[str]],
        properties: Iterable[dict[str, Any]],
    ) -> Iterator[tuple[int, Node]]:
        data_graph, graph = self._data_graph, self.graph
        element_ids = data_graph.element_ids(indexes, of_nodes=True)
        numbers = data_graph.ids_of(indexes, of_nodes=True).tolist()
        make = _quick_node if _has_known_attributes else Node
        made = [
            make(graph, *each)
            for each in zip(element_ids, numbers, label_sets, properties, strict=True)
        ]
        graph._nodes.update(zip(element_ids, made, strict=True))
        self._note_by_number("_legacy_nodes", numbers, made)
        return zip(indexes.tolist(), made, strict=True)

    def _label_set(self, names: tuple[str, ...]) -> frozenset[str]:
        labels = self._label_sets.get(names)
        if labels is None:
            labels = self._label_sets[names] = frozenset(names)
        return labels

    # -------------------------------------------------------------- relationships
    def _add_relationships(self, indexes: list[int]) -> None:
        data_graph, graph = self._data_graph, self.graph
        array = np.array(indexes, dtype=np.uint32)
        types = type_ids_of(data_graph, array).tolist()
        starts = start_nodes_of(data_graph, array).tolist()
        ends = data_graph.outgoing.neighbours[array].tolist()
        nodes = self._end_nodes([*starts, *ends])
        element_ids = data_graph.element_ids(array, of_nodes=False)
        numbers = data_graph.ids_of(array, of_nodes=False).tolist()
        found = properties_of(data_graph, self._read_later, array, of_nodes=False)
        classes = {
            type_id: graph.relationship_type(data_graph.types.names[type_id])
            for type_id in set(types)
        }
        make = _quick_relationship if _has_known_attributes else _plain_relationship
        made = [
            make(classes[kind], graph, element_id, number, properties, nodes[start], nodes[end])
            for kind, element_id, number, properties, start, end in zip(
                types, element_ids, numbers, found, starts, ends, strict=True
            )
        ]
        self._relationships.update(zip(indexes, made, strict=True))
        graph._relationships.update(zip(element_ids, made, strict=True))
        self._note_by_number("_legacy_relationships", numbers, made)

    def _end_nodes(self, indexes: list[int]) -> dict[int, Node]:
        """The node of each index; new ones are made without labels and properties."""
        distinct = dict.fromkeys(indexes)
        new = [each for each in distinct if each not in self._nodes and each not in self._ends]
        array = np.array(new, dtype=np.uint32)
        nothing: list[dict[str, Any]] = [{} for _ in new]
        self._ends.update(self._new_nodes(array, [self._label_sets[()]] * len(new), nothing))
        # No `or` here: a node without properties is an empty mapping and therefore falsy.
        return {
            each: self._nodes[each] if each in self._nodes else self._ends[each]
            for each in distinct
        }

    def _note_by_number(self, table: str, numbers: list[int], entities: list[Any]) -> None:
        # Version 5 of the driver also looks up entities by their old numeric id.
        by_id = getattr(self.graph, table, None)
        if by_id is not None:
            by_id.update(zip(map(str, numbers), entities, strict=True))


def _quick_node(
    graph: Graph, element_id: str, number: int, labels: frozenset[str], properties: dict[str, Any]
) -> Node:
    """Like the constructor, but without copying the labels and the properties."""
    node = Node.__new__(Node)
    node._graph = graph
    node._element_id = element_id
    node._id = number
    node._properties = properties
    node._labels = labels
    return node


def _plain_relationship(
    kind: type[Relationship],
    graph: Graph,
    element_id: str,
    number: int,
    properties: dict[str, Any],
    start: Node,
    end: Node,
) -> Relationship:
    made = kind(graph, element_id, number, properties)
    made._start_node = start
    made._end_node = end
    return made


def _quick_relationship(
    kind: type[Relationship],
    graph: Graph,
    element_id: str,
    number: int,
    properties: dict[str, Any],
    start: Node,
    end: Node,
) -> Relationship:
    """Like the constructor, but without copying the properties."""
    made = kind.__new__(kind)
    made._graph = graph
    made._element_id = element_id
    made._id = number
    made._properties = properties
    made._start_node = start
    made._end_node = end
    return made
