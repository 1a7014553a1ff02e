"""Bookmarks that are known to come from this driver's server.

A bookmark makes a query wait for a state of the database, or fail if the server does not know it.
The device uses the newest state anyway, so bookmarks that the driver itself received need no
wait. Any other bookmark goes to the server first, which waits for its state or refuses it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["KnownBookmarks"]

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
