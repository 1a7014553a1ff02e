"""Computes the net changes between two states from the events of successive transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.ports import (
    ChangeBatch,
    LabelChanges,
    PropertyChanges,
    TouchedEntities,
    UnkeptPropertyError,
)

from .bolt_values import column_of
from .bolt_zones import in_unknown_zone
from .entity_events import EntityEvents, Lifetimes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.values.column import Column
    from gpugda.ports import DatabaseVersion

__all__ = ["ChangeEvents", "EntityEvents", "PropertyEvents", "net_changes"]


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
    nodes = Lifetimes(events.created_nodes, events.deleted_nodes)
    relationships = Lifetimes(events.created_relationships, events.deleted_relationships)
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
            _ids_of(events.created_nodes, events.deleted_nodes),
            _ids_of(events.created_relationships, events.deleted_relationships),
            on_the_way,
        ),
    )


def _ids_of(created: EntityEvents, deleted: EntityEvents) -> NDArray[np.int64]:
    """Ids of the events, increasing, without duplicates."""
    return sorted_distinct(created.ids, deleted.ids)


_TRUE = np.ones(1, dtype=np.bool_)


def _last_of(keys: Sequence[NDArray[np.int64]], steps: NDArray[np.int64]) -> NDArray[np.intp]:
    """The row of the last step for each combination of keys, sorted by the keys."""
    order = np.lexsort((steps, *reversed(keys)))
    if len(order) == 0:
        return order
    differs = np.zeros(len(order) - 1, dtype=np.bool_)
    for key in keys:
        differs |= key[order[1:]] != key[order[:-1]]
    lasts: NDArray[np.intp] = order[np.concatenate([differs, _TRUE])]
    return lasts


# ------------------------------------------------------------------ nodes
def _labels(events: ChangeEvents, nodes: Lifetimes) -> tuple[NodeBatch, LabelChanges, LabelChanges]:
    """The created nodes, net label changes of the others, and all label events of the others."""
    given = events.labels
    if not len(given.ids) and not len(nodes.new):
        return _NO_NODES, _NO_LABELS, _NO_LABELS
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


_NO_IDS = np.empty(0, dtype=np.int64)
_NO_NODES = _created_nodes(_NO_IDS, _NO_IDS, _NO_IDS, ())
_NO_LABELS = LabelChanges(_NO_IDS, _NO_IDS.astype(np.int32), _NO_IDS.astype(np.bool_), ())


# ------------------------------------------------------------------ relationships
def _relationships(
    events: EntityEvents, rows: NDArray[np.intp], names: Sequence[str]
) -> RelationshipBatch:
    if not len(rows):
        return _NO_RELATIONSHIPS
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
    found = sorted_distinct(codes)
    places = np.searchsorted(found, codes).astype(np.int32)
    return places, tuple(names[code] for code in found.tolist())


_NO_RELATIONSHIPS = RelationshipBatch(
    count=0,
    source_ids=pa.array(_NO_IDS),
    target_ids=pa.array(_NO_IDS),
    type_codes=_NO_IDS.astype(np.int32),
    type_names=(),
    origin="relationships that were created or deleted",
    relationship_ids=_NO_IDS,
)


# ------------------------------------------------------------------ properties
def _properties(
    events: PropertyEvents, lives: Lifetimes, names: Sequence[str]
) -> Mapping[str, PropertyChanges]:
    if not len(events.ids):
        return {}
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
        return column_of(key, values)
    except UnkeptPropertyError:
        return None
