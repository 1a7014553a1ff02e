"""Ends what a server does not answer: the driver itself may wait for ever.

The driver has limits for connecting and for getting a connection, but none for waiting until a
query is answered, and a server that hangs, or a host that is gone, sends no word. So one thread per
server, started when it is needed and gone when it is not, closes the connections of sessions whose
time is over; whoever waits there then gets the driver's error.
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


def cut_connection(session: neo4j.Session) -> None:
    """Closes the session's connection at once, whatever is going on there; may be none."""
    # The driver has no public way to give up a query from another thread. Should a version name
    # these otherwise, nothing is cut, and the wait ends by the operating system's own limits.
    connection = getattr(session, "_connection", None)
    raw = getattr(getattr(connection, "socket", None), "_socket", None)
    if raw is not None:
        # Closing a socket does not wake who reads from it, and older drivers do no more.
        with suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)
    kill = getattr(connection, "kill", None)
    if kill is not None:
        kill()


def abandon(session: neo4j.Session) -> None:
    """Gives up whatever the session is doing, by its own thread; closing it then waits for nothing.

    To close it alone would first read the rest of an answer, however long.
    """
    cancel = getattr(session, "_handle_cancellation", None)
    if cancel is None:
        cut_connection(session)
    else:
        cancel()


class Guard:
    """One session under watch.

    Attributes:
        fired: Whether its time was over.
    """

    __slots__ = ("deadline", "fired", "session")

    def __init__(self, session: neo4j.Session, deadline: float) -> None:
        self.session = session
        self.deadline = deadline
        self.fired = False

    def fire(self, now: float) -> None:
        """Cuts the connection, and comes back later: there may be none yet, or a new one."""
        self.fired = True
        self.deadline = now + _AGAIN_SECONDS
        cut_connection(self.session)


class Watch:
    """Watches over sessions; one for each server, used from all threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._guards: set[Guard] = set()
        self._wake = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, session: neo4j.Session, seconds: float | None) -> Iterator[Guard]:
        """Within, the session may take that long; None for as long as it likes."""
        guard = Guard(session, monotonic() + (seconds or 0.0))
        if seconds is None:
            yield guard
            return
        self._add(guard)
        try:
            yield guard
        finally:
            with self._changed:
                self._guards.discard(guard)

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._guards.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _add(self, guard: Guard) -> None:
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
                # Not woken when a guard leaves, so that a probe costs no switch of threads: it
                # does no harm to sleep on until that guard's time.
                self._changed.wait(self._wake - now)
            self._thread = None
