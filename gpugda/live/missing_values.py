"""Completes changes by values that they do not include: reads these by id, with proof of state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.values.column import constant_null
from gpugda.errors import StaleSnapshotError
from gpugda.ports import ChangeGap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import PropertyStore
    from gpugda.ports import (
        ChangeBatch,
        ChangeSource,
        DatabaseServer,
        DatabaseVersion,
        PropertyChanges,
    )

__all__ = ["complete_changes"]

_ATTEMPTS = 3
_MAX_READ = 20_000
"""Maximum number of nodes or relationships read by id; beyond it, whole columns are read later."""

_Changes = dict[str, "PropertyChanges"]


def complete_changes(
    server: DatabaseServer,
    source: ChangeSource,
    graph: DataGraph,
    since: DatabaseVersion,
    until: DatabaseVersion | None,
    first: ChangeBatch | ChangeGap,
) -> ChangeBatch | ChangeGap | None:
    """The changes; values that are neither included nor could be read of that state stay unknown.

    None if the wanted state is not reached: some transactions are still being committed.

    Args:
        server: Server from which missing values are read.
        source: The change source.
        graph: The graph whose columns are to be brought up to date.
        since: The graph's state.
        until: The wanted state; if values must be read, the result may be of a later one. None:
            the newest one.
        first: The source's first answer.

    Raises:
        SourceError: The server cannot be reached.
    """
    batch = first
    for _ in range(_ATTEMPTS):
        if isinstance(batch, ChangeGap):
            return batch
        if not _reaches(batch, until):
            return None
        of_nodes = _without_values(graph.node_properties, batch.node_properties)
        of_relationships = _without_values(
            graph.relationship_properties, batch.relationship_properties
        )
        if not (of_nodes or of_relationships):
            return batch
        found = _read(server, batch, of_nodes, of_relationships)
        # The values belong to the batch's state or a later one: to that one, if it is the newest.
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


def _without_values(store: PropertyStore, changes: Mapping[str, PropertyChanges]) -> _Changes:
    state = store.state()
    return {
        key: change
        for key, change in changes.items()
        if change.values is None and len(change.ids) and (state.read is None or key in state.read)
    }


def _read(
    server: DatabaseServer, batch: ChangeBatch, of_nodes: _Changes, of_relationships: _Changes
) -> ChangeBatch | None:
    """None if there is too much to read, or something was deleted meanwhile."""
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
    ids = unique_values(np.concatenate([change.ids for change in changes.values()]))
    if len(ids) > _MAX_READ:
        return None
    columns = server.read_properties(sorted(changes), ids, version, of_nodes=of_nodes)
    return {
        key: replace(change, values=columns[key].take(np.searchsorted(ids, change.ids)))
        for key, change in changes.items()
        if key in columns
    } | {key: _removed(change) for key, change in changes.items() if key not in columns}


def _removed(change: PropertyChanges) -> PropertyChanges:
    """The change with null as every new value."""
    return replace(change, values=constant_null(len(change.ids)))
