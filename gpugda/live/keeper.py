"""The snapshot of a live database: judges its freshness and refreshes it."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import StaleSnapshotError
from gpugda.live.age_clock import age_clock
from gpugda.live.background import BackgroundWork, StoppableProgress
from gpugda.live.follower import Follower
from gpugda.live.reading import Reading, read_snapshot
from gpugda.live.unkept import UnkeptProperties
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.config import Freshness
    from gpugda.live.catching_up import LateColumns
    from gpugda.live.reading import SnapshotShelf
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress
    from gpugda.query.reads import Reads

__all__ = ["Admission", "SnapshotKeeper"]

logger = logging.getLogger(__name__)

_REST = 2.0
"""After a refresh the next one in the background waits this many times its duration: under steady
writes at most a third of the time is spent on refreshing."""

_LONGEST_REST = 300.0

_BUSY_SHARE = 0.1
_NEWEST_WEIGHT = 0.2
"""A database counts as busy if the moving average of "changed before the query" exceeds the share;
the newest query has this weight. The probe for its state then requests the changes, too."""

_CATCH_UP_ATTEMPTS = 3
"""Maximum number of attempts to catch up while some transactions are still being committed."""

_KEEP_TRANSACTIONS = 1000
"""A snapshot from disk that caught up by more transactions than this is saved again."""

_KEEP_SECONDS = 300.0
"""Minimum seconds between two saves of a snapshot to which changes are applied."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Decision whether the snapshot may answer now.

    Args:
        loaded: The snapshot if it may answer, else None.
        reason: One sentence, for the summary.
        newest: The database's state, if the snapshot was refused because that is later.
        asked_at: Time (`age_clock`) of the request for that state.
    """

    loaded: LoadedGraph | None
    reason: str
    newest: DatabaseVersion | None = None
    asked_at: float = 0.0


class SnapshotKeeper:
    """Holds the newest snapshot of a database and judges its freshness; thread-safe.

    Args:
        server: The database server.
        freshness: Policy for the age of answers.
        shelf: Snapshots kept on disk.
        progress: Receives the progress of a refresh.
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
        self._taking = threading.Lock()
        self._kept_at = time.monotonic()
        self._newer_share = 0.0
        self._loaded: LoadedGraph | None = None
        self._newest_at = 0.0  # last time the snapshot was known to be the newest state
        self._known_newer = False
        self._rest_until = 0.0
        self._failures = 0
        self.refresh_seconds: float | None = None
        self.unkept = UnkeptProperties()
        self.follower = Follower(server)

    # ------------------------------------------------------------------ asking
    @property
    def loaded(self) -> LoadedGraph | None:
        """The snapshot, whatever its age; None if there is none yet."""
        return self._loaded

    @property
    def is_stale(self) -> bool:
        """True if the database is known to have changed since the snapshot."""
        return self._known_newer

    @property
    def is_busy_database(self) -> bool:
        """True if probes often found a later state than the snapshot's."""
        return self._newer_share > _BUSY_SHARE

    @property
    def busy(self) -> bool:
        """True while a background refresh is running."""
        return self._background.busy

    @property
    def last_error(self) -> BaseException | None:
        """Error of the last background refresh, None if it succeeded."""
        return self._background.last_error

    def admit(self) -> Admission:
        """Admits the snapshot if it is as fresh as the policy demands; sends at most one probe.

        Raises:
            SourceError: The server cannot be reached.
        """
        loaded = self._loaded
        if loaded is None:
            return Admission(None, self._no_snapshot_reason())
        return self._admit_without_probe(loaded) or self._admit_by_probe(loaded)

    @property
    def needs_probe(self) -> bool:
        """True if `admit` would send a probe now."""
        return self._loaded is not None and self._admit_without_probe(self._loaded) is None

    @contextmanager
    def asking(self) -> Iterator[Callable[[], Admission]]:
        """Like `admit`, but sends the probe at once; the yielded function waits for its answer.

        Work done in between is free as long as the server takes no less time.
        """
        loaded = self._loaded
        if loaded is None or self._admit_without_probe(loaded) is not None:
            yield self.admit
            return
        asked_at = age_clock()
        with self._server.asking() as answer:
            yield lambda: self._judge(loaded, answer(), asked_at)

    def confirm(self, loaded: LoadedGraph) -> bool:
        """True if the database is still in the snapshot's state, so data read since belongs to it.

        Raises:
            SourceError: The server cannot be reached.
        """
        if loaded.version is None:
            return True  # nothing can be proven; the policy was applied on admission
        asked_at = age_clock()
        version = self._server.probe()
        self.observe(version, asked_at)
        return version == loaded.version

    def covers(self, version: DatabaseVersion) -> bool:
        """True if the snapshot has that state or a later one; also records the state."""
        self.observe(version)
        ours = None if self._loaded is None else self._loaded.version
        if ours is None or ours.database_id != version.database_id:
            return False
        return version.transaction <= ours.transaction

    def observe(self, version: DatabaseVersion | None, at: float | None = None) -> None:
        """Records a state of the database that an answer carried.

        Args:
            version: The state, None if the server did not report it.
            at: Time (`age_clock`) of the request for that state; None: it may be older than the
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
        elif self._is_newer(version, ours, asked=at is not None):
            self._known_newer = True

    def _is_newer(self, version: DatabaseVersion, ours: DatabaseVersion, *, asked: bool) -> bool:
        if version.database_id != ours.database_id or version.transaction > ours.transaction:
            return True
        # A follower may be ahead of a late answer. Without one, an earlier state in a fresh answer
        # means that the database was restored.
        return asked and not self.follows

    # ------------------------------------------------------------------ refreshing
    def refresh(self, attempts: int = 3) -> LoadedGraph:
        """Reads the database again if it changed, and waits for that.

        Raises:
            SourceError: It cannot be read; the previous snapshot is kept.
            StaleSnapshotError: It changed during each of the attempts.
        """
        with self._refreshing:
            started = time.monotonic()
            for attempt in range(attempts):
                found = self._followed() or self._read(again=attempt > 0 or self._failures > 0)
                if found is not None:
                    is_new = found.loaded is not self._loaded
                    self._accept(found, time.monotonic() - started)
                    if is_new and not (found.from_shelf or found.was_followed):
                        self.keep(found.loaded)
                    return self._loaded or found.loaded
                logger.info("the database changed while it was read (attempt %d)", attempt + 1)
            self._failed(time.monotonic() - started)
            raise StaleSnapshotError(
                f"The database changed {_while(attempts)}, so there is no snapshot of one state of "
                "it. Try again when fewer writes come, or let the query go to Neo4j "
                "(engine='auto')."
            )

    def _followed(self) -> Reading | None:
        """The newest state by applying changes; None if that is not possible."""
        if not self.follower.follows:
            # Before anything is read, so that all later changes are recorded.
            self.follower.begin(self._loaded)
        base = self._loaded
        for _ in range(_CATCH_UP_ATTEMPTS):
            if not self.follower.follows:
                return None
            asked_at = age_clock()
            newest = self._server.probe()
            if newest is None:
                return None
            if base is None and not self.follower.has_snapshot:
                # A snapshot of an earlier process: the changes since are less than the whole graph.
                base = self._shelf.find_earlier(newest)
                if base is None:
                    return None
            found = self.follower.catch_up(base, newest)
            if found is not None:
                if self._loaded is None and found.transactions > _KEEP_TRANSACTIONS:
                    self.keep(found)  # else the next process would apply all of these again
                return Reading(found, asked_at, was_followed=True)
        return None

    def _read(self, *, again: bool) -> Reading | None:
        """The newest state, read from the shelf or the server; None if it changed meanwhile.

        ``again``: an earlier attempt failed, so a followed database may change while it is read.
        """
        if not self.follower.follows:
            self.follower.begin(self._loaded)
        found = read_snapshot(
            self._server,
            self._shelf,
            self._progress,
            self._loaded,
            gentle=self._background.is_current,
            follower=self.follower if again and self.follower.follows else None,
        )
        if found is not None:
            self.follower.publish(found.loaded)
        return found

    # ------------------------------------------------------------------ catching up
    @property
    def follows(self) -> bool:
        """True if later states are reached by applying changes."""
        return self.follower.follows and self._loaded is not None

    def catch_up(
        self,
        newest: DatabaseVersion,
        asked_at: float | None = None,
        extra: LateColumns | None = None,
    ) -> LoadedGraph | None:
        """The snapshot of that state or a later one, by applying changes; None if that fails.

        Args:
            newest: A state that the database has been in.
            asked_at: Time (`age_clock`) at which it was requested as the newest one.
            extra: Columns read since; the result has those of them that could be proven.

        Raises:
            SourceError: The server cannot be reached.
        """
        found = self.follower.catch_up(self._loaded, newest, extra)
        if found is not None:
            self._follow_to(found, asked_at)
        return found

    @property
    def prefers_changes(self) -> bool:
        """True if `admit_following` pays: one request for both, as the database often changed."""
        return self.is_busy_database and self.follows and self.needs_probe

    def admit_following(self, reads: Reads | None = None) -> Admission | None:
        """Like `admit`, with changes applied, in one request.

        None if the changes do not report the newest state: then a probe is needed.

        Args:
            reads: What the query reads: changes of other things are not applied for it. None:
                everything.

        Raises:
            SourceError: The server cannot be reached.
        """
        asked_at, before = age_clock(), self._loaded
        caught_up = None if before is None else self.follower.catch_up_for(before, reads)
        if caught_up is None or before is None:
            return None
        found, newest = caught_up.loaded, caught_up.version
        self._note_newer(is_newer=newest != before.version)
        is_newest = found.version == newest
        self._follow_to(found, asked_at if is_newest else None)
        text = f"transaction {newest.transaction} is the newest"
        if not is_newest:
            text += ", and nothing that is read changed up to it"
        elif newest != before.version:
            text = found.followed
        return Admission(found, f"{self.freshness}: {text}")

    def catch_up_soon(self, newest: DatabaseVersion, asked_at: float) -> bool:
        """Like `catch_up`, in the background; returns True if it was started."""
        return self._background.start(lambda: self.catch_up(newest, asked_at))

    def _follow_to(self, found: LoadedGraph, asked_at: float | None) -> None:
        with self._taking:
            ours = self._loaded
            is_later = ours is None or _covers(found.version, ours.version)
            if is_later:
                self._loaded = found
                if asked_at is not None:
                    self._newest_at = max(self._newest_at, asked_at)
                    self._known_newer = False
                    self._failures = 0
        if is_later:
            self.unkept.changed()
            self._keep_sometimes(found)

    def _keep_sometimes(self, found: LoadedGraph) -> None:
        """Saves a snapshot that took long to read at intervals, in its current state."""
        now = time.monotonic()
        if found.transactions and now - self._kept_at > _KEEP_SECONDS:
            self._kept_at = now
            self._background.start(lambda: self._shelf.keep(found))

    @property
    def may_refresh(self) -> bool:
        """True if enough time has passed since the last refresh."""
        return time.monotonic() >= self._rest_until and not self.busy

    def refresh_soon(self) -> bool:
        """Starts a background refresh, unless one is running or ended a moment ago."""
        if not self.may_refresh:
            return False
        return self._background.start(lambda: self.refresh(attempts=1))

    def in_background(self, work: Callable[[], object]) -> bool:
        """Runs another task on the snapshot in the same thread; returns True if it was started."""
        return self._background.start(work)

    def in_background_soon(self, work: Callable[[], object]) -> None:
        """Like `in_background`, but after a running task; of several waiting, the newest wins."""
        self._background.start_soon(work)

    def keep(self, loaded: LoadedGraph) -> None:
        """Saves a snapshot, with the properties read so far, to disk in the background."""
        if self._background.is_current:
            self._shelf.keep(loaded)
        else:
            self.in_background_soon(lambda: self._shelf.keep(loaded))

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the background task; returns True if it has ended."""
        return self._background.wait(seconds)

    def close(self) -> None:
        """Stops all background tasks."""
        self._progress.stop()
        self._background.close()
        self.follower.close()

    # ------------------------------------------------------------------ inside
    def _admit_without_probe(self, loaded: LoadedGraph) -> Admission | None:
        """The decision if it needs no probe, else None."""
        if self.freshness.policy == "manual":
            return Admission(loaded, "manual freshness: as of the last refresh")
        if loaded.version is None:
            return self._admit_without_version(loaded)
        age = age_clock() - self._newest_at
        if self.freshness.policy == "max_age" and age <= self.freshness.seconds:
            return Admission(loaded, f"{self.freshness}: known to be the newest {age:.2g} s ago")
        if self._known_newer and not self.follows:
            return Admission(None, "the database changed since the snapshot")
        return None

    def _admit_without_version(self, loaded: LoadedGraph) -> Admission:
        if self.freshness.policy == "strict":
            return Admission(
                None, "this server has no bookmarks, so the snapshot cannot be proven fresh"
            )
        age = age_clock() - self._newest_at
        if age <= self.freshness.seconds:
            return Admission(loaded, f"{self.freshness}: read {age:.2g} s ago")
        return Admission(None, f"the snapshot is older than {self.freshness}")

    def _admit_by_probe(self, loaded: LoadedGraph) -> Admission:
        asked_at = age_clock()
        return self._judge(loaded, self._server.probe(), asked_at)

    def _judge(
        self, loaded: LoadedGraph, version: DatabaseVersion | None, asked_at: float
    ) -> Admission:
        self.observe(version, asked_at)
        if version is None:
            return Admission(None, "the server did not report its newest transaction")
        text = f"{self.freshness}: transaction {version.transaction} is the newest"
        self._note_newer(is_newer=version != loaded.version)
        if version == loaded.version:
            return Admission(loaded, text)
        # A query that asked after this one may have brought the snapshot to a later state.
        with self._taking:
            ours, newest_at = self._loaded, self._newest_at
        if ours is not None and newest_at >= asked_at and _covers(ours.version, version):
            return Admission(ours, f"{text}, or an earlier one than the snapshot's")
        return Admission(None, self._stale_reason(loaded, version), version, asked_at)

    def _note_newer(self, *, is_newer: bool) -> None:
        self._newer_share += _NEWEST_WEIGHT * (is_newer - self._newer_share)

    def _stale_reason(self, loaded: LoadedGraph, version: DatabaseVersion) -> str:
        ours = loaded.version
        assert ours is not None
        if version.database_id != ours.database_id:
            return "the database was restored or recreated since the snapshot"
        return (
            f"the database changed since the snapshot (transaction {version.transaction}, the "
            f"snapshot is of {ours.transaction})"
        )

    def _no_snapshot_reason(self) -> str:
        error = self.last_error
        if error is not None:
            return f"there is no snapshot: {first_line(error)}"
        return "the snapshot is still being read" if self.busy else "there is no snapshot yet"

    def _accept(self, reading: Reading, seconds: float) -> None:
        if reading.was_followed:
            self._follow_to(reading.loaded, reading.newest_at)
        else:
            with self._taking:
                self._loaded = reading.loaded
                self._newest_at, self._known_newer = reading.newest_at, False
            self.refresh_seconds = seconds
            self.unkept.forget()
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


def _covers(ours: DatabaseVersion | None, other: DatabaseVersion | None) -> bool:
    """True if ``ours`` is the same or a later state of the same database."""
    if ours is None or other is None:
        return ours is other
    return ours.database_id == other.database_id and ours.transaction >= other.transaction
