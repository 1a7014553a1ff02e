"""Reads changes that gpugda's plugin recorded in the server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from neo4j.exceptions import DriverError, Neo4jError

from gpugda.ports import ChangeGap, DatabaseVersion

from .bolt_bookmarks import bookmark_of
from .bolt_errors import is_broken_connection
from .change_events import ChangeEvents, EntityEvents, PropertyEvents, net_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from gpugda.ports import ChangeBatch

    from .bolt_connection import BoltConnection

__all__ = ["PluginChanges"]

_WAIT_MILLISECONDS = 200
"""Maximum wait for committing transactions, which usually take one or two."""
_ASK_SECONDS = 60.0
_DOING = "asking gpugda's plugin for changes"
_REFUSALS = ("Neo.ClientError.Procedure.ProcedureNotFound", "Neo.ClientError.Security.Forbidden")
# In the order of the plugin's Section, with the count of numbers per entry.
_SECTIONS = {
    "createdNodes": 1,
    "deletedNodes": 1,
    "labels": 2,
    "createdRelationships": 4,
    "deletedRelationships": 4,
    "nodeProperties": 2,
    "relationshipProperties": 2,
}


@dataclass(frozen=True, slots=True)
class _Followed:
    """Identity of the recording: one start of one database."""

    instance: str
    database_id: str


class PluginChanges:
    """Implements `gpugda.ports.ChangeSource` through the plugin's procedures."""

    def __init__(self, connection: BoltConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._followed: _Followed | None = None

    @property
    def described(self) -> str:
        """Description for users."""
        return f"gpugda's plugin {self._connection.facts.plugin}".rstrip()

    def follow(
        self, node_keys: Collection[str] = (), relationship_keys: Collection[str] = ()
    ) -> DatabaseVersion | ChangeGap:
        """Starts recording of changes."""
        found = self._ask(
            "CALL gpugda.follow($nodeKeys, $relationshipKeys)",
            {"nodeKeys": sorted(node_keys), "relationshipKeys": sorted(relationship_keys)},
        )
        if isinstance(found, ChangeGap):
            return found
        row, version = found
        if row["refused"]:
            return ChangeGap(str(row["refused"]))
        with self._lock:
            self._followed = _Followed(str(row["instance"]), version.database_id)
        return _at(version, int(row["since"]))

    def changes_since(
        self, version: DatabaseVersion, until: DatabaseVersion | None = None
    ) -> ChangeBatch | ChangeGap:
        """The changes since a state."""
        with self._lock:
            followed = self._followed
        if followed is None:
            return ChangeGap("changes were not recorded")
        if version.database_id != followed.database_id:
            return ChangeGap("the server was restarted, or it is a different database")
        parameters = {
            "instance": followed.instance,
            "since": version.transaction,
            "until": 0 if until is None else until.transaction,
            "wait": _WAIT_MILLISECONDS,
        }
        found = self._ask("CALL gpugda.changes($instance, $since, $until, $wait)", parameters)
        if isinstance(found, ChangeGap):
            return found
        row, now = found
        if now.database_id != version.database_id:
            return ChangeGap("the server was restarted")
        if row["gap"]:
            return ChangeGap(str(row["gap"]))
        last = max(int(row["last"]), version.transaction)
        batch = net_changes(_events(row), version.transaction, _at(version, last))
        # An older plugin does not report it; the state at the end of the answer is an upper bound.
        newest = int(row.get("newest", now.transaction))
        # Old facts call for a probe, which checks the user's privileges again.
        is_newest = last >= newest and not self._connection.facts_may_be_old
        return replace(batch, is_newest=is_newest)

    def _ask(
        self, text: str, parameters: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], DatabaseVersion] | ChangeGap:
        """The only row of an answer, and the state in which it was given."""
        with self._connection.check(_DOING):
            try:
                found = self._ask_once(text, parameters)
            except (Neo4jError, DriverError) as error:
                if getattr(error, "code", None) in _REFUSALS:
                    return ChangeGap("the plugin was removed, or the user may not call it")
                # Pooled connections do not survive a restart of the server.
                if not is_broken_connection(error):
                    raise
                found = self._ask_once(text, parameters)
        return found or ChangeGap("the server does not report its newest transaction")

    def _ask_once(
        self, text: str, parameters: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], DatabaseVersion] | None:
        query: Any = self._connection.prefix(text)
        with (
            self._connection.session(bulk=True) as session,
            self._connection.watch(session, _ASK_SECONDS),
        ):
            result = session.run(query, dict(parameters))
            link = self._connection.link_of(session)
            record: Any
            (record,) = list(result)
            version = self._connection.version_in_answer(session, link)
        # A record looks up each name among its keys.
        return None if version is None else (dict(record.items()), version)


