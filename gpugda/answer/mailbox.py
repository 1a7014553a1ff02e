"""Passes items from one thread to others, and to event loops, without losing any."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Mailbox"]

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """An unbounded queue with an end. An item is removed only by the call that returns it.

    So a waiting call that is cancelled loses nothing, and blocks no thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[Item] = deque()
        self._error: BaseException | None = None
        self._ended = False
        self._wakers: set[Callable[[], object]] = set()

    def put(self, item: Item) -> None:
        """Adds an item, unless the queue has ended."""
        with self._changed:
            if not self._ended:
                self._items.append(item)
                self._wake()

    def fail(self, error: BaseException) -> None:
        """Ends the queue with an error, which is raised once, after the items were read."""
        with self._changed:
            if not self._ended:
                self._error = error
                self._end()

    def end(self) -> None:
        """Ends the queue; what is in it can still be read."""
        with self._changed:
            self._end()

    def get(self) -> Item | None:
        """The next item; waits for it. None at the end."""
        with self._changed:
            while not self._is_ready:
                self._changed.wait()
            return self._take()

    async def get_async(self) -> Item | None:
        """Like `get`, awaited."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(ready.set)

        try:
            while True:
                with self._changed:
                    if self._is_ready:
                        return self._take()
                    ready.clear()
                    self._wakers.add(wake)
                await ready.wait()
        finally:
            with self._changed:
                self._wakers.discard(wake)

    @property
    def _is_ready(self) -> bool:
        return bool(self._items) or self._ended

    def _take(self) -> Item | None:
        if self._items:
            return self._items.popleft()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    def _end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        for wake in self._wakers:
            with suppress(RuntimeError):  # its event loop was closed
                wake()
