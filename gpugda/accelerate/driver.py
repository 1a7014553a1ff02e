"""An accelerated driver."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any, Self

import neo4j

from gpugda.accelerate.call import QueryCall, QueryCalls, another_user, for_our_result
from gpugda.accelerate.notifications import Notifications
from gpugda.accelerate.result import AcceleratedResult
from gpugda.accelerate.session import AcceleratedSession
from gpugda.accelerate.session_state import SessionState
from gpugda.data.values.dehydration import for_driver

if TYPE_CHECKING:
    from gpugda.accelerate.gate import Gate

__all__ = ["AcceleratedDriver"]


class AcceleratedDriver:
    """Stands in for the ``neo4j.Driver`` that it wraps; made by `gpugda.accelerate`.

    For ``isinstance``, it has the driver's own class.

    Args:
        driver: The wrapped driver; closing this object closes it.
        gate: Decides whether the device answers, and answers.
    """

    def __init__(self, driver: neo4j.Driver, gate: Gate) -> None:
        self._driver = driver
        self._gate = gate
        gate.notifications = Notifications.of_driver(driver)
        self._calls = QueryCalls(driver)
        self._is_closed = False
        # Also closes the gate of a driver that is never closed, at the latest at exit.
        self._finalizer = weakref.finalize(self, gate.close)

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return type(self._driver)

    @property
    def gpugda(self) -> Gate:
        """The acceleration: ``tally``, ``status()`` and ``wait()``."""
        return self._gate

    def execute_query(self, *args: Any, **kwargs: Any) -> Any:
        """Like the driver's method, with the same arguments."""
        args, kwargs = for_driver(args), for_driver(kwargs)
        call = self._calls.read(args, kwargs)
        if isinstance(call, str) or self._is_closed:
            self._gate.passed(call if isinstance(call, str) else "the driver is closed")
            return self._driver.execute_query(*args, **kwargs)
        found = self._gate.offer(call.database, call.statement, self._bookmarks(call))
        if found is None:
            args, kwargs = call.with_time_left(args, kwargs)
            started = time.perf_counter()
            returned = self._driver.execute_query(*args, **kwargs)
            seconds = time.perf_counter() - started
            self._gate.answered_by_server(call.database, call.statement, seconds)
            self._note_bookmarks(call)
            return returned
        found = self._gate.notifications.told(found)
        transformer = for_our_result(call.transformer, neo4j.Result, AcceleratedResult)
        try:
            return transformer(found)
        finally:
            found.consume()

    def session(self, **config: Any) -> Any:
        """Like the driver's method, with the same configuration."""
        session = self._driver.session(**config)
        if another_user(config):
            self._gate.passed("a session as another user")
            return session
        manager = self._driver.execute_query_bookmark_manager
        state = SessionState(
            config,
            manager,
            self._gate.known_bookmarks,
            self._gate.notifications.within(config),
        )
        return AcceleratedSession(session, self._gate, state)

    def close(self) -> None:
        """Closes the accelerators and the driver."""
        self._is_closed = True
        self._finalizer()
        self._driver.close()

    def __enter__(self) -> Self:
        self._driver.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def __repr__(self) -> str:
        return f"<accelerated {self._driver!r}: {self._gate.tally}>"

    def _bookmarks(self, call: QueryCall) -> set[str]:
        manager = call.bookmark_manager
        if manager is None:
            return set()
        bookmarks = set(manager.get_bookmarks())
        if manager is self._driver.execute_query_bookmark_manager:
            self._gate.known_bookmarks.add(bookmarks)
        return bookmarks

    def _note_bookmarks(self, call: QueryCall) -> None:
        # The server took those that were there, and those that came are its own.
        if call.bookmark_manager is not None:
            self._gate.known_bookmarks.add(call.bookmark_manager.get_bookmarks())
