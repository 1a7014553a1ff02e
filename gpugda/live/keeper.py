"""The snapshot of a live database: how fresh it is, and how it becomes fresh again.

More than 300 lines: what changes a snapshot's state stands under one lock.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import StaleSnapshotError
from gpugda.live.background import BackgroundWork, StoppableProgress
from gpugda.live.reading import read_snapshot
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.config import Freshness
    from gpugda.live.reading import SnapshotShelf
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress

__all__ = ["Admission", "SnapshotKeeper"]

logger = logging.getLogger(__name__)

_REST = 2.0
"""After a refresh the next one in the background waits this many times as long as it took: under
steady writes at most a third of the time is spent on refreshing."""

_LONGEST_REST = 300.0


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether the snapshot may answer now.

    Args:
        loaded: The snapshot if it may, else None.
        reason: One sentence, for the summary.
    """

    loaded: LoadedGraph | None
    reason: str


class SnapshotKeeper:
    """Holds the newest snapshot of a database and judges whether it is fresh enough.

    Usable from several threads.

    Args:
        server: The database.
        freshness: How old an answer may be.
        shelf: Snapshots kept on disk.
        progress: Told how far a refresh has come.
    """

    def __init__(
        self, server: DatabaseServer, freshness: Freshness, shelf: SnapshotShelf, progress: Progress
    ) -> None:
        self._server = server
        self.freshness = freshness
        self._shelf = shelf
        self._progress = StoppableProgress(progress)
        self._background = BackgroundWork("gpugda-refresh")
        self._refreshing = threading.Lock()
        self._loaded: LoadedGraph | None = None
        self._newest_at = 0.0  # when the snapshot was last known to be the newest state
        self._known_newer = False
        self._rest_until = 0.0
        self._failures = 0
        self.refresh_seconds: float | None = None

    # ------------------------------------------------------------------ asking
    @property
    def loaded(self) -> LoadedGraph | None:
        """The snapshot, however old; None while there is none yet."""
        return self._loaded

    @property
    def is_stale(self) -> bool:
        """Whether the database is known to have changed since the snapshot."""
        return self._known_newer

    @property
    def busy(self) -> bool:
        """Whether a refresh is under way in the background."""
        return self._background.busy

    @property
    def last_error(self) -> BaseException | None:
        """Why the last refresh in the background failed, None if it did not."""
        return self._background.last_error

    def admit(self) -> Admission:
        """The snapshot, if it is as fresh as the policy asks; at most one probe.

        Raises:
            SourceError: The server cannot be reached.
        """
        loaded = self._loaded
        if loaded is None:
            return Admission(None, self._why_none())
        return self._admit_unasked(loaded) or self._admit_by_probe(loaded)

    @property
    def must_ask(self) -> bool:
        """Whether `admit` would send a probe now."""
        return self._loaded is not None and self._admit_unasked(self._loaded) is None

    @contextmanager
    def asking(self) -> Iterator[Callable[[], Admission]]:
        """As `admit`, but a probe is only sent: what this gives waits for its answer.

        What is done in between costs no time, if the server is as long about it.
        """
        loaded = self._loaded
        if loaded is None or self._admit_unasked(loaded) is not None:
            yield self.admit
            return
        asked_at = time.monotonic()
        with self._server.asking() as answer:
            yield lambda: self._judge(loaded, answer(), asked_at)

    def confirm(self, loaded: LoadedGraph) -> bool:
        """Whether the database still is in the snapshot's state: what was read since belongs to it.

        Raises:
            SourceError: The server cannot be reached.
        """
        if loaded.version is None:
            return True  # nothing can be proven; the policy was judged on admission
        asked_at = time.monotonic()
        self.observe(self._server.probe(), asked_at)
        return loaded is self._loaded and not self._known_newer

    def covers(self, version: DatabaseVersion) -> bool:
        """Whether the snapshot is of that state or of a later one; takes note of it."""
        self.observe(version)
        ours = None if self._loaded is None else self._loaded.version
        if ours is None or ours.database_id != version.database_id:
            return False
        return version.transaction <= ours.transaction

    def observe(self, version: DatabaseVersion | None, at: float | None = None) -> None:
        """Takes note of a state of the database that an answer carried.

        Args:
            version: The state, None if the server did not tell.
            at: Time (monotonic) at which that state was asked for; None: it may be older than the
                newest one.
        """
        loaded = self._loaded
        if version is None or loaded is None or loaded.version is None:
            return
        ours = loaded.version
        same_database = version.database_id == ours.database_id
        if same_database and version.transaction == ours.transaction:
            if at is not None:
                self._newest_at = max(self._newest_at, at)
                self._known_newer = False
        elif at is not None or not same_database or version.transaction > ours.transaction:
            self._known_newer = True

    # ------------------------------------------------------------------ refreshing
    def refresh(self, attempts: int = 3) -> LoadedGraph:
        """Reads the database again, if it changed, and waits for it.

        Raises:
            SourceError: It cannot be read; the snapshot that there was is kept.
            StaleSnapshotError: It changed during each of the attempts.
        """
        with self._refreshing:
            started = time.monotonic()
            for attempt in range(attempts):
                found = read_snapshot(
                    self._server,
                    self._shelf,
                    self._progress,
                    self._loaded,
                    gentle=self._background.is_current,
                )
                if found is not None:
                    is_new = found.loaded is not self._loaded
                    self._take(found.loaded, found.newest_at, time.monotonic() - started)
                    if is_new and not found.from_shelf:
                        self.keep(found.loaded)
                    return found.loaded
                logger.info("the database changed while it was read (attempt %d)", attempt + 1)
            self._failed(time.monotonic() - started)
            raise StaleSnapshotError(
                f"The database changed {_while(attempts)}, so there is no snapshot of one state of "
                "it. Try again when fewer writes come, or let the query go to Neo4j "
                "(engine='auto')."
            )

    @property
    def may_refresh(self) -> bool:
        """Whether the last refresh was long enough ago for another one."""
        return time.monotonic() >= self._rest_until and not self.busy

    def refresh_soon(self) -> bool:
        """Starts a refresh in the background, unless one is under way or was a moment ago."""
        if not self.may_refresh:
            return False
        return self._background.start(lambda: self.refresh(attempts=1))

    def in_background(self, work: Callable[[], object]) -> bool:
        """Runs other work of the snapshot in the same thread; whether it was started."""
        return self._background.start(work)

    def keep(self, loaded: LoadedGraph) -> None:
        """Keeps a snapshot on disk, with the properties read until now; nobody waits for it."""
        if self._background.is_current:
            self._shelf.keep(loaded)
        else:
            self._background.start_soon(lambda: self._shelf.keep(loaded))

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for what runs in the background; whether it has ended."""
        return self._background.wait(seconds)

    def close(self) -> None:
        """Ends what runs in the background."""
        self._progress.stop()
        self._background.close()

    # ------------------------------------------------------------------ inside
    def _admit_unasked(self, loaded: LoadedGraph) -> Admission | None:
        """What needs no probe to be judged, None where one is needed."""
        if self.freshness.policy == "manual":
            return Admission(loaded, "manual freshness: as of the last refresh")
        if loaded.version is None:
            return self._admit_without_version(loaded)
        age = time.monotonic() - self._newest_at
        if self.freshness.policy == "max_age" and age <= self.freshness.seconds:
            return Admission(loaded, f"{self.freshness}: known to be the newest {age:.2g} s ago")
        if self._known_newer:
            return Admission(None, "the database changed since the snapshot")
        return None

    def _admit_without_version(self, loaded: LoadedGraph) -> Admission:
        if self.freshness.policy == "strict":
            return Admission(
                None, "this server has no bookmarks, so the snapshot cannot be proven fresh"
            )
        age = time.monotonic() - self._newest_at
        if age <= self.freshness.seconds:
            return Admission(loaded, f"{self.freshness}: read {age:.2g} s ago")
        return Admission(None, f"the snapshot is older than {self.freshness}")

    def _admit_by_probe(self, loaded: LoadedGraph) -> Admission:
        asked_at = time.monotonic()
        return self._judge(loaded, self._server.probe(), asked_at)

    def _judge(
        self, loaded: LoadedGraph, version: DatabaseVersion | None, asked_at: float
    ) -> Admission:
        self.observe(version, asked_at)
        if version is None:
            return Admission(None, "the server did not tell its newest transaction")
        if version == loaded.version and loaded is self._loaded:
            text = f"{self.freshness}: transaction {version.transaction} is the newest"
            return Admission(loaded, text)
        return Admission(None, self._why_stale(loaded, version))

    def _why_stale(self, loaded: LoadedGraph, version: DatabaseVersion) -> str:
        ours = loaded.version
        assert ours is not None
        if version.database_id != ours.database_id:
            return "the database was restored or made anew since the snapshot"
        return (
            f"the database changed since the snapshot (transaction {version.transaction}, the "
            f"snapshot is of {ours.transaction})"
        )

    def _why_none(self) -> str:
        error = self.last_error
        if error is not None:
            return f"there is no snapshot: {first_line(error)}"
        return "the snapshot is still being read" if self.busy else "there is no snapshot yet"

    def _take(self, loaded: LoadedGraph, newest_at: float, seconds: float) -> None:
        self._loaded = loaded
        self._newest_at, self._known_newer = newest_at, False
        self.refresh_seconds = seconds
        self._failures = 0
        self._rest_until = time.monotonic() + min(_REST * seconds, _LONGEST_REST)

    def _failed(self, seconds: float) -> None:
        self._failures += 1
        rest = min(_REST**self._failures * seconds, _LONGEST_REST)
        self._rest_until = time.monotonic() + rest


def _while(attempts: int) -> str:
    return (
        "while it was read" if attempts == 1 else f"during each of {attempts} attempts to read it"
    )
