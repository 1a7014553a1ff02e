"""The newest state of a database known in this process, shared by all its sessions."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gpugda.live.changed_names import ChangedNamesLog

if TYPE_CHECKING:
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion

__all__ = ["SharedState", "shared_state"]


@dataclass(slots=True, eq=False, weakref_slot=True)
class SharedState:
    """Shared state for one server, database, user and projection.

    Args:
        lock: Held while changes are requested and applied, so that this happens once.
        loaded: The newest snapshot, if the database is followed.
        touched: Log of what the applied changes touched.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded: LoadedGraph | None = None
    touched: ChangedNamesLog = field(default_factory=ChangedNamesLog)

    def newer(self, than: LoadedGraph | None) -> LoadedGraph | None:
        """The later of the shared snapshot and ``than``; ``than`` for different databases."""
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
    """The state shared by all that use this database as the same user; held weakly."""
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
