"""Names that transactions touched: tells listeners and cached plans what may have changed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import ChangeBatch, DatabaseVersion
    from gpugda.query.reads import Reads

__all__ = ["ChangedNames", "ChangedNamesLog", "names_changed_by"]

_KEPT = 4096


@dataclass(frozen=True, slots=True)
class ChangedNames:
    """Names of what was created, deleted or changed.

    Args:
        labels: Labels of created and deleted nodes, and labels added or removed.
        types: Types of created and deleted relationships.
        keys: Keys of properties set or removed.
        nodes: True if a node was created or deleted, or a label was added or removed.
    """

    labels: frozenset[str]
    types: frozenset[str]
    keys: frozenset[str]
    nodes: bool

    def concerns(self, reads: Reads) -> bool:
        """True if the result of a query with these reads may have changed."""
        of_nodes = self.nodes and (reads.any_node or reads.any_key or self.labels & reads.labels)
        of_relationships = self.types and (reads.any_relationship or self.types & reads.types)
        of_keys = self.keys and (reads.any_key or self.keys & reads.keys)
        return bool(of_nodes or of_relationships or of_keys)


def names_changed_by(graph: DataGraph, batch: ChangeBatch) -> ChangedNames:
    """The names that a batch touches in the graph to which it applies."""
    labels = {name for names in batch.created_nodes.label_sets for name in names}
    labels.update(batch.labels.labels)
    ids = graph.external_ids
    if ids is not None and len(batch.deleted_nodes):
        places = np.searchsorted(ids.nodes, batch.deleted_nodes)
        labels.update(name for names in graph.labels_of(places) for name in names)
    created, deleted = batch.created_relationships, batch.deleted_relationships
    return ChangedNames(
        labels=frozenset(labels),
        types=frozenset((*created.type_names, *deleted.type_names)),
        keys=frozenset((*batch.node_properties, *batch.relationship_properties)),
        nodes=bool(
            batch.created_nodes.count or len(batch.deleted_nodes) or len(batch.labels.node_ids)
        ),
    )


@dataclass(slots=True, eq=False)
class ChangedNamesLog:
    """Log of the names touched between successive states; keeps the most recent ones."""

    _entries: deque[tuple[DatabaseVersion, DatabaseVersion, ChangedNames]] = field(
        default_factory=lambda: deque(maxlen=_KEPT)
    )

    def add(self, since: DatabaseVersion, until: DatabaseVersion, touched: ChangedNames) -> None:
        """Adds the step from one state to a later one."""
        self._entries.append((since, until, touched))

    def between(self, since: DatabaseVersion, until: DatabaseVersion) -> list[ChangedNames] | None:
        """The steps from one state to another; None if the log no longer has all of them."""
        found: list[ChangedNames] = []
        wanted = until
        for first, last, touched in reversed(list(self._entries)):
            if wanted == since:
                break
            if last == wanted:
                found.append(touched)
                wanted = first
        return found if wanted == since else None
