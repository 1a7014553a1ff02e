"""Context of functions: access to entities, clock and random numbers."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.expressions.operands import value_at
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Column


__all__ = ["Context", "EntityAccess", "GraphEntities", "one_statement", "statement_instant"]

_began: ContextVar[int | None] = ContextVar("gpugda.statement", default=None)


@contextmanager
def one_statement() -> Iterator[None]:
    """Marks a block as one statement, so that all evaluations in it see the same instant."""
    token = _began.set(time.time_ns())
    try:
        yield
    finally:
        _began.reset(token)


def statement_instant() -> int:
    """Start time of the running statement, in nanoseconds since 1970 in UTC."""
    began = _began.get()
    return time.time_ns() if began is None else began


class EntityAccess(Protocol):
    """Reads attributes of nodes and relationships, which are only indexes here."""

    def labels(self, node: Entity) -> Sequence[str]:
        """Labels of a node, in the order of ``labels()``."""

    def type(self, relationship: Entity) -> str:
        """Type of a relationship."""

    def properties(self, entity: Entity) -> Mapping[str, Any]:
        """All properties of a node or relationship."""

    def start(self, relationship: Entity) -> Entity:
        """The node where a relationship starts."""

    def end(self, relationship: Entity) -> Entity:
        """The node where a relationship ends."""

    def id(self, entity: Entity) -> int:
        """The result of ``id()``."""

    def element_id(self, entity: Entity) -> str:
        """The result of ``elementId()``."""


@dataclass(slots=True)
class Context:
    """Context of one run of a query.

    Attributes:
        entities: Reads nodes and relationships; None if no expression can hold any.
        statement: Start of the statement, in nanoseconds since 1970 in UTC.
        transaction: Start of the transaction; None for ``statement``.
        realtime: Returns the current time, in nanoseconds since 1970 in UTC.
        zone: Default time zone of temporal functions.
        random: Returns a float from 0 (included) to 1 (excluded).
    """

    entities: EntityAccess | None = None
    statement: int = field(default_factory=time.time_ns)
    transaction: int | None = None
    realtime: Callable[[], int] = time.time_ns
    zone: str = "Z"
    random: Callable[[], float] = random.random

    def instant(self, clock: str) -> int:
        """Nanoseconds since 1970 of the clock ``statement``, ``transaction`` or ``realtime``."""
        if clock == "realtime":
            return self.realtime()
        if clock == "transaction" and self.transaction is not None:
            return self.transaction
        return self.statement


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
