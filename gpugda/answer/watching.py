"""Runs a query again when data that it reads has changed."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.ports import DatabaseVersion
    from gpugda.result.result import Result


__all__ = ["Mailbox", "RowChanges", "Watch", "row_identity"]

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


def row_identity(value: Any) -> Any:
    """A hashable identity of a value; for nodes and relationships it includes all shown data."""
    # By attributes, since values may be the driver's or gpugda's own.
    if hasattr(value, "element_id"):
        return ("entity", value.element_id, *_shown(value), row_identity(dict(value.items())))
    if hasattr(value, "relationships"):
        return ("path", row_identity(list(value.nodes)), row_identity(list(value.relationships)))
    if isinstance(value, dict):
        return ("map", *((key, row_identity(each)) for key, each in sorted(value.items())))
    if type(value) in (list, tuple):
        return ("list", *map(row_identity, value))
    # Points and durations are tuples, too.
    return (type(value).__name__, getattr(value, "srid", None), repr(value))


def _shown(entity: Any) -> tuple[Any, ...]:
    """Labels of a node, or type and ends of a relationship: another may have reused its id."""
    if hasattr(entity, "labels"):
        return ("labels", *sorted(entity.labels))
    return ("type", entity.type, *(node.element_id for node in entity.nodes))


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Differences between the rows of a query's answer and those of its previous answer.

    Args:
        keys: Column names.
        added: New rows, in the answer's order; all rows the first time.
        removed: Rows that are no longer in the answer.
    """

    keys: tuple[str, ...]
    added: list[list[Any]]
    removed: list[list[Any]]


class Watch:
    """Runs a query in its own thread; made by `Accelerator.watch`.

    Iterate over it, also with ``async for``, to get `RowChanges`. While it is open, it sends the
    server one request per interval. Use it as a context manager, or `close` it.

    Args:
        ask: Runs the query.
        state: Takes the state of the last answer; returns a state that the next answer includes,
            and True if the answer may differ there.
        every: Minimum seconds between two runs.
        callback: Called in the thread for each `RowChanges`; None to iterate over them instead.
    """

    def __init__(
        self,
        ask: Callable[[], Result],
        state: Callable[[DatabaseVersion | None], tuple[DatabaseVersion | None, bool]],
        every: float,
        callback: Callable[[RowChanges], object] | None,
    ) -> None:
        self._ask, self._state, self._every = ask, state, every
        self._found: Mailbox[RowChanges] = Mailbox()
        self._tell = callback or self._found.put
        self._stop = threading.Event()
        self._rows: Counter[Any] | None = None
        self._shown: dict[Any, list[Any]] = {}
        self._thread = threading.Thread(target=self._work, name="gpugda-watch", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ for users
    def close(self, seconds: float = 30.0) -> None:
        """Ends the watch, and iteration over it once the changes found until now were read."""
        self._stop.set()
        self._found.end()
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RowChanges:
        found = self._found.get()
        if found is None:
            raise StopIteration
        return found

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RowChanges:
        found = await self._found.get_async()
        if found is None:
            raise StopAsyncIteration
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.close)

    # ------------------------------------------------------------------ the thread
    def _work(self) -> None:
        version: DatabaseVersion | None = None
        try:
            while not self._stop.is_set():
                started = time.monotonic()
                version = self._look(version)
                self._stop.wait(max(0.0, self._every - (time.monotonic() - started)))
        except Exception as error:
            # The query cannot be answered, or the callback failed: iteration raises the error.
            if not self._stop.is_set():
                logger.warning("a watch ended: %s", first_line(error), exc_info=True)
                self._found.fail(error)
        finally:
            self._found.end()

    def _look(self, version: DatabaseVersion | None) -> DatabaseVersion | None:
        """Runs the query if needed; returns the state of the newest answer, or an earlier state."""
        try:
            newest, may_differ = self._state(version)
            if not may_differ and self._rows is not None:
                return newest
            result = self._ask()
            rows = [list(row) for row in result.values()]
        except Exception as error:
            if not _may_pass(error):
                raise
            logger.info("a watched query could not be run: %s", first_line(error))
            return version
        changes = self._compared(tuple(result.keys()), rows)
        # Outside of the above: whatever a callback raises ends the watch.
        if changes is not None and not self._stop.is_set():
            self._tell(changes)
        return newest

    def _compared(self, keys: tuple[str, ...], rows: list[list[Any]]) -> RowChanges | None:
        """The differences from the previous rows; None if there are none."""
        named = [(row_identity(row), row) for row in rows]
        now = Counter(name for name, _ in named)
        before, is_first = self._rows or Counter(), self._rows is None
        added, removed = now - before, before - now
        changes = RowChanges(keys, _picked(named, added), _picked(self._shown.items(), removed))
        self._rows, self._shown = now, dict(named)
        return changes if changes.added or changes.removed or is_first else None


def _may_pass(error: Exception) -> bool:
    """True for errors that another attempt may not have: a lost server, or a changing database."""
    if isinstance(error, SourceError | StaleSnapshotError):
        return True
    # The driver's own errors, which engine="native" raises unchanged.
    is_retryable = getattr(error, "is_retryable", None)
    return is_retryable is not None and bool(is_retryable())


def _picked(named: Any, counts: Counter[Any]) -> list[list[Any]]:
    """The rows in their order, each as often as it is counted."""
    left = counts.copy()
    found = []
    for name, row in named:
        if left[name] > 0:
            left[name] -= 1
            found.append(row)
    # Of equal removed rows, only one is stored: repeat it.
    by_name = dict(named)
    for name, count in left.items():
        found.extend([by_name[name]] * max(0, count))
    return found
