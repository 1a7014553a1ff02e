"""Computes the net changes between two states from the events of successive transactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.columns import column_from_values
from gpugda.errors import SourceError
from gpugda.ports import ChangeBatch, LabelChanges, PropertyChanges, TouchedEntities

from .bolt_values import refuse_vectors
from .bolt_zones import in_unknown_zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.column import Column
    from gpugda.ports import DatabaseVersion

__all__ = ["ChangeEvents", "EntityEvents", "PropertyEvents", "net_changes"]


@dataclass(frozen=True, slots=True, eq=False)
class EntityEvents:
    """Creations or deletions, in order of transactions.

    Args:
        steps: ``int64``: number of the transaction, counted in order.
        ids: ``int64``: ids of the nodes or relationships.
        sources: Start nodes, for relationships.
        targets: End nodes, for relationships.
        codes: Types, for relationships, as positions in `ChangeEvents.names`.
    """

    steps: NDArray[np.int64]
    ids: NDArray[np.int64]
    sources: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    targets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class PropertyEvents:
    """Properties set or removed, in order of transactions.

    Args:
        steps: As in `EntityEvents`.
        ids: Ids of the nodes or relationships.
        codes: Keys, as positions in the names.
        places: Position in ``values``, -1 if the value was not recorded.
        values: Recorded values; null if removed.
        complete: Codes of the keys all of whose values were recorded.
    """

    steps: NDArray[np.int64]
    ids: NDArray[np.int64]
    codes: NDArray[np.int64]
    places: NDArray[np.int64]
    values: Sequence[Any]
    complete: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class ChangeEvents:
    """The events of some successive transactions.

    Args:
        transaction_count: The number of transactions.
        names: Names of labels, types and keys.
        created_nodes: Created nodes; their labels are in ``labels``.
        deleted_nodes: Deleted nodes; removals of their labels and properties are not listed.
        labels: ``codes`` are labels, or -1 - label for a removal; ``sources`` are unused.
        created_relationships: Created relationships with ends and types.
        deleted_relationships: Deleted relationships with ends and types.
        node_properties: Property events, including those of created nodes.
        relationship_properties: Property events, including those of created relationships.
    """

    transaction_count: int
    names: Sequence[str]
    created_nodes: EntityEvents
    deleted_nodes: EntityEvents
    labels: EntityEvents
    created_relationships: EntityEvents
    deleted_relationships: EntityEvents
    node_properties: PropertyEvents
    relationship_properties: PropertyEvents


def net_changes(events: ChangeEvents, since: int, version: DatabaseVersion) -> ChangeBatch:
    """The difference between the states before and after."""
    nodes = _Lifetimes(events.created_nodes, events.deleted_nodes)
    relationships = _Lifetimes(events.created_relationships, events.deleted_relationships)
    created, labels, on_the_way = _labels(events, nodes)
    return ChangeBatch(
        since=since,
        version=version,
        transaction_count=events.transaction_count,
        created_nodes=created,
        deleted_nodes=events.deleted_nodes.ids[nodes.gone],
        labels=labels,
        created_relationships=_relationships(
            events.created_relationships, relationships.new, events.names
        ),
        deleted_relationships=_relationships(
            events.deleted_relationships, relationships.gone, events.names
        ),
        node_properties=_properties(events.node_properties, nodes, events.names),
        relationship_properties=_properties(
            events.relationship_properties, relationships, events.names
        ),
        touched=TouchedEntities(
            np.union1d(events.created_nodes.ids, events.deleted_nodes.ids),
            np.union1d(events.created_relationships.ids, events.deleted_relationships.ids),
            on_the_way,
        ),
    )


class _Lifetimes:
    """Lifetimes of the ids that were created or deleted.

    Attributes:
        new: Rows of the creations that last to the end, by increasing id.
        gone: Rows of the deletions of entities that existed before, by increasing id.
    """

    def __init__(self, created: EntityEvents, deleted: EntityEvents) -> None:
        ids = np.concatenate([created.ids, deleted.ids])
        # An id is deleted before it is reused, and by different transactions; an entity deleted and
        # created by the same one is ordered this way.
        steps = 2 * np.concatenate([created.steps, deleted.steps])
        steps[: len(created.ids)] += 1
        order = np.lexsort((steps, ids))
        sorted_ids = ids[order]
        starts = np.flatnonzero(np.r_[True, sorted_ids[1:] != sorted_ids[:-1]][: len(ids)])
        ends = np.r_[starts[1:], len(ids)][: len(starts)] - 1
        first, last = order[starts], order[ends]
        self.new = last[last < len(created.ids)]
        self.gone = first[first >= len(created.ids)] - len(created.ids)
        self._ids = sorted_ids[starts]
        # Events of an id count from its last creation on; those of a deleted one do not count.
        self._since = np.where(
            last < len(created.ids), np.r_[created.steps, deleted.steps][last], _NEVER
        )
        self._new = last < len(created.ids)

    def counts(self, ids: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """``bool`` per event: True if it still applies to the entity with that id at the end."""
        found, known = self._find(ids)
        return np.logical_or(np.logical_not(known), steps >= self._since[found])

    def is_new(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """``bool`` per id: True if the entity was created meanwhile."""
        found, known = self._find(ids)
        new: NDArray[np.bool_] = known & self._new[found]
        return new

    def _find(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if len(self._ids) == 0:
            self._ids = np.array([-1], dtype=np.int64)
            self._since = np.array([_NEVER], dtype=np.int64)
            self._new = np.zeros(1, dtype=np.bool_)
        places = np.searchsorted(self._ids, ids)
        places[places == len(self._ids)] = 0
        return places, np.equal(self._ids[places], ids)


_NEVER = np.iinfo(np.int64).max


def _last_of(keys: Sequence[NDArray[np.int64]], steps: NDArray[np.int64]) -> NDArray[np.intp]:
    """The row of the last step for each combination of keys, sorted by the keys."""
    order = np.lexsort((steps, *reversed(keys)))
    if len(order) == 0:
        return order
    differs = np.zeros(len(order) - 1, dtype=np.bool_)
    for key in keys:
        differs |= key[order[1:]] != key[order[:-1]]
    return order[np.r_[differs, True]]


# ------------------------------------------------------------------ nodes
def _labels(
    events: ChangeEvents, nodes: _Lifetimes
) -> tuple[NodeBatch, LabelChanges, LabelChanges]:
    """The created nodes, net label changes of the others, and all label events of the others."""
    given = events.labels
    label = np.where(given.codes < 0, -1 - given.codes, given.codes)
    counted = np.flatnonzero(nodes.counts(given.ids, given.steps))
    keys, steps = (given.ids[counted], label[counted]), given.steps[counted]
    rows, firsts = counted[_last_of(keys, steps)], counted[_last_of(keys, -steps)]
    # If the first and last events of a label differ, the label is as before.
    changed = (given.codes[rows] < 0) == (given.codes[firsts] < 0)
    ids, added, label = given.ids[rows], given.codes[rows] >= 0, label[rows]
    new = nodes.is_new(ids)
    has = new & added & changed
    created = _created_nodes(
        events.created_nodes.ids[nodes.new], ids[has], label[has], events.names
    )
    found = []
    for some in (changed & ~new, ~new):
        codes, names = _recoded(label[some], events.names)
        found.append(LabelChanges(ids[some], codes, added[some], names))
    return created, found[0], found[1]


def _created_nodes(
    ids: NDArray[np.int64],
    labelled: NDArray[np.int64],
    labels: NDArray[np.int64],
    names: Sequence[str],
) -> NodeBatch:
    """Nodes by increasing id; ``labelled`` is sorted."""
    bounds = np.searchsorted(labelled, ids), np.searchsorted(labelled, ids, side="right")
    known: dict[tuple[int, ...], int] = {}
    codes = np.empty(len(ids), dtype=np.int32)
    listed = labels.tolist()
    for row, (start, end) in enumerate(zip(bounds[0].tolist(), bounds[1].tolist(), strict=True)):
        codes[row] = known.setdefault(tuple(listed[start:end]), len(known))
    return NodeBatch(
        count=len(ids),
        ids=pa.array(ids),
        label_codes=codes,
        label_sets=tuple(tuple(names[label] for label in each) for each in known),
        properties={},
        origin="nodes that were created",
    )


# ------------------------------------------------------------------ relationships
def _relationships(
    events: EntityEvents, rows: NDArray[np.intp], names: Sequence[str]
) -> RelationshipBatch:
    codes, types = _recoded(events.codes[rows], names)
    return RelationshipBatch(
        count=len(rows),
        source_ids=pa.array(events.sources[rows]),
        target_ids=pa.array(events.targets[rows]),
        type_codes=codes,
        type_names=types,
        origin="relationships that were created or deleted",
        relationship_ids=events.ids[rows],
    )


def _recoded(
    codes: NDArray[np.int64], names: Sequence[str]
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Codes and names of the names that occur."""
    found, places = np.unique(codes, return_inverse=True)
    return places.astype(np.int32).reshape(-1), tuple(names[code] for code in found.tolist())


# ------------------------------------------------------------------ properties
def _properties(
    events: PropertyEvents, lives: _Lifetimes, names: Sequence[str]
) -> Mapping[str, PropertyChanges]:
    counted = np.flatnonzero(lives.counts(events.ids, events.steps))
    keys = (events.codes[counted], events.ids[counted])
    rows = counted[_last_of(keys, events.steps[counted])]
    codes = events.codes[rows]
    borders = np.flatnonzero(np.diff(codes)) + 1
    found = {}
    for some in np.split(rows, borders) if len(rows) else ():
        code = int(events.codes[some[0]])
        values = _values(events, some, names[code]) if code in events.complete else None
        found[names[code]] = PropertyChanges(events.ids[some], values)
    return found


def _values(events: PropertyEvents, rows: NDArray[np.intp], key: str) -> Column | None:
    """None if a value was not recorded, does not fit a column, or has an unknown zone."""
    places = events.places[rows]
    if (places < 0).any():
        return None
    values = [events.values[place] for place in places.tolist()]
    if any(map(in_unknown_zone, values)):
        return None
    try:
        refuse_vectors(key, values)
        return column_from_values(values)
    except SourceError:
        return None
