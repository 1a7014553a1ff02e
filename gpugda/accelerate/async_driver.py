"""An accelerated asynchronous driver; the device's work runs in a thread."""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import TYPE_CHECKING, Any, Self

import neo4j

from gpugda.accelerate.async_result import AsyncAcceleratedResult
from gpugda.accelerate.async_session import AsyncAcceleratedSession
from gpugda.accelerate.call import QueryCall, QueryCalls, another_user, bookmarks_of, for_our_result
from gpugda.accelerate.notifications import Notifications
from gpugda.accelerate.session_state import SessionState
from gpugda.data.values.dehydration import for_driver

if TYPE_CHECKING:
    from gpugda.accelerate.gate import Gate

__all__ = ["AsyncAcceleratedDriver"]


class AsyncAcceleratedDriver:
    """Stands in for the ``neo4j.AsyncDriver`` that it wraps; made by `gpugda.accelerate`.

    Args:
        driver: The wrapped driver; closing this object closes it.
        gate: Decides whether the device answers, and answers.
        reader: The driver that reads snapshots; closing this object closes it, too.
    """

    def __init__(self, driver: neo4j.AsyncDriver, gate: Gate, reader: neo4j.Driver) -> None:
        self._driver = driver
        self._gate = gate
        gate.notifications = Notifications.of_driver(driver)
        self._calls = QueryCalls(driver)
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _close, gate, reader)

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return type(self._driver)

    @property
    def gpugda(self) -> Gate:
        """The acceleration: ``tally``, ``status()`` and ``wait()``."""
        return self._gate

    async def execute_query(self, *args: Any, **kwargs: Any) -> Any:
        """Like the driver's method, with the same arguments."""
        args, kwargs = for_driver(args), for_driver(kwargs)
        call = self._calls.read(args, kwargs)
        if isinstance(call, str) or self._is_closed:
            self._gate.passed(call if isinstance(call, str) else "the driver is closed")
            return await self._driver.execute_query(*args, **kwargs)
        bookmarks = await self._bookmarks(call)
        found = await asyncio.to_thread(self._gate.offer, call.database, call.statement, bookmarks)
        if found is None:
            args, kwargs = call.with_time_left(args, kwargs)
            started = time.perf_counter()
            returned = await self._driver.execute_query(*args, **kwargs)
            seconds = time.perf_counter() - started
            self._gate.answered_by_server(call.database, call.statement, seconds)
            await self._note_bookmarks(call)
            return returned
        result = AsyncAcceleratedResult(self._gate.notifications.told(found))
        transformer = for_our_result(call.transformer, neo4j.AsyncResult, AsyncAcceleratedResult)
        try:
            return await transformer(result)
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
        return AsyncAcceleratedSession(session, self._gate, state)

    async def close(self) -> None:
        """Closes the accelerators and the driver; the former also if this is cancelled."""
        self._is_closed = True
        ours = asyncio.get_running_loop().run_in_executor(None, self._finalizer)
        await self._driver.close()  # at once: a driver that is cancelled here counts as closed
        await asyncio.shield(ours)

    async def __aenter__(self) -> Self:
        await self._driver.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def __repr__(self) -> str:
        return f"<accelerated {self._driver!r}: {self._gate.tally}>"

    async def _bookmarks(self, call: QueryCall) -> set[str]:
        manager = call.bookmark_manager
        if manager is None:
            return set()
        bookmarks = set(await bookmarks_of(manager))
        if manager is self._driver.execute_query_bookmark_manager:
            self._gate.known_bookmarks.add(bookmarks)
        return bookmarks

    async def _note_bookmarks(self, call: QueryCall) -> None:
        # The server accepted the bookmarks that it was sent, and issued the new ones.
        if call.bookmark_manager is not None:
            self._gate.known_bookmarks.add(await bookmarks_of(call.bookmark_manager))


def _close(gate: Gate, reader: neo4j.Driver) -> None:
    gate.close()
    reader.close()
