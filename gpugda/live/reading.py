"""Reads one state of a database: from the cache on disk, or from the server with proof."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gpugda.errors import StaleSnapshotError
from gpugda.live.age_clock import age_clock
from gpugda.live.repairing import repaired
from gpugda.loading import load

if TYPE_CHECKING:
    from gpugda.live.follower import Follower
    from gpugda.loading import LoadedGraph
    from gpugda.ports import ChangeBatch, DatabaseServer, DatabaseVersion, Progress

__all__ = ["EmptyShelf", "Reading", "SnapshotShelf", "read_snapshot"]

logger = logging.getLogger(__name__)


class SnapshotShelf(Protocol):
    """Snapshots saved by earlier processes."""

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The snapshot of exactly this state, or None."""

    def find_earlier(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The newest snapshot of an earlier state of the same database, or None."""

    def keep(self, loaded: LoadedGraph) -> None:
        """Saves a snapshot; a failure is not an error."""


class EmptyShelf:
    """A shelf that keeps nothing."""

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """Finds nothing."""
        return None

    def find_earlier(self, version: DatabaseVersion) -> LoadedGraph | None:
        """Finds nothing."""
        return None

    def keep(self, loaded: LoadedGraph) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot, the time (`age_clock`) at which it was known to be the newest, and its origin."""

    loaded: LoadedGraph
    newest_at: float
    from_shelf: bool = False
    was_followed: bool = False


def read_snapshot(
    server: DatabaseServer,
    shelf: SnapshotShelf,
    progress: Progress,
    current: LoadedGraph | None = None,
    *,
    gentle: bool = False,
    follower: Follower | None = None,
) -> Reading | None:
    """One attempt to get a snapshot of the newest state; None if the database changed meanwhile.

    With a follower the database may change: the follower then reports the changes.

    The state is requested before and after reading. All reads see the first state or a later one,
    so if the state at the end is still the first, all data belongs to that state.

    Raises:
        SourceError: The database cannot be read.
    """
    asked_at = age_clock()
    before = server.probe()
    if before is not None:
        if current is not None and current.version == before:
            return Reading(current, asked_at)
        if (found := shelf.find(before)) is not None:
            return Reading(found, asked_at, from_shelf=True)
    if before is not None and follower is not None:
        return _read_moving(server, progress, before, follower, gentle=gentle)
    try:
        loaded = load(server, progress, gentle=gentle)
    except StaleSnapshotError as error:  # a listed node or relationship is gone: it changed
        logger.info("%s", error)
        return None
    asked_at = age_clock()
    after = server.probe()
    if loaded.version is not None and after != loaded.version:
        return None
    return Reading(loaded, asked_at)


def _read_moving(
    server: DatabaseServer,
    progress: Progress,
    before: DatabaseVersion,
    follower: Follower,
    *,
    gentle: bool,
) -> Reading | None:
    """Reads a database that may change meanwhile, and applies the follower's changes."""
    asked_at = 0.0

    def ask() -> ChangeBatch:
        nonlocal asked_at
        asked_at = age_clock()
        # All data was read in this state or an earlier one.
        until = server.probe()
        found = None if until is None else follower.changes(before, until)
        if found is None:
            raise StaleSnapshotError("The changes made while the database was read are unknown.")
        return found

    try:
        loaded = load(
            server,
            progress,
            gentle=gentle,
            repair=lambda torn: repaired(torn, ask, server.listed_labels),
        )
    except StaleSnapshotError as error:
        logger.info("%s", error)
        return None
    return Reading(loaded, asked_at)
