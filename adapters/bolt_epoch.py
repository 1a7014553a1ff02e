"""Identifies the server's process, to detect a restart.

A database that is restored in place keeps its uuid, and may reach the same transaction number with
other contents. That requires stopping the server, so the start time of its process becomes part of
a state's identity. It is requested once per connection, as an open connection always leads to the
same process.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["START_TIME", "ServerEpoch"]

START_TIME = (
    "CALL dbms.queryJmx('java.lang:type=Runtime') YIELD attributes "
    "RETURN attributes.StartTime.value AS started"
)


class ServerEpoch:
    """Names the server's process; each process has another name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._name = ""

    @property
    def name(self) -> str:
        """The most recent name, empty before the first one."""
        return self._name

    def known_for(self, connection: Any) -> str:
        """The name of the process at a connection, empty if it is unknown."""
        with self._lock:
            return self._name if connection in self._known else ""

    def name_for(self, connection: Any, ask: Callable[[], str | None]) -> str:
        """The name of the process at a connection.

        Args:
            connection: The driver's connection, one object as long as it is open; None if the
                driver does not expose it: then the server is asked each time.
            ask: Returns the start time; None if the server does not report it or the user may not
                see it: then everything known before counts as another process's.
        """
        with self._lock:
            if connection is not None and connection in self._known:
                return self._name
        name = ask() or uuid4().hex
        with self._lock:
            if name != self._name:
                self._known.clear()
                self._name = name
            if connection is not None:
                self._known.add(connection)
            return name
