"""Accelerated asynchronous sessions and transactions: see `session` and `transaction`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from neo4j.exceptions import ResultFailedError

from gpugda.accelerate.async_result import AsyncAcceleratedResult
from gpugda.accelerate.call import bookmarks_of, timeout_of, transaction_options
from gpugda.accelerate.statement import statement_of
from gpugda.accelerate.transaction import TransactionState
from gpugda.data.values.dehydration import for_driver

if TYPE_CHECKING:
    from collections.abc import Callable

    import neo4j

    from gpugda.accelerate.gate import Gate
    from gpugda.accelerate.session_state import SessionState

__all__ = ["AsyncAcceleratedSession", "AsyncAcceleratedTransaction"]


class AsyncAcceleratedSession:
    """Stands in for the ``neo4j.AsyncSession`` that it wraps.

    Args:
        session: The driver's session.
        gate: Decides whether the device answers, and answers.
        state: Configuration and history of the session.
    """

    def __init__(self, session: neo4j.AsyncSession, gate: Gate, state: SessionState) -> None:
        self._session = session
        self._gate = gate
        self._state = state

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return type(self._session)

    async def run(self, query: Any, parameters: Any = None, **kwargs: Any) -> Any:
        """Like the session's method: runs an auto-commit transaction."""
        parameters, kwargs = for_driver(parameters), for_driver(kwargs)
        statement, offered = statement_of(query, parameters, kwargs), None
        if statement is not None and await self._is_ready():
            bookmarks = await self._bookmarks()
            found = await asyncio.to_thread(
                self._gate.offer, self._state.database, statement, bookmarks
            )
            if found is not None:
                self._state.answered(found)
                return AsyncAcceleratedResult(self._state.notifications.told(found))
            offered, query = statement, statement.for_driver(query)
        else:
            self._gate.passed("a session that is busy or closed, or no plain query")
        self._state.asked_server()
        self._state.last = await self._session.run(query=query, parameters=parameters, **kwargs)
        if offered is not None:
            self._gate.answered_by_server(self._state.database, offered)
        return self._state.last

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Like the session's method. Statements of a read transaction may be accelerated."""
        self._state.end_newest()
        bookmarks = set()
        if not self._session.closed() and not self._state.in_transaction:
            bookmarks = await self._bookmarks()
        transaction = await self._session.begin_transaction(*args, **kwargs)
        self._state.transaction = transaction
        metadata, timeout = transaction_options(*args, **kwargs)
        if not self._state.reads or metadata:
            self._gate.passed("a transaction that may write, or with metadata")
            return transaction
        state = TransactionState(
            self._gate, self._state.database, bookmarks, timeout, self._state.notifications
        )
        return AsyncAcceleratedTransaction(transaction, state)

    async def execute_read(self, transaction_function: Any, *args: Any, **kwargs: Any) -> Any:
        """Like the session's method; the statements may be accelerated."""
        return await self._managed(self._session.execute_read, transaction_function, args, kwargs)

    async def last_bookmarks(self) -> neo4j.Bookmarks:
        """Like the session's method; the device's answers bring no bookmark."""
        self._state.end_newest()
        self._state.last = None
        found = await self._session.last_bookmarks()
        self._state.bookmarks(found, ())
        return found

    async def close(self) -> None:
        """Like the session's method."""
        self._state.end_newest()
        await self._session.close()

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        self._state.end_newest()
        leave: Callable[..., Any] = self._session.__aexit__
        await leave(*exception)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name == "read_transaction":  # in version 5 of the driver
            return lambda work, *args, **kwargs: self._managed(found, work, args, kwargs)
        return found

    # ------------------------------------------------------------------ inside
    async def _managed(self, execute: Any, work: Any, args: Any, kwargs: Any) -> Any:
        if not callable(work) or getattr(work, "metadata", None) or not await self._is_ready():
            self._gate.passed("a transaction with metadata, or in a busy or closed session")
            return await execute(work, *args, **kwargs)
        return await execute(self._wrapped(work, await self._bookmarks()), *args, **kwargs)

    def _wrapped(self, work: Any, bookmarks: set[str]) -> Callable[..., Any]:
        state, gate = self._state, self._gate

        async def accelerated(transaction: Any, *args: Any, **kwargs: Any) -> Any:
            inner = TransactionState(
                gate, state.database, bookmarks, timeout_of(work), state.notifications
            )
            state.managed += 1
            try:
                ours = AsyncAcceleratedTransaction(transaction, inner)
                return await work(ours, *args, **kwargs)
            finally:
                state.managed -= 1
                inner.end()

        accelerated.timeout = timeout_of(work)  # type: ignore[attr-defined] # read by the driver
        return accelerated

    async def _is_ready(self) -> bool:
        """True if no earlier work is open that the driver would have to finish first, or refuse."""
        if self._session.closed() or self._state.in_transaction:
            return False
        last = self._state.take_last(self._session)
        try:
            if last is None or last.closed() or await last.peek() is None:
                return True
        except ResultFailedError:
            return True  # the caller was told when it happened
        self._state.last = last
        return False

    async def _bookmarks(self) -> set[str]:
        manager = self._state.manager
        managed = () if manager is None else await bookmarks_of(manager)
        return self._state.bookmarks(await self._session.last_bookmarks(), managed)


class AsyncAcceleratedTransaction:
    """Stands in for the ``neo4j.AsyncTransaction`` or ``neo4j.AsyncManagedTransaction`` it wraps.

    Args:
        transaction: The driver's transaction.
        state: The transaction's state.
    """

    def __init__(self, transaction: Any, state: TransactionState) -> None:
        self._transaction = transaction
        self._state = state

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return type(self._transaction)

    async def run(self, query: Any, parameters: Any = None, **kwparameters: Any) -> Any:
        """Like the transaction's method."""
        parameters, kwparameters = for_driver(parameters), for_driver(kwparameters)
        statement = self._state.statement(query, parameters, kwparameters)
        if statement is not None:
            found = await asyncio.to_thread(self._state.offer, statement)
            if found is not None:
                return AsyncAcceleratedResult(self._state.notifications.told(found))
        self._state.went_to_server(statement)
        return await self._transaction.run(query=query, parameters=parameters, **kwparameters)

    async def commit(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        await self._transaction.commit()

    async def rollback(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        await self._transaction.rollback()

    async def close(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        await self._transaction.close()

    async def __aenter__(self) -> Self:
        await self._transaction.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        self._state.end()
        await self._transaction.__aexit__(*exception)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)
