"""Reading one state of a database: from the cache on disk, or from the server with proof."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gpugda.errors import StaleSnapshotError
from gpugda.loading import load

if TYPE_CHECKING:
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress

__all__ = ["EmptyShelf", "Reading", "SnapshotShelf", "read_snapshot"]

logger = logging.getLogger(__name__)


class SnapshotShelf(Protocol):
    """Snapshots kept from earlier processes."""

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The snapshot of exactly this state, or None."""

    def find_earlier(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The newest snapshot of an earlier state of the same database, or None."""

    def keep(self, loaded: LoadedGraph) -> None:
        """Keeps a snapshot; failing is no error."""


class EmptyShelf:
    """Keeps nothing."""

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """Nothing is there."""
        return None

    def find_earlier(self, version: DatabaseVersion) -> LoadedGraph | None:
        """Nothing is there."""
        return None

    def keep(self, loaded: LoadedGraph) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot, the time (monotonic) at which it was known to be the newest state, and whence."""

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
) -> Reading | None:
    """One attempt to get a snapshot of the newest state; None if the database changed meanwhile.

    The state is asked for before and after: all reads are at the first state or a later one, so if
    the newest state at the end still is the first, all that was read is of that state.

    Raises:
        SourceError: The database cannot be read.
    """
    asked_at = time.monotonic()
    before = server.probe()
    if before is not None:
        if current is not None and current.version == before:
            return Reading(current, asked_at)
        if (found := shelf.find(before)) is not None:
            return Reading(found, asked_at, from_shelf=True)
    try:
        loaded = load(server, progress, gentle=gentle)
    except StaleSnapshotError as error:  # what was listed is gone: it changed
        logger.info("%s", error)
        return None
    asked_at = time.monotonic()
    after = server.probe()
    if loaded.version is not None and after != loaded.version:
        return None
    return Reading(loaded, asked_at)
