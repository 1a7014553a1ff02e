"""What an accelerated session remembers; the same for both kinds of driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.accelerate.bookmarks import KnownBookmarks
    from gpugda.result.result import Result

__all__ = ["SessionState"]


class SessionState:
    """Configuration and history of a session.

    Args:
        config: What the session was made with.
        default_manager: The driver's bookmark manager for ``execute_query``.
        known: Bookmarks that the driver received.

    Attributes:
        database: Name, None for the home database.
        manager: The bookmark manager that causal chaining goes by, if one was given.
        reads: Whether transactions of the session are for reading.
        last: The last result that the server gave in an auto-commit transaction.
        transaction: The explicit transaction that was begun last.
        managed: How many transaction functions are running.
    """

    def __init__(
        self, config: Mapping[str, Any], default_manager: Any, known: KnownBookmarks
    ) -> None:
        self.database: str | None = config.get("database")
        self.manager: Any = config.get("bookmark_manager")
        self.reads = config.get("default_access_mode") == "READ"
        self._manager_is_known = self.manager is default_manager
        self._given = _raw(config.get("bookmarks"))
        self._known = known
        self._newest: ref[Result] | None = None
        self.last: Any = None
        self.transaction: Any = None
        self.managed = 0

    @property
    def in_transaction(self) -> bool:
        """Whether the driver would refuse an auto-commit transaction now."""
        return self.managed > 0 or (self.transaction is not None and not self.transaction.closed())

    def bookmarks(self, own: Any, managed: Iterable[str]) -> set[str]:
        """The states that the next statement must not be older than.

        Args:
            own: The session's ``last_bookmarks()``.
            managed: What the bookmark manager has.
        """
        current = _raw(own)
        # The session's own bookmarks are those it was given until the driver receives others.
        self._known.add(current - self._given)
        if self._manager_is_known:
            self._known.add(managed)
        return current | set(managed)

    def answered(self, result: Result) -> None:
        """The device answered the newest statement."""
        self._newest = ref(result)

    def asked_server(self) -> None:
        """The newest statement goes to the server: what the device answered before stays readable.

        So does what the server answered, which the driver then reads to its end.
        """
        self._newest = None
        self.last = None

    def end_newest(self) -> None:
        """The newest result is no longer readable, if rows of it are left: as with the driver."""
        result = None if self._newest is None else self._newest()
        self._newest = None
        if result is not None and not result.closed() and result.peek() is not None:
            result.consume()


def _raw(bookmarks: Any) -> set[str]:
    return set(getattr(bookmarks, "raw_values", ()))