def _at(version: DatabaseVersion, transaction: int) -> DatabaseVersion:
    """The same database at another transaction."""
    bookmark = bookmark_of(version.database_id, transaction)
    return replace(version, transaction=transaction, bookmark=bookmark)


# ------------------------------------------------------------------ decoding
def _events(row: Mapping[str, Any]) -> ChangeEvents:
    counts = np.frombuffer(row["counts"], "<i8").reshape(-1, len(_SECTIONS))
    sections = {
        name: _section(row[name], width, counts[:, place])
        for place, (name, width) in enumerate(_SECTIONS.items())
    }
    # Positions in the list of names: the server's codes may be much larger than their number here.
    names = list(row["names"])
    codes = np.array([row["names"][name] for name in names], dtype=np.int64)
    order = np.argsort(codes)
    places = _Places(codes[order], order)
    labels = sections["labels"]
    return ChangeEvents(
        transaction_count=len(counts),
        names=names,
        created_nodes=EntityEvents(sections["createdNodes"][0], sections["createdNodes"][1][:, 0]),
        deleted_nodes=EntityEvents(sections["deletedNodes"][0], sections["deletedNodes"][1][:, 0]),
        labels=EntityEvents(labels[0], labels[1][:, 0], codes=places.signed(labels[1][:, 1])),
        created_relationships=_relationships(*sections["createdRelationships"], places),
        deleted_relationships=_relationships(*sections["deletedRelationships"], places),
        node_properties=_properties(
            *sections["nodeProperties"], places, row["nodeValues"], names, row["nodeKeys"]
        ),
        relationship_properties=_properties(
            *sections["relationshipProperties"],
            places,
            row["relationshipValues"],
            names,
            row["relationshipKeys"],
        ),
    )


def _section(
    packed: bytes, width: int, counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per entry of a section, the number of its transaction; and the entries."""
    if not packed:
        return _NO_STEPS, _NO_STEPS.reshape(0, width)
    steps = np.repeat(np.arange(len(counts)), counts)
    return steps, np.frombuffer(packed, "<i8").reshape(-1, width)


_NO_STEPS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Maps the server's codes to positions in the list of names."""

    codes: NDArray[np.int64]
    order: NDArray[np.intp]

    def of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of known codes."""
        if not len(codes):
            return codes
        return self.order[np.searchsorted(self.codes, codes)].astype(np.int64)

    def signed(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Like `of`, for codes or -1 - code."""
        if not len(codes):
            return codes
        places = self.of(np.where(codes < 0, -1 - codes, codes))
        return np.where(codes < 0, -1 - places, places)


def _relationships(
    steps: NDArray[np.int64], rows: NDArray[np.int64], places: _Places
) -> EntityEvents:
    return EntityEvents(steps, rows[:, 0], rows[:, 1], rows[:, 2], places.of(rows[:, 3]))


def _properties(
    steps: NDArray[np.int64],
    rows: NDArray[np.int64],
    places: _Places,
    values: list[Any],
    names: list[str],
    keys: Collection[str],
) -> PropertyEvents:
    if not len(rows):
        return _NO_PROPERTIES
    codes = places.signed(rows[:, 1])
    recorded = codes < 0
    numbers = np.where(recorded, np.cumsum(recorded) - 1, -1)
    if len(values) != int(recorded.sum()):
        numbers = np.full(len(rows), -1, dtype=np.int64)  # this user may not see values
    known = set(keys)
    return PropertyEvents(
        steps=steps,
        ids=rows[:, 0],
        codes=np.where(recorded, -1 - codes, codes),
        places=numbers,
        values=values,
        complete=frozenset(place for place, name in enumerate(names) if name in known),
    )


_NO_PROPERTIES = PropertyEvents(_NO_STEPS, _NO_STEPS, _NO_STEPS, _NO_STEPS, (), frozenset())
