"""An accelerated read transaction.

Neo4j's transactions read committed data: each statement sees the newest state at its time. Two
statements of one transaction may see different states, but the later one never an older state. To
guarantee exactly this,

* the transaction is begun on the server as usual. So the server checks user, database and
  bookmarks, and has waited for the states that the bookmarks name, before the device answers;
* the device answers from the newest state (``freshness="strict"``, one probe per statement), which
  is at least as new as the state that an earlier statement of the transaction saw;
* once a statement has gone to the server, all later ones do. A statement that goes there after
  accelerated ones sees the same state or a newer one;
* transactions that may write are never accelerated: only the server knows what they wrote.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from gpugda.accelerate.statement import Statement, statement_of
from gpugda.data.values.dehydration import for_driver

if TYPE_CHECKING:
    from gpugda.accelerate.gate import Gate
    from gpugda.accelerate.notifications import Notifications
    from gpugda.result.result import Result

__all__ = ["AcceleratedTransaction", "TransactionState"]


class TransactionState:
    """The state of a read transaction; the same for both kinds of driver.

    Args:
        gate: Decides whether the device answers, and answers.
        database: Name, None for the home database.
        bookmarks: The answers must not be older than their states.
        timeout: Seconds for the whole transaction.
        notifications: The notifications that the session wants.
    """

    def __init__(
        self,
        gate: Gate,
        database: str | None,
        bookmarks: set[str],
        timeout: float | None,
        notifications: Notifications,
    ) -> None:
        self.notifications = notifications
        self.gate = gate
        self.database = database
        self.timeout = timeout or None
        # The server accepted these bookmarks when it began the transaction.
        gate.known_bookmarks.add(bookmarks)
        self.bookmarks = bookmarks
        self._begun_at = time.monotonic()
        self._on_server = False
        self._results: list[Result] = []

    def statement(self, query: Any, parameters: Any, more: dict[str, Any]) -> Statement | None:
        """Returns the statement to offer to the device; None if it must go to the server."""
        if self._on_server or not isinstance(query, str):
            self.gate.passed("a transaction with a statement that went to the server")
            return None
        left = self._seconds_left()
        return None if left == 0 else statement_of(query, parameters, more, left)

    def offer(self, statement: Statement) -> Result | None:
        """Returns the device's answer, None if the server should answer."""
        found = self.gate.offer(self.database, statement, self.bookmarks)
        if found is not None:
            self._results.append(found)
        return found

    def went_to_server(self, offered: Statement | None) -> None:
        """Sends all later statements to the server; ``offered`` is one that the device declined."""
        self._on_server = True
        if offered is not None:
            self.gate.answered_by_server(self.database, offered)

    def end(self) -> None:
        """Ends the transaction; its results are no longer readable, as with the driver."""
        self._on_server = True
        for result in self._results:
            result.consume()
        self._results = []

    def _seconds_left(self) -> float | None:
        if self.timeout is None:
            return None
        return max(0.0, self._begun_at + self.timeout - time.monotonic())


class AcceleratedTransaction:
    """Stands in for the ``neo4j.Transaction`` or ``neo4j.ManagedTransaction`` that it wraps.

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

    def run(self, query: Any, parameters: Any = None, **kwparameters: Any) -> Any:
        """Like the transaction's method."""
        parameters, kwparameters = for_driver(parameters), for_driver(kwparameters)
        statement = self._state.statement(query, parameters, kwparameters)
        found = None if statement is None else self._state.offer(statement)
        if found is not None:
            return self._state.notifications.told(found)
        self._state.went_to_server(statement)
        return self._transaction.run(query=query, parameters=parameters, **kwparameters)

    def commit(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        self._transaction.commit()

    def rollback(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        self._transaction.rollback()

    def close(self) -> None:
        """Like the transaction's method."""
        self._state.end()
        self._transaction.close()

    def __enter__(self) -> Self:
        self._transaction.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._state.end()
        self._transaction.__exit__(*exception)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)
