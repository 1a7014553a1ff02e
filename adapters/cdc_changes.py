"""Reads changes through change data capture (CDC) of Neo4j Enterprise and Aura.

A change has an identifier, from which later ones are requested, and the number of its transaction,
which is the bookmark's. So with each reported state an identifier is kept that is not later than
it: changes after the identifier with a larger transaction number are new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neo4j.exceptions import DriverError, Neo4jError

from gpugda.ports import ChangeGap, DatabaseVersion

from .bolt_bookmarks import bookmark_of
from .bolt_errors import is_broken_connection
from .cdc_events import events_of
from .change_events import net_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import neo4j

    from gpugda.ports import ChangeBatch

    from .bolt_connection import BoltConnection

__all__ = ["CapturedChanges", "captures_changes"]

_ASK_SECONDS = 600.0
_ROWS = 1_000
_MAX_EVENTS = 1_000_000
"""Beyond this, reading the graph again is cheaper than fetching changes one by one."""
_STATES_KEPT = 64
_CURRENT = "CALL db.cdc.current() YIELD id RETURN id"
_QUERY = "CALL db.cdc.query($after, []) YIELD id, txId, event RETURN id, txId AS transaction, event"


def captures_changes(connection: BoltConnection) -> bool:
    """True if change data capture is enabled, and the user may call it."""
    try:
        with connection.session() as session:
            return bool(list(session.run(connection.prefix(_CURRENT))))
    except (Neo4jError, DriverError):
        return False


@dataclass(frozen=True, slots=True)
class _Captured:
    """Changes read since an identifier."""

    rows: list[Mapping[str, Any]]
    version: DatabaseVersion


class CapturedChanges:
    """Implements `gpugda.ports.ChangeSource` by ``db.cdc.query``, in mode DIFF or FULL."""

    described = "change data capture"

    def __init__(self, connection: BoltConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._identifiers: OrderedDict[tuple[str, int], str] = OrderedDict()

    def follow(
        self, node_keys: Collection[str] = (), relationship_keys: Collection[str] = ()
    ) -> DatabaseVersion | ChangeGap:
        """Remembers the start of changes; the values of all keys are captured anyway."""
        with self._connection.check("asking for the newest change"):
            try:
                identifier = self._newest_change()
            except Neo4jError as error:
                return ChangeGap(f"changes are not captured: {error.message}")
        version = self._connection.probe()
        if version is None:
            return ChangeGap("the server does not report its newest transaction")
        # The change was the newest before this state was reached.
        self._keep(version, identifier)
        return version

    def changes_since(
        self, version: DatabaseVersion, until: DatabaseVersion | None = None
    ) -> ChangeBatch | ChangeGap:
        """The changes since a state, up to one that is probed first."""
        after = self._identifier_before(version)
        if after is None:
            return ChangeGap("changes since this state were not recorded")
        until = until or self._connection.probe()
        if until is None or until.database_id != version.database_id:
            return ChangeGap("the server was restarted, or it is a different database")
        with self._connection.check("asking for captured changes"):
            try:
                found = self._read(after, until)
            except Neo4jError as error:
                if is_broken_connection(error):
                    raise
                return ChangeGap(f"the captured changes cannot be read: {error.message}")
        return found if isinstance(found, ChangeGap) else self._batch(found, version, after)

    def _batch(
        self, captured: _Captured, version: DatabaseVersion, after: str
    ) -> ChangeBatch | ChangeGap:
        last = max(captured.version.transaction, version.transaction)
        rows = [row for row in captured.rows if row["transaction"] <= last]
        new = [row for row in rows if row["transaction"] > version.transaction]
        state = replace(version, transaction=last, bookmark=bookmark_of(version.database_id, last))
        events = events_of(new)
        if isinstance(events, ChangeGap):
            return events
        self._keep(state, str(rows[-1]["id"]) if rows else after)
        return net_changes(events, version.transaction, state)

    # -------------------------------------------------------------- identifiers
    def _keep(self, version: DatabaseVersion, identifier: str) -> None:
        with self._lock:
            self._identifiers[version.database_id, version.transaction] = identifier
            while len(self._identifiers) > _STATES_KEPT:
                self._identifiers.popitem(last=False)

    def _identifier_before(self, version: DatabaseVersion) -> str | None:
        """The identifier of the newest kept state that is not later than this one."""
        with self._lock:
            known = {
                transaction: identifier
                for (database, transaction), identifier in self._identifiers.items()
                if database == version.database_id and transaction <= version.transaction
            }
        return known[max(known)] if known else None

    # -------------------------------------------------------------- the server
    def _newest_change(self) -> str:
        with self._connection.session() as session:
            (record,) = list(session.run(self._connection.prefix(_CURRENT)))
            return str(record["id"])

    def _read(self, after: str, until: DatabaseVersion) -> _Captured | ChangeGap:
        """Changes after an identifier; the answering member first waits to reach that state."""
        query: Any = self._connection.prefix(_QUERY)
        rows: list[neo4j.Record] = []
        with (
            self._connection.session(bookmarks=until) as session,
            self._connection.watch(session, _ASK_SECONDS),
        ):
            result = session.run(query, {"after": after})
            while some := result.fetch(_ROWS):
                rows += some
                if len(rows) > _MAX_EVENTS:
                    return ChangeGap(f"more than {_MAX_EVENTS:,} changes were captured since")
        return _Captured([record.data() for record in rows], until)
