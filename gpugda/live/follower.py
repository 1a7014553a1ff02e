"""Keeps up with a database that tells what its transactions changed; see ADR 0008."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from gpugda.data.increments.apply import applied
from gpugda.data.increments.changes import ChangesError
from gpugda.errors import SourceError
from gpugda.live.caught_up import CaughtUp
from gpugda.live.compacting import Compactor
from gpugda.live.label_order import learn_label_order
from gpugda.live.shared import SharedState, shared_state
from gpugda.live.touched import touched_by
from gpugda.live.untold import told_or_read
from gpugda.ports import ChangeBatch, ChangeGap
from gpugda.types import first_line

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.property_store import PropertyStore
    from gpugda.live.caught_up import ReadLater
    from gpugda.loading import LoadedGraph
    from gpugda.ports import ChangeSource, DatabaseServer, DatabaseVersion
    from gpugda.query.reads import Reads

__all__ = ["Follower"]

logger = logging.getLogger(__name__)

_FIRST_GUESS = 0.01
"""Seconds that catching up is expected to take before it was done once."""
_ATTEMPTS = 10
"""How often changes are asked for where some transactions are still being committed."""
_MOST_LEFT = 100
"""So many transactions that change nothing of what is read are told again and again, at most."""
_WEIGHT = 0.3
"""Of the newest time in the expected one."""


class Follower:
    """Applies what changed to snapshots. Usable from several threads.

    Args:
        server: The database.

    Attributes:
        reason: Why the database is not followed, as a sentence for people; empty where it is.
        seconds: What catching up is expected to take.
        transactions: How many were applied by this follower.
        compactor: Makes worn arrays whole beside the queries.
    """

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server
        self._state = shared_state(server)
        self.compactor = Compactor(self._state)
        self._source: ChangeSource | None = None
        self._since: DatabaseVersion | None = None
        self._keys: dict[bool, frozenset[str]] = {True: frozenset(), False: frozenset()}
        self.reason = "no snapshot was read yet"
        self.seconds = _FIRST_GUESS
        self.transactions = 0

    @property
    def follows(self) -> bool:
        """Whether changes can be asked for."""
        return self._since is not None

    @property
    def described(self) -> str:
        """What tells the changes; empty where nothing does."""
        return "" if self._source is None or self._since is None else self._source.described

    # ------------------------------------------------------------------ following
    def begin(self, loaded: LoadedGraph | None = None) -> None:
        """Has changes recorded from now on: before a snapshot is read that is to follow.

        Args:
            loaded: The snapshot that there is, whose columns' values are to be told.

        Raises:
            SourceError: The server cannot be asked.
        """
        self._since = None
        part = self._server.projection
        if part.labels is not None or part.types is not None:
            self.reason = "changes are not applied to a snapshot of some labels or types only"
            return
        source = self._source = self._server.change_source()
        if source is None:
            self.reason = "the server does not tell what changed"
            return
        self._keys = {True: frozenset(), False: frozenset()}
        self._follow(source, loaded)

    def _follow(self, source: ChangeSource, loaded: LoadedGraph | None) -> None:
        keys = self._wanted(loaded)
        try:
            found = source.follow(sorted(keys[True]), sorted(keys[False]))
        except SourceError as error:  # whoever reads next finds out whether the server is there
            self.lost(first_line(error))
            return
        if isinstance(found, ChangeGap):
            self.lost(found.reason)
            return
        self._keys, self._since, self.reason = keys, found, ""

    def _wanted(self, loaded: LoadedGraph | None) -> dict[bool, frozenset[str]]:
        if loaded is None:
            return self._keys
        graph = loaded.graph
        return {
            of_nodes: self._keys[of_nodes] | _keys_of(store)
            for of_nodes, store in (
                (True, graph.node_properties),
                (False, graph.relationship_properties),
            )
        }

    def want(self, of_nodes: frozenset[str], of_relationships: frozenset[str]) -> None:
        """Has the values of more properties told from now on: before they are read."""
        source, before = self._source, self._keys
        if source is None or not self.follows:
            return
        if of_nodes <= before[True] and of_relationships <= before[False]:
            return
        self._keys = {
            True: before[True] | of_nodes,
            False: before[False] | of_relationships,
        }
        self._follow(source, None)

    def lost(self, reason: str) -> None:
        """The changes are not known: a snapshot has to be read anew."""
        logger.info("changes are not known: %s", reason)
        self._since, self.reason = None, reason

    def may_concern(self, reads: Reads, since: DatabaseVersion, until: DatabaseVersion) -> bool:
        """Whether what is read may have changed from one state to another that was caught up to."""
        with self._state.lock:
            steps = self._state.touched.between(since, until)
        return steps is None or any(step.concerns(reads) for step in steps)

    def close(self) -> None:
        """Follows no more, and keeps nothing for others."""
        self._since, self.reason = None, "closed"
        self.compactor.close()
        self._state = SharedState()

    # ------------------------------------------------------------------ catching up
    def took(self, loaded: LoadedGraph) -> LoadedGraph:
        """A snapshot that was read: what others may go on from."""
        if self.follows:
            with self._state.lock:
                self._state.loaded = loaded
        return loaded

    @property
    def has_base(self) -> bool:
        """Whether somebody in this process has a snapshot of the database."""
        return self._state.loaded is not None

    def catch_up(
        self,
        loaded: LoadedGraph | None,
        until: DatabaseVersion | None,
        extra: ReadLater | None = None,
    ) -> LoadedGraph | None:
        """A snapshot of that state or a later one; None if it cannot be had by applying changes.

        Args:
            loaded: The snapshot that there is; others in this process may have a later one.
            until: A state that the database has been in; None: the newest one, which the changes
                tell with one question, where their source can.
            extra: Columns read since, to be brought to the same state.

        Raises:
            SourceError: The server cannot be asked.
        """
        found = self._caught_up(loaded, until, extra, None)
        return None if found is None else found.loaded

    def catch_up_for(self, loaded: LoadedGraph, reads: Reads | None) -> CaughtUp | None:
        """As `catch_up` to the newest state, if what changed up to it may concern what is read.

        Args:
            loaded: The snapshot that there is; others in this process may have a later one.
            reads: What is read; None: nobody knows.

        Raises:
            SourceError: The server cannot be asked.
        """
        return self._caught_up(loaded, None, None, reads)

    def _caught_up(
        self,
        loaded: LoadedGraph | None,
        until: DatabaseVersion | None,
        extra: ReadLater | None,
        reads: Reads | None,
    ) -> CaughtUp | None:
        source = self._source
        if source is None or not self.follows:
            return None
        started = time.perf_counter()
        with self._state.lock:
            base = self._state.newer(loaded) if extra is None else extra.loaded
            if base is None or base.version is None:
                return None
            if until is not None and base.version.database_id != until.database_id:
                self._gap("it is another database now, or was started anew")
                return None
            if extra is None and base.version == until:
                return CaughtUp(base, base.version)
            found = self._next(source, base, until, extra, reads)
            if found is not None:
                self._state.loaded = found.loaded
        if found is not None and found.loaded is not base:
            taken = time.perf_counter() - started
            self.seconds += _WEIGHT * (taken - self.seconds)
            self.compactor.look_at(found.loaded.graph)
        return found

    def changes(self, since: DatabaseVersion, until: DatabaseVersion) -> ChangeBatch | None:
        """What was committed since a state, up to that one at least; None where it is not known.

        Raises:
            SourceError: The server cannot be asked.
        """
        source = self._source
        if source is None or not self.follows or since.database_id != until.database_id:
            return None
        for _ in range(_ATTEMPTS):
            batch = source.changes_since(since, until)
            if isinstance(batch, ChangeGap):
                self.lost(batch.reason)
                return None
            if batch.version.transaction >= until.transaction:
                return batch if batch.touched is not None else None
        return None

    def _gap(self, reason: str) -> None:
        """With the lock held: nobody is to go on from the snapshot that there was."""
        self._state.loaded = None
        self.lost(reason)

    def _next(
        self,
        source: ChangeSource,
        base: LoadedGraph,
        until: DatabaseVersion | None,
        extra: ReadLater | None,
        reads: Reads | None,
    ) -> CaughtUp | None:
        assert base.version is not None
        graph = base.graph if extra is None else extra.graph()
        if self._wanted(base) != self._keys:
            self._follow(source, base)
        if not self.follows:
            return None
        first = source.changes_since(base.version, until)
        if isinstance(first, ChangeBatch) and reads is not None and extra is None:
            is_newest = first.is_newest and first.transaction_count <= _MOST_LEFT
            if is_newest and not touched_by(graph, first).concerns(reads):
                return CaughtUp(base, first.version)
        batch = told_or_read(self._server, source, graph, base.version, until, first)
        if isinstance(batch, ChangeGap):
            self._gap(batch.reason)
            return None
        if batch is None:
            return None
        if not learn_label_order(self._server, graph, batch):
            self._gap("labels that no node had together before, and none has now")
            return None
        if extra is None and batch.version.transaction == base.version.transaction:
            return CaughtUp(base, base.version)
        found = self._applied(base, graph, batch)
        return None if found is None else CaughtUp(found, batch.version)

    def _applied(
        self, base: LoadedGraph, graph: DataGraph, batch: ChangeBatch
    ) -> LoadedGraph | None:
        assert base.version is not None
        try:
            following = applied(graph, batch) if batch.transaction_count else graph
        except ChangesError as error:
            logger.warning("changes do not fit the snapshot: %s", error)
            self._gap(f"changes did not fit the snapshot: {error}")
            return None
        self._state.touched.add(base.version, batch.version, touched_by(graph, batch))
        self.transactions += batch.transaction_count
        return base.followed_by(following, batch.version, batch.transaction_count)


def _keys_of(store: PropertyStore) -> frozenset[str]:
    return frozenset(store.columns) if store.complete else store.loaded_keys
