"""The newest state of a database that is known in this process, shared by all who ask for it."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gpugda.live.touched import TouchedLog

if TYPE_CHECKING:
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion

__all__ = ["SharedState", "shared_state"]


@dataclass(slots=True, eq=False, weakref_slot=True)
class SharedState:
    """Of one server, database, user and projection.

    Args:
        lock: Held while changes are asked for and applied, so that it is done once.
        loaded: The newest snapshot, if somebody follows the database.
        touched: What was touched on the way to it.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded: LoadedGraph | None = None
    touched: TouchedLog = field(default_factory=TouchedLog)

    def newer(self, than: LoadedGraph | None) -> LoadedGraph | None:
        """The snapshot that is here if it is of a later state of the same database, else that."""
        ours = self.loaded
        if ours is None or ours.version is None:
            return than
        if than is None or than.version is None:
            return ours
        return ours if _is_later(ours.version, than.version) else than


def _is_later(one: DatabaseVersion, other: DatabaseVersion) -> bool:
    return one.database_id == other.database_id and one.transaction > other.transaction


_states: Final[weakref.WeakValueDictionary[object, SharedState]] = weakref.WeakValueDictionary()
_lock: Final = threading.Lock()


def shared_state(server: DatabaseServer) -> SharedState:
    """The one of all who ask the same database as the same user; kept as long as one holds it."""
    facts = server.facts
    key = (
        facts.address,
        facts.database,
        facts.database_id,
        facts.user,
        facts.impersonated_user,
        server.projection,
    )
    with _lock:
        found = _states.get(key)
        if found is None:
            found = _states[key] = SharedState()
        return found
