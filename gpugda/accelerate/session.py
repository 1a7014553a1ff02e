"""An accelerated session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from neo4j.exceptions import ResultFailedError

from gpugda.accelerate.call import timeout_of, transaction_options
from gpugda.accelerate.statement import statement_of
from gpugda.accelerate.transaction import AcceleratedTransaction, TransactionState
from gpugda.data.values.dehydration import for_driver

if TYPE_CHECKING:
    from collections.abc import Callable

    import neo4j

    from gpugda.accelerate.gate import Gate
    from gpugda.accelerate.session_state import SessionState

__all__ = ["AcceleratedSession"]


class AcceleratedSession:
    """Stands in for the ``neo4j.Session`` that it wraps.

    Args:
        session: The driver's session.
        gate: Decides whether the device answers, and answers.
        state: Configuration and history of the session.
    """

    def __init__(self, session: neo4j.Session, gate: Gate, state: SessionState) -> None:
        self._session = session
        self._gate = gate
        self._state = state

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return type(self._session)

    def run(self, query: Any, parameters: Any = None, **kwargs: Any) -> Any:
        """Like the session's method: runs an auto-commit transaction."""
        parameters, kwargs = for_driver(parameters), for_driver(kwargs)
        statement, offered = statement_of(query, parameters, kwargs), None
        if statement is not None and self._is_ready():
            found = self._gate.offer(self._state.database, statement, self._bookmarks())
            if found is not None:
                self._state.answered(found)
                return self._state.notifications.told(found)
            offered, query = statement, statement.for_driver(query)
        else:
            self._gate.passed("a session that is busy or closed, or no plain query")
        self._state.asked_server()
        self._state.last = self._session.run(query=query, parameters=parameters, **kwargs)
        if offered is not None:
            self._gate.answered_by_server(self._state.database, offered)
        return self._state.last

    def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Like the session's method. Statements of a read transaction may be accelerated."""
        self._state.end_newest()
        bookmarks = set()
        if not self._session.closed() and not self._state.in_transaction:
            bookmarks = self._bookmarks()
        transaction = self._session.begin_transaction(*args, **kwargs)
        self._state.transaction = transaction
        metadata, timeout = transaction_options(*args, **kwargs)
        if not self._state.reads or metadata:
            self._gate.passed("a transaction that may write, or with metadata")
            return transaction
        state = TransactionState(
            self._gate, self._state.database, bookmarks, timeout, self._state.notifications
        )
        return AcceleratedTransaction(transaction, state)

    def execute_read(self, transaction_function: Any, *args: Any, **kwargs: Any) -> Any:
        """Like the session's method; the statements may be accelerated."""
        return self._managed(self._session.execute_read, transaction_function, args, kwargs)

    def last_bookmarks(self) -> neo4j.Bookmarks:
        """Like the session's method; the device's answers bring no bookmark."""
        self._state.end_newest()
        self._state.last = None
        found = self._session.last_bookmarks()
        self._state.bookmarks(found, ())
        return found

    def close(self) -> None:
        """Like the session's method."""
        self._state.end_newest()
        self._session.close()

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._state.end_newest()
        leave: Callable[..., None] = self._session.__exit__
        leave(*exception)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name == "read_transaction":  # in version 5 of the driver
            return lambda work, *args, **kwargs: self._managed(found, work, args, kwargs)
        return found

    # ------------------------------------------------------------------ inside
    def _managed(self, execute: Any, work: Any, args: Any, kwargs: Any) -> Any:
        if not callable(work) or getattr(work, "metadata", None) or not self._is_ready():
            self._gate.passed("a transaction with metadata, or in a busy or closed session")
            return execute(work, *args, **kwargs)
        return execute(self._wrapped(work, self._bookmarks()), *args, **kwargs)

    def _wrapped(self, work: Any, bookmarks: set[str]) -> Callable[..., Any]:
        state, gate = self._state, self._gate

        def accelerated(transaction: Any, *args: Any, **kwargs: Any) -> Any:
            inner = TransactionState(
                gate, state.database, bookmarks, timeout_of(work), state.notifications
            )
            state.managed += 1
            try:
                return work(AcceleratedTransaction(transaction, inner), *args, **kwargs)
            finally:
                state.managed -= 1
                inner.end()

        accelerated.timeout = timeout_of(work)  # type: ignore[attr-defined] # read by the driver
        return accelerated

    def _is_ready(self) -> bool:
        """True if no earlier work is open that the driver would have to finish first, or refuse."""
        if self._session.closed() or self._state.in_transaction:
            return False
        last = self._state.take_last(self._session)
        try:
            if last is None or last.closed() or last.peek() is None:
                return True
        except ResultFailedError:
            return True  # the caller was told when it happened
        self._state.last = last
        return False

    def _bookmarks(self) -> set[str]:
        manager = self._state.manager
        managed = () if manager is None else manager.get_bookmarks()
        return self._state.bookmarks(self._session.last_bookmarks(), managed)
