"""The state of an accelerated session; the same for both kinds of driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.accelerate.gate import KnownBookmarks
    from gpugda.accelerate.notifications import Notifications
    from gpugda.result.result import Result

__all__ = ["SessionState"]


class SessionState:
    """Configuration and history of a session.

    Args:
        config: The session's configuration.
        default_manager: The driver's bookmark manager for ``execute_query``.
        known: Bookmarks known to come from the driver's server.
        notifications: The notifications that the session wants.

    Attributes:
        database: Name, None for the home database.
        manager: The bookmark manager used for causal chaining, if one was given.
        reads: True if the session's transactions only read.
        last: The server's last result of an auto-commit transaction.
        transaction: The explicit transaction that was begun last.
        managed: Number of running transaction functions.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        default_manager: Any,
        known: KnownBookmarks,
        notifications: Notifications,
    ) -> None:
        self.notifications = notifications
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
        """True if the driver would refuse an auto-commit transaction now."""
        return self.managed > 0 or (self.transaction is not None and not self.transaction.closed())

    def bookmarks(self, own: Any, managed: Iterable[str]) -> set[str]:
        """Bookmarks of the states that the next statement must not be older than.

        Args:
            own: The session's ``last_bookmarks()``.
            managed: The bookmark manager's bookmarks.
        """
        current = _raw(own)
        # Until the driver receives bookmarks, the session's own are those that it was given.
        self._known.add(current - self._given)
        if self._manager_is_known:
            self._known.add(managed)
        return current | set(managed)

    def answered(self, result: Result) -> None:
        """Records that the device answered the newest statement."""
        self._newest = ref(result)

    def asked_server(self) -> None:
        """Records that the newest statement goes to the server; earlier results stay readable.

        These are the device's result, and the server's, which the driver then reads to its end.
        """
        self._newest = None
        self.last = None

    def take_last(self, session: Any) -> Any:
        """Forgets the server's last result; returns it unless the driver's session forgot it, too.

        The session does so when its work is cancelled, and reading the result would fail.
        """
        last, self.last = self.last, None
        return last if getattr(session, "_auto_result", last) is not None else None

    def end_newest(self) -> None:
        """Closes the newest result if it has unread rows, as the driver does."""
        result = None if self._newest is None else self._newest()
        self._newest = None
        if result is not None and not result.closed() and result.peek() is not None:
            result.consume()


def _raw(bookmarks: Any) -> set[str]:
    return set(getattr(bookmarks, "raw_values", ()))
