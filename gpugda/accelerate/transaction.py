"""A transaction for reading, in disguise.

Neo4j's transactions read what is committed: each statement sees the newest state at its time, and
two statements of one transaction may see different states, the later one never an older. To keep
exactly this,

* the transaction is begun on the server as ever. So the server checks user, database and
  bookmarks, and has waited for the states that the bookmarks name, before the device is asked;
* the device answers from the newest state (``freshness="strict"``, one probe a statement), which
  is at least as new as what an earlier statement of the transaction saw;
* once a statement went to the server all later ones do, and a statement that goes there after
  accelerated ones sees the same state as they or a newer one;
* transactions that may write are not accelerated at all: only the server knows what they wrote.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from gpugda.accelerate.statement import Statement, statement_of

if TYPE_CHECKING:
    from gpugda.accelerate.gate import Gate
    from gpugda.result.result import Result

__all__ = ["AcceleratedTransaction", "TransactionState"]


class TransactionState:
    """What a transaction for reading remembers; the same for both kinds of driver.

    Args:
        gate: What decides and answers.
        database: Name, None for the home database.
        bookmarks: States that it must not be older than.
        timeout: Seconds for all of it.
    """

    def __init__(
        self, gate: Gate, database: str | None, bookmarks: set[str], timeout: float | None
    ) -> None:
        self.gate = gate
        self.database = database
        self.timeout = timeout or None
        # Those that it began with were accepted by the server when it was begun.
        gate.known_bookmarks.add(bookmarks)
        self.bookmarks = bookmarks
        self._begun_at = time.monotonic()
        self._on_server = False
        self._results: list[Result] = []

    def statement(self, query: Any, parameters: Any, more: dict[str, Any]) -> Statement | None:
        """What the device may be asked; None for what goes to the server."""
        if self._on_server or not isinstance(query, str):
            self.gate.passed("a transaction with a statement that went to the server")
            return None
        left = self._seconds_left()
        return None if left == 0 else statement_of(query, parameters, more, left)

    def offer(self, statement: Statement) -> Result | None:
        """The device's answer, None if the server is to be asked."""
        found = self.gate.offer(self.database, statement, self.bookmarks)
        if found is not None:
            self._results.append(found)
        return found

    def went_to_server(self, offered: Statement | None) -> None:
        """From now on all statements do; this one after the device had declined it, if given."""
        self._on_server = True
        if offered is not None:
            self.gate.answered_by_server(self.database, offered)

    def end(self) -> None:
        """The transaction is over; results are no longer readable, as the driver's are not."""
        self._on_server = True
        for result in self._results:
            result.consume()
        self._results = []

    def _seconds_left(self) -> float | None:
        if self.timeout is None:
            return None
        return max(0.0, self._begun_at + self.timeout - time.monotonic())


class AcceleratedTransaction:
    """Used as the ``neo4j.Transaction`` or ``neo4j.ManagedTransaction`` within.

    Args:
        transaction: The driver's transaction.
        state: What it remembers.
    """

    def __init__(self, transaction: Any, state: TransactionState) -> None:
        self._transaction = transaction
        self._state = state

    @property  # type: ignore[misc] # asked by isinstance
    def __class__(self) -> type:
        return type(self._transaction)

    def run(self, query: Any, parameters: Any = None, **kwparameters: Any) -> Any:
        """As the transaction's."""
        statement = self._state.statement(query, parameters, kwparameters)
        found = None if statement is None else self._state.offer(statement)
        if found is not None:
            return found
        self._state.went_to_server(statement)
        return self._transaction.run(query, parameters, **kwparameters)

    def commit(self) -> None:
        """As the transaction's."""
        self._state.end()
        self._transaction.commit()

    def rollback(self) -> None:
        """As the transaction's."""
        self._state.end()
        self._transaction.rollback()

    def close(self) -> None:
        """As the transaction's."""
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
