"""Context of functions: access to entities, clock and random numbers."""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpugda.values import Entity

__all__ = ["Context", "EntityAccess", "one_statement", "statement_instant"]

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
