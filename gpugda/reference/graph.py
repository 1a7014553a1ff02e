"""A data graph as Python lists: labels, ends, types, adjacency and property values."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import to_values
from gpugda.query.ast import Direction
from gpugda.text_order import as_stored
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["PlainEntities", "PlainGraph", "plain_graph"]


class PlainGraph:
    """Nodes and relationships by dense index.

    Attributes:
        labels: Labels per node, in the order of the source.
        sources: Start node per relationship.
        targets: End node per relationship.
        types: Type per relationship.
        outgoing: Relationships that start at each node.
        incoming: Relationships that end at each node.
    """

    def __init__(self, graph: DataGraph) -> None:
        self._columns = {True: graph.node_properties, False: graph.relationship_properties}
        self._values: dict[tuple[bool, str], list[Any]] = {}
        self._element_ids = (graph.element_id_of_relationship, graph.element_id_of_node)
        self._id_of = graph.id_of
        self._has_other_ids = graph.external_ids is not None
        self.labels = [tuple(graph.node_labels(node)) for node in range(graph.node_count)]
        self.sources: list[int] = graph.start_nodes().tolist()
        self.targets: list[int] = graph.outgoing.neighbours.tolist()
        self.types: list[str] = [
            graph.types.names[code] for code in graph.relationship_types().tolist()
        ]
        self.outgoing: list[list[int]] = [[] for _ in self.labels]
        self.incoming: list[list[int]] = [[] for _ in self.labels]
        for relationship, source in enumerate(self.sources):
            self.outgoing[source].append(relationship)
            self.incoming[self.targets[relationship]].append(relationship)

    def steps(self, node: int, direction: Direction) -> list[tuple[int, int]]:
        """Relationships that leave a node in a direction, each with the node that it reaches."""
        outgoing = [(r, self.targets[r]) for r in self.outgoing[node]]
        incoming = [(r, self.sources[r]) for r in self.incoming[node]]
        if direction is Direction.OUTGOING:
            return outgoing
        if direction is Direction.INCOMING:
            return incoming
        # A self-loop is in both lists but is only one step.
        return outgoing + [(r, source) for r, source in incoming if source != node]

    def property(self, entity: Entity, key: str) -> Any:
        """The value of a property; None if the element does not have it."""
        place = (entity.is_node, key)
        if place not in self._values:
            column = self._columns[entity.is_node].get(key)
            values = [] if column is None else to_values(column)
            # Grouping treats a NaN as equal to itself only: one object per node or relationship.
            self._values[place] = [
                float("nan") if value != value else as_stored(value) for value in values
            ]
        values = self._values[place]
        return values[entity.index] if values else None

    def properties(self, entity: Entity) -> dict[str, Any]:
        """All properties of an element, by key."""
        found = {key: self.property(entity, key) for key in self._columns[entity.is_node]}
        return {key: value for key, value in found.items() if value is not None}

    def element_id(self, entity: Entity) -> str:
        """The element id of a node or relationship."""
        return str(self._element_ids[entity.is_node](entity.index))

    def id(self, entity: Entity) -> int:
        """The numeric id of a node or relationship."""
        return self._id_of(entity.index, of_nodes=entity.is_node)

    def in_order(self, value: Any) -> Any:
        """The value as ORDER BY and ``<`` compare it: nodes and relationships by their ids."""
        if not self._has_other_ids:
            return value
        if isinstance(value, Entity):
            return self._by_id((value,))[0]
        if isinstance(value, Path):
            nodes, relationships = map(self._by_id, (value.nodes, value.relationships))
            return Path(nodes, relationships)
        if isinstance(value, list):
            return [self.in_order(item) for item in value]
        if isinstance(value, dict):
            return {key: self.in_order(item) for key, item in value.items()}
        return value

    def _by_id(self, entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
        return tuple(Entity(each.is_node, self.id(each)) for each in entities)


class PlainEntities:
    """Access to nodes and relationships for functions."""

    def __init__(self, graph: PlainGraph) -> None:
        self._graph = graph

    def properties(self, entity: Entity) -> dict[str, Any]:
        """All properties of a node or relationship."""
        return self._graph.properties(entity)

    def id(self, entity: Entity) -> int:
        """The result of ``id()``."""
        return self._graph.id(entity)

    def element_id(self, entity: Entity) -> str:
        """The result of ``elementId()``."""
        return self._graph.element_id(entity)

    def labels(self, node: Entity) -> tuple[str, ...]:
        """Labels of a node."""
        return self._graph.labels[node.index]

    def type(self, relationship: Entity) -> str:
        """Type of a relationship."""
        return self._graph.types[relationship.index]

    def start(self, relationship: Entity) -> Entity:
        """The node where a relationship starts."""
        return Entity(True, self._graph.sources[relationship.index])

    def end(self, relationship: Entity) -> Entity:
        """The node where a relationship ends."""
        return Entity(True, self._graph.targets[relationship.index])


def plain_graph(graph: DataGraph) -> PlainGraph:
    """The plain form of a data graph, created on first use and freed with the graph."""
    plain = _plain_graphs.get(graph)
    if plain is None:
        plain = _plain_graphs[graph] = PlainGraph(graph)
    return plain


_plain_graphs: weakref.WeakKeyDictionary[DataGraph, PlainGraph] = weakref.WeakKeyDictionary()
