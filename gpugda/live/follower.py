"""Follows a database whose change source reports what its transactions changed; see ADR 0008."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from gpugda.data.increments.apply import applied
from gpugda.data.increments.changes import ChangesError
from gpugda.errors import SourceError
from gpugda.live.catching_up import CatchUpResult
from gpugda.live.changed_names import names_changed_by
from gpugda.live.compacting import Compactor
from gpugda.live.label_order import learn_label_order
from gpugda.live.missing_values import complete_changes
from gpugda.live.shared import SharedState, shared_state
from gpugda.ports import ChangeBatch, ChangeGap
from gpugda.types import first_line

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import PropertyStore
    from gpugda.live.catching_up import LateColumns
    from gpugda.loading import LoadedGraph
    from gpugda.ports import ChangeSource, DatabaseServer, DatabaseVersion
    from gpugda.query.reads import Reads

__all__ = ["Follower"]

logger = logging.getLogger(__name__)

_FIRST_GUESS = 0.01
"""Expected seconds of catching up, until one was measured."""
_ATTEMPTS = 10
"""Maximum number of requests for changes while some transactions are still being committed."""
_MAX_UNAPPLIED = 100
"""Up to this many irrelevant transactions are requested again each time instead of applied."""
_WEIGHT = 0.3
"""Weight of the newest measurement in the expected seconds."""


class Follower:
    """Applies changes to snapshots; thread-safe.

    Args:
        server: The database server.

    Attributes:
        reason: Why the database is not followed, as a sentence for users; empty if it is.
        seconds: Expected seconds of catching up.
        transactions: The number of transactions that this follower applied.
        compactor: Compacts heavily patched arrays in the background.
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
        """True if changes can be requested."""
        return self._since is not None

    @property
    def described(self) -> str:
        """Description of the change source; empty without one."""
        return "" if self._source is None or self._since is None else self._source.described

    # ------------------------------------------------------------------ following
    def begin(self, loaded: LoadedGraph | None = None) -> None:
        """Starts recording of changes; must be called before the snapshot to follow is read.

        Args:
            loaded: The current snapshot; changes must include values of its columns.

        Raises:
            SourceError: The server cannot be reached.
        """
        self._since = None
        part = self._server.projection
        if part.labels is not None or part.types is not None:
            self.reason = "changes cannot be applied to a snapshot of only some labels or types"
            return
        source = self._source = self._server.change_source()
        if source is None:
            self.reason = "the server does not report changes"
            return
        self._keys = {True: frozenset(), False: frozenset()}
        self._follow(source, loaded)

    def _follow(self, source: ChangeSource, loaded: LoadedGraph | None) -> None:
        keys = self._wanted(loaded)
        try:
            found = source.follow(sorted(keys[True]), sorted(keys[False]))
        except SourceError as error:  # the next read reports whether the server is reachable
            self.stop_following(first_line(error))
            return
        if isinstance(found, ChangeGap):
            self.stop_following(found.reason)
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

    def include_values(self, of_nodes: frozenset[str], of_relationships: frozenset[str]) -> None:
        """Includes more properties' values in changes from now on; call it before reading them."""
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

    def stop_following(self, reason: str) -> None:
        """Stops following: changes are unknown, so a snapshot must be read again."""
        logger.info("changes are unknown: %s", reason)
        self._since, self.reason = None, reason

    def may_affect(self, reads: Reads, since: DatabaseVersion, until: DatabaseVersion) -> bool:
        """True if ``reads`` may have changed between two states that were caught up to."""
        with self._state.lock:
            steps = self._state.touched.between(since, until)
        return steps is None or any(step.concerns(reads) for step in steps)

    def close(self) -> None:
        """Stops following, and releases all shared state."""
        self._since, self.reason = None, "closed"
        self.compactor.close()
        self._state = SharedState()

    # ------------------------------------------------------------------ catching up
    def publish(self, loaded: LoadedGraph) -> LoadedGraph:
        """Publishes a snapshot that was read as the base of later ones; returns it."""
        if self.follows:
            with self._state.lock:
                self._state.loaded = loaded
        return loaded

    @property
    def has_snapshot(self) -> bool:
        """True if this process has a snapshot of the database."""
        return self._state.loaded is not None

    def catch_up(
        self,
        loaded: LoadedGraph | None,
        until: DatabaseVersion | None,
        extra: LateColumns | None = None,
    ) -> LoadedGraph | None:
        """A snapshot of that state or a later one; None if applying changes cannot reach it.

        Args:
            loaded: The current snapshot; this process may hold a later one.
            until: A state that the database has been in; None: the newest one, which the changes
                report in the same request, if their source can.
            extra: Columns read since, to bring to the same state.

        Raises:
            SourceError: The server cannot be reached.
        """
        found = self._caught_up(loaded, until, extra, None)
        return None if found is None else found.loaded

    def catch_up_for(self, loaded: LoadedGraph, reads: Reads | None) -> CatchUpResult | None:
        """Like `catch_up` to the newest state, but only if its changes may affect ``reads``.

        Args:
            loaded: The current snapshot; this process may hold a later one.
            reads: What the query reads; None: unknown.

        Raises:
            SourceError: The server cannot be reached.
        """
        return self._caught_up(loaded, None, None, reads)

    def _caught_up(
        self,
        loaded: LoadedGraph | None,
        until: DatabaseVersion | None,
        extra: LateColumns | None,
        reads: Reads | None,
    ) -> CatchUpResult | None:
        source = self._source
        if source is None or not self.follows:
            return None
        started = time.perf_counter()
        with self._state.lock:
            base = self._state.newer(loaded) if extra is None else extra.loaded
            if base is None or base.version is None:
                return None
            if until is not None and base.version.database_id != until.database_id:
                self._gap("it is a different database now, or the server was restarted")
                return None
            if extra is None and base.version == until:
                return CatchUpResult(base, base.version)
            found = self._next(source, base, until, extra, reads)
            if found is not None:
                self._state.loaded = found.loaded
        if found is not None and found.loaded is not base:
            taken = time.perf_counter() - started
            self.seconds += _WEIGHT * (taken - self.seconds)
            self.compactor.start_if_it_pays(found.loaded.graph)
        return found

    def changes(self, since: DatabaseVersion, until: DatabaseVersion) -> ChangeBatch | None:
        """The changes since a state, up to ``until`` at least; None if they are unknown.

        Raises:
            SourceError: The server cannot be reached.
        """
        source = self._source
        if source is None or not self.follows or since.database_id != until.database_id:
            return None
        for _ in range(_ATTEMPTS):
            batch = source.changes_since(since, until)
            if isinstance(batch, ChangeGap):
                self.stop_following(batch.reason)
                return None
            if batch.version.transaction >= until.transaction:
                return batch if batch.touched is not None else None
        return None

    def _gap(self, reason: str) -> None:
        """Drops the shared snapshot, so that no one continues from it. Needs the lock."""
        self._state.loaded = None
        self.stop_following(reason)

    def _next(
        self,
        source: ChangeSource,
        base: LoadedGraph,
        until: DatabaseVersion | None,
        extra: LateColumns | None,
        reads: Reads | None,
    ) -> CatchUpResult | None:
        assert base.version is not None
        graph = base.graph if extra is None else extra.graph()
        if self._wanted(base) != self._keys:
            self._follow(source, base)
        if not self.follows:
            return None
        first = source.changes_since(base.version, until)
        if isinstance(first, ChangeBatch) and reads is not None and extra is None:
            is_newest = first.is_newest and first.transaction_count <= _MAX_UNAPPLIED
            if is_newest and not names_changed_by(graph, first).concerns(reads):
                return CatchUpResult(base, first.version)
        batch = complete_changes(self._server, source, graph, base.version, until, first)
        if isinstance(batch, ChangeGap):
            self._gap(batch.reason)
            return None
        if batch is None:
            return None
        if not learn_label_order(self._server, graph, batch):
            self._gap("the order of labels that no node had together before cannot be found")
            return None
        if extra is None and batch.version.transaction == base.version.transaction:
            return CatchUpResult(base, base.version)
        found = self._applied(base, graph, batch)
        return None if found is None else CatchUpResult(found, batch.version)

    def _applied(
        self, base: LoadedGraph, graph: DataGraph, batch: ChangeBatch
    ) -> LoadedGraph | None:
        assert base.version is not None
        try:
            following = applied(graph, batch) if batch.transaction_count else graph
        except ChangesError as error:
            logger.warning("changes do not match the snapshot: %s", error)
            self._gap(f"changes did not match the snapshot: {error}")
            return None
        self._state.touched.add(base.version, batch.version, names_changed_by(graph, batch))
        self.transactions += batch.transaction_count
        return base.followed_by(following, batch.version, batch.transaction_count)


def _keys_of(store: PropertyStore) -> frozenset[str]:
    return frozenset(store.columns) if store.complete else store.loaded_keys
