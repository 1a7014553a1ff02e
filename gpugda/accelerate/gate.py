"""Decides which statements the device may answer, and returns its answers."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from gpugda.accelerate.notifications import Notifications
from gpugda.accelerate.result import AcceleratedResult
from gpugda.answer.declined import Declined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gpugda.accelerate.accelerators import Accelerators
    from gpugda.accelerate.statement import Statement
    from gpugda.result.result import Result


__all__ = ["Gate", "KnownBookmarks", "Tally"]

_MAX_BOOKMARKS = 10_000


class KnownBookmarks:
    """The last bookmarks that the driver received or that its server accepted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, None] = {}

    def add(self, bookmarks: Iterable[str]) -> None:
        """Records these bookmarks as known."""
        with self._lock:
            for bookmark in bookmarks:
                self._known.pop(bookmark, None)
                self._known[bookmark] = None
            while len(self._known) > _MAX_BOOKMARKS:
                del self._known[next(iter(self._known))]

    def all_known(self, bookmarks: Iterable[str]) -> bool:
        """True if all bookmarks are known."""
        return all(bookmark in self._known for bookmark in bookmarks)


_NUMBERS = re.compile(r"\d[\d.,]*")
_MAX_REASONS = 50
_SHOWN_REASONS = 3


class Tally:
    """Counts queries; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accelerated = 0
        self._reasons: Counter[str] = Counter()

    @property
    def accelerated(self) -> int:
        """Number of queries that the device answered."""
        return self._accelerated

    @property
    def passed_through(self) -> dict[str, int]:
        """Number of the other queries per reason, the most frequent first."""
        with self._lock:
            return dict(self._reasons.most_common())

    def count_accelerated(self) -> None:
        """Counts one query that the device answered."""
        with self._lock:
            self._accelerated += 1

    def count_passed(self, reason: str) -> None:
        """Counts one query that went to the database."""
        general = _NUMBERS.sub("…", reason)
        with self._lock:
            if general not in self._reasons and len(self._reasons) >= _MAX_REASONS:
                general = "other reasons"
            self._reasons[general] += 1

    def __str__(self) -> str:
        reasons = self.passed_through
        text = f"{self.accelerated:,} accelerated, {sum(reasons.values()):,} passed through"
        shown = [f"{count:,}: {reason}" for reason, count in reasons.items()][:_SHOWN_REASONS]
        more = ["…"] if len(reasons) > _SHOWN_REASONS else []
        return f"{text} ({'; '.join(shown + more)})" if shown else text


logger = logging.getLogger(__name__)


class Gate:
    """The state that the sessions of one accelerated driver share.

    No failure here reaches the caller: the database answers instead.

    Args:
        accelerators: The accelerators.
        strict: True if every answer is of the newest state, so that it is never older than what a
            session of this driver has seen.
    """

    def __init__(self, accelerators: Accelerators, *, strict: bool) -> None:
        self._accelerators = accelerators
        self._strict = strict
        self.known_bookmarks = KnownBookmarks()
        self.notifications = Notifications()
        self.tally = Tally()

    def offer(
        self, database: str | None, statement: Statement, bookmarks: Collection[str]
    ) -> Result | None:
        """Returns the device's answer, None if the database should answer.

        Args:
            database: Name, None for the home database.
            statement: The query with its parameters.
            bookmarks: The answer must not be older than their states.
        """
        found = self.decide(database, statement, bookmarks)
        if isinstance(found, Declined):
            self.passed(found.reason)
            return None
        return AcceleratedResult.of(found)

    def decide(
        self, database: str | None, statement: Statement, bookmarks: Collection[str]
    ) -> Result | Declined:
        """Like `offer`, but tells why the database should answer, and does not count that."""
        try:
            found = self._found(database, statement, bookmarks)
        except Exception as error:
            logger.info("the device failed, the database is asked: %s", error, exc_info=True)
            return Declined(f"the device failed: {type(error).__name__}")
        if not isinstance(found, Declined):
            self.tally.count_accelerated()
        return found

    def answered_by_server(
        self, database: str | None, statement: Statement, seconds: float | None = None
    ) -> None:
        """Tells the planner that the server answered a statement that the device had declined.

        Args:
            database: Name, None for the home database.
            statement: The query with its parameters.
            seconds: Time to the last row; None if the caller reads rows as they arrive.
        """
        try:
            device = self._accelerators.get(database)
            if not isinstance(device, str):
                device.observe_native(statement.text, seconds)
        except Exception as error:
            logger.info("a time was not noted: %s", error, exc_info=True)

    def passed(self, reason: str) -> None:
        """Counts a statement that goes to the database."""
        logger.debug("passed through: %s", reason)
        self.tally.count_passed(reason)

    def wait(self, database: str | None = None, seconds: float = 600.0) -> bool:
        """Waits for a snapshot of the database; True if there is one."""
        return self._accelerators.wait(database, seconds)

    def status(self) -> dict[str, dict[str, Any]]:
        """`Accelerator.status` of each accelerator, by name of the database."""
        return self._accelerators.statuses()

    def close(self) -> None:
        """Closes all accelerators."""
        self._accelerators.close()

    def _found(
        self, database: str | None, statement: Statement, bookmarks: Collection[str]
    ) -> Result | Declined:
        device = self._accelerators.get(database)
        if isinstance(device, str):
            return Declined(device)
        if not self.known_bookmarks.all_known(bookmarks):
            return Declined("bookmarks that this driver did not receive go to the server first")
        if bookmarks and not self._strict and not device.covers(bookmarks):
            return Declined("the snapshot may be older than the bookmarks")
        return device.try_device(
            statement.text, statement.parameters, timeout=statement.seconds_left()
        )
