"""Watchdog for queries that a server does not answer: the driver itself may wait forever.

The driver has time limits for connecting and for getting a connection, but none for the answer to
a query, and a hanging server, or a lost host, sends nothing. So one thread per server, running
only while needed, closes the connections of sessions whose time is over; the waiting thread then
gets the driver's error.
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import neo4j

__all__ = ["Guard", "Watch", "abandon", "cut_connection"]

_AGAIN_SECONDS = 0.2


def cut_connection(session: neo4j.Session, *, quiet: bool = False) -> None:
    """Closes the session's connection at once, from any thread; does nothing without one.

    Args:
        session: The session.
        quiet: True if nothing is wrong with the server: the driver then neither logs an error nor
            gives up its other connections.
    """
    # The driver has no public way to cancel a query from another thread. If a version names these
    # attributes differently, nothing is cut, and the operating system's limits end the wait.
    connection = getattr(session, "_connection", None)
    if quiet and connection is not None and hasattr(connection, "_closing"):
        connection._closing = True
    raw = getattr(getattr(connection, "socket", None), "_socket", None)
    if raw is not None:
        # Closing a socket does not wake a blocked reader, and older drivers only close it.
        with suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)
    kill = getattr(connection, "kill", None)
    if kill is not None:
        kill()


def abandon(session: neo4j.Session) -> None:
    """Cancels the session's activity, from its own thread, so that closing it does not wait.

    Closing alone would first read the rest of the result, whatever its length.
    """
    cancel = getattr(session, "_handle_cancellation", None)
    if cancel is None:
        cut_connection(session)
    else:
        cancel()


class Guard:
    """A watched session.

    Attributes:
        fired: True if its time was over.
    """

    __slots__ = ("_quiet", "_watch", "deadline", "fired", "session")

    def __init__(self, session: neo4j.Session, deadline: float, watch: Watch) -> None:
        self.session = session
        self.deadline = deadline
        self.fired = False
        self._quiet = False
        self._watch = watch

    def fire_soon(self) -> None:
        """Has the connection cut, from any thread, within the block that watches the session."""
        self.deadline, self._quiet = 0.0, True
        self._watch.add(self)

    def fire(self, now: float) -> None:
        """Cuts the connection, and fires again later: there may be none yet, or a new one."""
        self.fired = True
        self.deadline = now + _AGAIN_SECONDS
        cut_connection(self.session, quiet=self._quiet)


class Watch:
    """Watches sessions; one per server, thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._guards: set[Guard] = set()
        self._wake = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, session: neo4j.Session, seconds: float | None) -> Iterator[Guard]:
        """A block in which the session is cut after that time; None for no limit."""
        guard = Guard(session, monotonic() + (seconds or 0.0), self)
        if seconds is not None:
            self.add(guard)
        try:
            yield guard
        finally:
            with self._changed:
                self._guards.discard(guard)

    def close(self) -> None:
        """Stops the thread."""
        with self._changed:
            self._guards.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def add(self, guard: Guard) -> None:
        """Watches the guard's session; again if its deadline has changed."""
        with self._changed:
            self._guards.add(guard)
            if self._thread is None or not self._thread.is_alive():
                self._wake = guard.deadline
                self._thread = threading.Thread(
                    target=self._run, name="gpugda-bolt-watch", daemon=True
                )
                self._thread.start()
            elif guard.deadline < self._wake:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._guards:
                now = monotonic()
                for guard in [guard for guard in self._guards if guard.deadline <= now]:
                    guard.fire(now)
                self._wake = min(guard.deadline for guard in self._guards)
                # A leaving guard does not wake this thread, which saves a probe a thread switch:
                # sleeping until that guard's deadline does no harm.
                self._changed.wait(self._wake - now)
            self._thread = None
