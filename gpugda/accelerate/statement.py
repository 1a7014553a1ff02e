"""Statements that a caller gave to the driver and that might be accelerated."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neo4j import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Statement", "statement_of"]

_SHORTEST = 0.001
"""Seconds given to the server after the time limit has passed, so that it reports the timeout."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A query with its parameters.

    Args:
        text: Cypher.
        parameters: Values by name.
        timeout: Seconds from ``asked_at``, None for no limit.
        asked_at: Time of ``time.monotonic`` at which the caller asked.
    """

    text: str
    parameters: dict[str, Any]
    timeout: float | None = None
    asked_at: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """Seconds until the time limit, None without one; always above 0."""
        if self.timeout is None:
            return None
        return max(_SHORTEST, self.asked_at + self.timeout - time.monotonic())

    def for_driver(self, query: Any) -> Any:
        """The caller's query, with the remaining time as its time limit."""
        if self.timeout is None or not isinstance(query, Query):
            return query
        return Query(query.text, query.metadata, self.seconds_left())


def statement_of(
    query: Any, parameters: Any, more: Mapping[str, Any], timeout: float | None = None
) -> Statement | None:
    """Returns the statement; None if only the driver can handle the arguments, or refuses them.

    Args:
        query: Text or a ``neo4j.Query``. Metadata is for the server's query log, so gives None.
        parameters: The parameters given to the driver.
        more: Parameters given as keywords, which win.
        timeout: The transaction's time limit in seconds; that of a ``neo4j.Query`` wins.
    """
    if isinstance(query, Query):
        if query.metadata:
            return None
        query, timeout = query.text, query.timeout
    if not isinstance(query, str) or not query.strip() or not _is_timeout(timeout):
        return None
    try:
        values = dict(parameters or {}, **more)
    except (TypeError, ValueError):
        return None
    return Statement(query, values, timeout or None)


def _is_timeout(timeout: Any) -> bool:
    return timeout is None or (isinstance(timeout, int | float) and timeout >= 0)
