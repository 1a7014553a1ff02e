"""What a function may need besides its arguments: entities, the clock, chance."""

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
    """All that is evaluated within belongs to one statement, and so to one instant."""
    token = _began.set(time.time_ns())
    try:
        yield
    finally:
        _began.reset(token)


def statement_instant() -> int:
    """When the statement began that is being run, in nanoseconds since 1970 in UTC."""
    began = _began.get()
    return time.time_ns() if began is None else began


class EntityAccess(Protocol):
    """What is known of nodes and relationships, which are only numbers here."""

    def labels(self, node: Entity) -> Sequence[str]:
        """Labels of a node, in the order in which ``labels()`` gives them."""

    def type(self, relationship: Entity) -> str:
        """Type of a relationship."""

    def properties(self, entity: Entity) -> Mapping[str, Any]:
        """All properties of a node or relationship."""

    def start(self, relationship: Entity) -> Entity:
        """The node where a relationship starts."""

    def end(self, relationship: Entity) -> Entity:
        """The node where a relationship ends."""

    def id(self, entity: Entity) -> int:
        """What ``id()`` gives."""

    def element_id(self, entity: Entity) -> str:
        """What ``elementId()`` gives."""


@dataclass(slots=True)
class Context:
    """One run of one query.

    Attributes:
        entities: Reads nodes and relationships; None where no expression can hold any.
        statement: When the statement began, in nanoseconds since 1970 in UTC.
        transaction: When the transaction began; None for the same as ``statement``.
        realtime: Gives the present moment, in nanoseconds since 1970 in UTC.
        zone: The time zone of functions that are not told one.
        random: Gives a float from 0 (included) to 1 (excluded).
    """

    entities: EntityAccess | None = None
    statement: int = field(default_factory=time.time_ns)
    transaction: int | None = None
    realtime: Callable[[], int] = time.time_ns
    zone: str = "Z"
    random: Callable[[], float] = random.random

    def instant(self, clock: str) -> int:
        """Nanoseconds since 1970 by the clock ``statement``, ``transaction`` or ``realtime``."""
        if clock == "realtime":
            return self.realtime()
        if clock == "transaction" and self.transaction is not None:
            return self.transaction
        return self.statement
