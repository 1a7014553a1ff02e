"""Whether a server is still the process that it was.

A database that is restored in place keeps its uuid, and may come to the same transaction number
with other contents. The server has to be stopped for that, so the time at which its process started
is made a part of a state's name. It is asked for once per connection: a connection that goes on
working leads to the same process.
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
    """Names the server's process; another process has another name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._name = ""

    @property
    def name(self) -> str:
        """The name found last, empty before the first one."""
        return self._name

    def known_for(self, connection: Any) -> str:
        """The name of the process that a connection leads to, empty if it is not known."""
        with self._lock:
            return self._name if connection in self._known else ""

    def name_for(self, connection: Any, ask: Callable[[], str | None]) -> str:
        """The name of the process that a connection leads to.

        Args:
            connection: The driver's own, which stays the same object as long as it is open; None if
                the driver does not show it, then the server is asked each time.
            ask: Gives the start time; None where the server or the user's rights do not tell it,
                then whatever was known before counts as of another process.
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
