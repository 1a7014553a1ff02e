"""Changes with all values that the snapshot's columns need: told, or read by id and proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.column import constant_null
from gpugda.errors import StaleSnapshotError
from gpugda.ports import ChangeGap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.property_store import PropertyStore
    from gpugda.ports import (
        ChangeBatch,
        ChangeSource,
        DatabaseServer,
        DatabaseVersion,
        PropertyChanges,
    )

__all__ = ["told_or_read"]

_ATTEMPTS = 3
_MOST_READ = 20_000
"""Nodes or relationships of which values are read by id; of more the whole property is, later."""

_Changes = dict[str, "PropertyChanges"]


def told_or_read(
    server: DatabaseServer,
    source: ChangeSource,
    graph: DataGraph,
    since: DatabaseVersion,
    until: DatabaseVersion | None,
    first: ChangeBatch | ChangeGap,
) -> ChangeBatch | ChangeGap | None:
    """What changed; a value that is neither told nor could be read of that state stays untold.

    None where the state that is wanted is not reached: some transactions are still being committed.

    Args:
        server: Where values are read that the changes do not carry.
        source: Tells the changes.
        graph: Whose columns are to be brought up to date.
        since: The graph's state.
        until: The state that is wanted; if values have to be read, it may be a later one. None: the
            newest one.
        first: What the source said of that already.

    Raises:
        SourceError: The server cannot be asked.
    """
    batch = first
    for _ in range(_ATTEMPTS):
        if isinstance(batch, ChangeGap):
            return batch
        if not _reaches(batch, until):
            return None
        of_nodes = _untold(graph.node_properties, batch.node_properties)
        of_relationships = _untold(graph.relationship_properties, batch.relationship_properties)
        if not (of_nodes or of_relationships):
            return batch
        found = _read(server, batch, of_nodes, of_relationships)
        # What was read is of the batch's state or of a later one: of that one, if it is the newest.
        now = server.probe()
        if found is not None and now == batch.version:
            return found
        if now is None:
            return batch
        until = now
        batch = source.changes_since(since, now)
    return batch if isinstance(batch, ChangeGap) or _reaches(batch, until) else None


def _reaches(batch: ChangeBatch, until: DatabaseVersion | None) -> bool:
    if until is None:
        return batch.is_newest
    return batch.version.transaction >= until.transaction


def _untold(store: PropertyStore, changes: Mapping[str, PropertyChanges]) -> _Changes:
    state = store.state()
    return {
        key: change
        for key, change in changes.items()
        if change.values is None and len(change.ids) and (state.read is None or key in state.read)
    }


def _read(
    server: DatabaseServer, batch: ChangeBatch, of_nodes: _Changes, of_relationships: _Changes
) -> ChangeBatch | None:
    """None where there is too much to read, or something was deleted meanwhile."""
    try:
        nodes = _values(server, batch.version, of_nodes, of_nodes=True)
        relationships = _values(server, batch.version, of_relationships, of_nodes=False)
    except StaleSnapshotError:
        return None
    if nodes is None or relationships is None:
        return None
    return replace(
        batch,
        node_properties={**batch.node_properties, **nodes},
        relationship_properties={**batch.relationship_properties, **relationships},
    )


def _values(
    server: DatabaseServer, version: DatabaseVersion, changes: _Changes, *, of_nodes: bool
) -> _Changes | None:
    if not changes:
        return {}
    ids = np.unique(np.concatenate([change.ids for change in changes.values()]))
    if len(ids) > _MOST_READ:
        return None
    columns = server.read_properties(sorted(changes), ids, version, of_nodes=of_nodes)
    return {
        key: replace(change, values=columns[key].take(np.searchsorted(ids, change.ids)))
        for key, change in changes.items()
        if key in columns
    } | {key: _removed(change) for key, change in changes.items() if key not in columns}


def _removed(change: PropertyChanges) -> PropertyChanges:
    """Nothing has the property any more."""
    return replace(change, values=constant_null(len(change.ids)))
