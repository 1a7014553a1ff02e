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
from gpugda.live.follower import Follower
from gpugda.live.reading import Reading, read_snapshot
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.config import Freshness
    from gpugda.live.caught_up import ReadLater
    from gpugda.live.reading import SnapshotShelf
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress
    from gpugda.query.reads import Reads

__all__ = ["Admission", "SnapshotKeeper"]

logger = logging.getLogger(__name__)

_REST = 2.0
"""After a refresh the next one in the background waits this many times as long as it took: under
steady writes at most a third of the time is spent on refreshing."""

_LONGEST_REST = 300.0

_BUSY_SHARE = 0.1
_NEWEST_WEIGHT = 0.2
"""A database is busy where it had changed before so many of the last queries, of which the newest
counts so much: then the question for its state asks for the changes, too."""

_CATCHING_UP = 3
"""How often changes are asked for again where some transactions are still being committed."""

_KEEP_TRANSACTIONS = 1000
"""What was caught up from disk by more transactions is kept there in turn."""

_KEEP_SECONDS = 300.0
"""A snapshot to which changes are applied is kept on disk so often, at most."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether the snapshot may answer now.

    Args:
        loaded: The snapshot if it may, else None.
        reason: One sentence, for the summary.
        newest: Where it may not, as the database is in a later state: that state.
        asked_at: Time (monotonic) at which that was asked for.
    """

    loaded: LoadedGraph | None
    reason: str
    newest: DatabaseVersion | None = None
    asked_at: float = 0.0


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
        self._taking = threading.Lock()
        self._kept_at = time.monotonic()
        self._newer_share = 0.0
        self._loaded: LoadedGraph | None = None
        self._newest_at = 0.0  # when the snapshot was last known to be the newest state
        self._known_newer = False
        self._rest_until = 0.0
        self._failures = 0
        self.refresh_seconds: float | None = None
        self.follower = Follower(server)

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
    def is_busy_database(self) -> bool:
        """Whether the newest state often was a later one when it was asked for."""
        return self._newer_share > _BUSY_SHARE

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
        version = self._server.probe()
        self.observe(version, asked_at)
        return version == loaded.version

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
        elif self._tells_newer(version, ours, asked=at is not None):
            self._known_newer = True

    def _tells_newer(self, version: DatabaseVersion, ours: DatabaseVersion, *, asked: bool) -> bool:
        if version.database_id != ours.database_id or version.transaction > ours.transaction:
            return True
        # Who follows may have come further than an answer that was late. Else an earlier state that
        # was just asked for is that of a database which was restored.
        return asked and not self.follows

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
                found = self._followed() or self._read(again=attempt > 0 or self._failures > 0)
                if found is not None:
                    is_new = found.loaded is not self._loaded
                    self._take(found, time.monotonic() - started)
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
        """The newest state by applying what changed; None where that is not possible."""
        if not self.follower.follows:
            # Before anything is read: what comes after that is known.
            self.follower.begin(self._loaded)
        base = self._loaded
        for _ in range(_CATCHING_UP):
            if not self.follower.follows:
                return None
            asked_at = time.monotonic()
            newest = self._server.probe()
            if newest is None:
                return None
            if base is None and not self.follower.has_base:
                # What an earlier process kept: the changes since are fewer than all there is.
                base = self._shelf.find_earlier(newest)
                if base is None:
                    return None
            found = self.follower.catch_up(base, newest)
            if found is not None:
                if self._loaded is None and found.transactions > _KEEP_TRANSACTIONS:
                    self.keep(found)  # else the next process would begin with all of these again
                return Reading(found, asked_at, was_followed=True)
        return None

    def _read(self, *, again: bool) -> Reading | None:
        """The newest state, read from the shelf or the server.

        ``again``: It changed while it was read before: so it may, where it tells what changed.
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
            self.follower.took(found.loaded)
        return found

    # ------------------------------------------------------------------ catching up
    @property
    def follows(self) -> bool:
        """Whether later states are had by applying what changed."""
        return self.follower.follows and self._loaded is not None

    def catch_up(
        self,
        newest: DatabaseVersion,
        asked_at: float | None = None,
        extra: ReadLater | None = None,
    ) -> LoadedGraph | None:
        """The snapshot of that state or a later one, by applying what changed; None if it fails.

        Args:
            newest: A state that the database has been in.
            asked_at: Time (monotonic) at which it was asked for as the newest one.
            extra: Columns that were read since, of which it then has those that could be proven.

        Raises:
            SourceError: The server cannot be asked.
        """
        found = self.follower.catch_up(self._loaded, newest, extra)
        if found is not None:
            self._follow_to(found, asked_at)
        return found

    @property
    def brings_changes(self) -> bool:
        """Whether `admit_following` is worth it: to ask once where the database often changed."""
        return self.is_busy_database and self.follows and self.must_ask

    def admit_following(self, reads: Reads | None = None) -> Admission | None:
        """As `admit`, with what changed applied: by one question for both.

        None where the changes do not tell which state is the newest: then it is to be asked for.

        Args:
            reads: What the query reads: changes of other things are not applied for it. None: of
                all things.

        Raises:
            SourceError: The server cannot be asked.
        """
        asked_at, before = time.monotonic(), self._loaded
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
        """The same in the background; whether it was started."""
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
            self._keep_sometimes(found)

    def _keep_sometimes(self, found: LoadedGraph) -> None:
        """What took long to read is kept on disk now and then, as of its state."""
        now = time.monotonic()
        if found.transactions and now - self._kept_at > _KEEP_SECONDS:
            self._kept_at = now
            self._background.start(lambda: self._shelf.keep(found))

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
        self.follower.close()

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
        if self._known_newer and not self.follows:
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
        text = f"{self.freshness}: transaction {version.transaction} is the newest"
        self._note_newer(is_newer=version != loaded.version)
        if version == loaded.version:
            return Admission(loaded, text)
        # Whoever asked after this query did may have followed the database to a later state.
        with self._taking:
            ours, newest_at = self._loaded, self._newest_at
        if ours is not None and newest_at >= asked_at and _covers(ours.version, version):
            return Admission(ours, f"{text}, or an earlier one than the snapshot's")
        return Admission(None, self._why_stale(loaded, version), version, asked_at)

    def _note_newer(self, *, is_newer: bool) -> None:
        self._newer_share += _NEWEST_WEIGHT * (is_newer - self._newer_share)

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

    def _take(self, reading: Reading, seconds: float) -> None:
        if reading.was_followed:
            self._follow_to(reading.loaded, reading.newest_at)
        else:
            with self._taking:
                self._loaded = reading.loaded
                self._newest_at, self._known_newer = reading.newest_at, False
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


def _covers(ours: DatabaseVersion | None, other: DatabaseVersion | None) -> bool:
    """Whether the one is the other's state or a later one of the same database."""
    if ours is None or other is None:
        return ours is other
    return ours.database_id == other.database_id and ours.transaction >= other.transaction
