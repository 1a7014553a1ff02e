"""Read access of functions to nodes and relationships of a data graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.expressions.operands import value_at
from gpugda.values import Entity

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Column

__all__ = ["GraphEntities"]


class GraphEntities:
    """See `gpugda.expressions.context.EntityAccess`."""

    def __init__(self, graph: DataGraph) -> None:
        self._graph = graph

    def labels(self, node: Entity) -> tuple[str, ...]:
        """See `EntityAccess`."""
        return self._graph.node_labels(node.index)

    def type(self, relationship: Entity) -> str:
        """See `EntityAccess`."""
        type_id = int(self._graph.relationship_types()[relationship.index])
        return self._graph.types.names[type_id]

    def properties(self, entity: Entity) -> Mapping[str, Any]:
        """See `EntityAccess`; reads only the columns of requested properties."""
        graph = self._graph
        return _Properties(
            graph.node_properties if entity.is_node else graph.relationship_properties, entity.index
        )

    def start(self, relationship: Entity) -> Entity:
        """See `EntityAccess`."""
        return Entity(True, int(self._graph.start_nodes()[relationship.index]))

    def end(self, relationship: Entity) -> Entity:
        """See `EntityAccess`."""
        return Entity(True, int(self._graph.outgoing.neighbours[relationship.index]))

    def id(self, entity: Entity) -> int:
        """See `EntityAccess`."""
        return self._graph.id_of(entity.index, of_nodes=entity.is_node)

    def element_id(self, entity: Entity) -> str:
        """See `EntityAccess`."""
        if entity.is_node:
            return self._graph.element_id_of_node(entity.index)
        return self._graph.element_id_of_relationship(entity.index)


class _Properties(Mapping[str, Any]):
    """The properties of one entity."""

    def __init__(self, columns: Mapping[str, Column], index: int) -> None:
        self._columns = columns
        self._index = index

    def __getitem__(self, key: str) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """The property; the default if there is none."""
        column = self._columns.get(key)
        found = None if column is None else value_at(column, self._index)
        return default if found is None else found

    def __iter__(self) -> Iterator[str]:
        for key, column in self._columns.items():
            if column.valid is None or bool(np.asarray(column.valid[self._index])):
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)
