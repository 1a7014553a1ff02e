"""Nodes and relationships as a NetworkX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neo4j.graph import Graph

    from gpugda.data.data_graph import DataGraph

__all__ = ["networkx_of_entities", "networkx_of_graph"]


def networkx_of_entities(entities: Graph, key: str | None, labels: str, type_name: str) -> Any:
    """A ``networkx.MultiDiGraph`` of the nodes and relationships of a result.

    Args:
        entities: The graph that ``Result.graph`` returns.
        key: Property whose values identify the nodes; None for element ids.
        labels: Name of the attribute with a node's labels.
        type_name: Name of the attribute with an edge's type.

    Raises:
        ConfigurationError: See `networkx_of_graph`.
    """
    maker = _Maker(key, labels, type_name)
    for node in entities.nodes:
        maker.add_node(node.element_id, list(node.labels), dict(node.items()))
    for each in entities.relationships:
        start, end = ("" if node is None else node.element_id for node in each.nodes)
        maker.add_edge(start, end, each.element_id, each.type, dict(each.items()))
    return maker.made


def networkx_of_graph(graph: DataGraph, key: str | None, labels: str, type_name: str) -> Any:
    """The whole graph as a ``networkx.MultiDiGraph``; keys of edges are element ids.

    Raises:
        ConfigurationError: NetworkX is not installed; a node lacks the property ``key``, or two
            nodes have the same value; or a property has the name ``labels`` or ``type_name``.
    """
    import numpy as np

    maker = _Maker(key, labels, type_name)
    nodes = np.arange(graph.node_count, dtype=np.uint32)
    node_ids = graph.element_ids(nodes, of_nodes=True)
    rows = _property_rows(graph, of_nodes=True)
    for element_id, names, values in zip(node_ids, graph.labels_of(nodes), rows, strict=True):
        maker.add_node(element_id, list(names), values)
    edges = np.arange(graph.relationship_count, dtype=np.uint32)
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    types = [graph.types.names[each] for each in graph.relationship_types().tolist()]
    ids = graph.element_ids(edges, of_nodes=False)
    rows = _property_rows(graph, of_nodes=False)
    for start, end, name, edge_id, values in zip(starts, ends, types, ids, rows, strict=True):
        maker.add_edge(node_ids[start], node_ids[end], edge_id, name, values)
    return maker.made


class _Maker:
    """Builds a MultiDiGraph."""

    def __init__(self, key: str | None, labels: str, type_name: str) -> None:
        try:
            import networkx
        except ImportError as error:
            raise ConfigurationError(
                "to_networkx() needs NetworkX, which is not installed: pip install gpugda[networkx]"
            ) from error
        self.made: Any = networkx.MultiDiGraph()
        self._key, self._labels, self._type = key, labels, type_name
        self._names: dict[str, Any] = {}

    def add_node(self, element_id: str, labels: list[str], properties: Mapping[str, Any]) -> None:
        """Adds a node; a node without labels has no attribute for labels."""
        _refuse_taken(self._labels, "labels", properties)
        name = self._names[element_id] = self._name(element_id, properties)
        if name in self.made:
            raise ConfigurationError(
                f"id={self._key!r}: two nodes have the value {name!r}; choose a property that "
                "differs, or none for element ids"
            )
        more = {self._labels: labels} if labels else {}
        self.made.add_node(name)
        self.made.nodes[name].update(properties, **more)

    def add_edge(
        self,
        source: str,
        target: str,
        element_id: str,
        type_name: str,
        properties: Mapping[str, Any],
    ) -> None:
        """Adds an edge between nodes that were added before; its key is the element id."""
        _refuse_taken(self._type, "type", properties)
        ends = self._names[source], self._names[target]
        self.made.add_edge(*ends, key=element_id)
        self.made.edges[*ends, element_id].update({**properties, self._type: type_name})

    def _name(self, element_id: str, properties: Mapping[str, Any]) -> Any:
        if self._key is None:
            return element_id
        name = properties.get(self._key)
        if not isinstance(name, str | int | float):
            raise ConfigurationError(
                f"id={self._key!r}: node {element_id} has no such property that names it "
                f"({name!r}); return whole nodes, or choose another property, or none for element "
                "ids"
            )
        return name


def _refuse_taken(name: str, parameter: str, properties: Mapping[str, Any]) -> None:
    if name in properties:
        raise ConfigurationError(
            f"{parameter}={name!r}: there is a property of that name, which would be lost; say "
            f"{parameter}='another name'"
        )


def _property_rows(graph: DataGraph, *, of_nodes: bool) -> Iterable[dict[str, Any]]:
    store = graph.node_properties if of_nodes else graph.relationship_properties
    count = graph.node_count if of_nodes else graph.relationship_count
    columns = {key: to_values(column) for key, column in store.items()}
    for row in range(count):
        values = ((key, column[row]) for key, column in columns.items())
        yield {key: value for key, value in values if value is not None}
