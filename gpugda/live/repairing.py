"""Repairs a graph that was read while it changed: the changes since bring it to a single state.

Nodes and relationships that no transaction touched have the same value whenever they were read. A
touched one may be a mix of several states: all of it is dropped, and taken from the changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch, id_array
from gpugda.data.labels import LabelOrder
from gpugda.data.values.arrow_numbers import numpy_numbers
from gpugda.errors import StaleSnapshotError
from gpugda.live.label_order import learn_order
from gpugda.ports import GraphBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from gpugda.ports import ChangeBatch, LabelChanges

__all__ = ["repaired"]

_Labels = tuple[str, ...]


def repaired(
    torn: GraphBatches,
    ask: Callable[[], ChangeBatch],
    listed_labels: Callable[[Collection[str]], Sequence[str]],
) -> GraphBatches:
    """The graph in the state to which the changes lead.

    Args:
        torn: The graph as read while it changed: untouched parts, and others in any state. Without
            properties.
        ask: Returns the changes since reading began, with everything touched meanwhile; called
            after all has been read.
        listed_labels: See `DatabaseServer.listed_labels`.

    Raises:
        SourceError: The data cannot be read.
        StaleSnapshotError: The order of some labels cannot be found.
    """
    nodes, relationships = list(torn.nodes), list(torn.relationships)
    changes = ask()
    touched = changes.touched
    assert touched is not None
    return GraphBatches(
        [_listed(_nodes(nodes, changes, touched.nodes, touched.labels), nodes, listed_labels)],
        [*_kept(relationships, touched.relationships), changes.created_relationships],
        changes.version,
        torn.element_ids,
        properties_complete=False,
    )


def _listed(
    batch: NodeBatch,
    read: Sequence[NodeBatch],
    ask: Callable[[Collection[str]], Sequence[str]],
) -> NodeBatch:
    """The batch with labels in the server's order, learnt from the nodes read."""
    order = LabelOrder(each for some in read for each in some.label_sets)
    sets = list(batch.label_sets)
    for code in np.unique(batch.label_codes).tolist():
        if not learn_order(order, sets[code], ask):
            raise StaleSnapshotError(
                "The order in which the database lists some labels is unknown."
            )
        sets[code] = tuple(order.listed(sets[code]))
    return replace(batch, label_sets=tuple(sets))


def _kept(
    batches: Iterable[RelationshipBatch], touched: NDArray[np.int64]
) -> Iterable[RelationshipBatch]:
    """The relationships that were not touched."""
    if not len(touched):
        yield from batches
        return
    for batch in batches:
        assert batch.relationship_ids is not None
        ids = id_array(batch.relationship_ids)
        stays = ~np.isin(ids, touched)
        yield RelationshipBatch(
            count=int(np.count_nonzero(stays)),
            source_ids=pa.array(numpy_numbers(batch.source_ids)[stays]),
            target_ids=pa.array(numpy_numbers(batch.target_ids)[stays]),
            type_codes=batch.type_codes[stays],
            type_names=batch.type_names,
            origin=batch.origin,
            relationship_ids=ids[stays],
        )


def _nodes(
    batches: Sequence[NodeBatch],
    changes: ChangeBatch,
    touched: NDArray[np.int64],
    labels: LabelChanges,
) -> NodeBatch:
    """All nodes by increasing id, with their final labels."""
    known: dict[_Labels, int] = {}
    ids, codes = [], []
    for batch in (*batches, changes.created_nodes):
        table = [known.setdefault(each, len(known)) for each in batch.label_sets]
        found = np.empty(0, dtype=np.int64) if batch.ids is None else numpy_numbers(batch.ids)
        of_batch = np.array(table, dtype=np.int32)[batch.label_codes]
        if batch is not changes.created_nodes:
            stays = ~np.isin(found, touched)
            found, of_batch = found[stays], of_batch[stays]
        ids.append(found.astype(np.int64, copy=False))
        codes.append(of_batch)
    every, code = np.concatenate(ids), np.concatenate(codes)
    order = np.argsort(every, kind="stable")
    every, code = every[order], code[order]
    _relabel(every, code, known, labels)
    return NodeBatch(
        len(every), pa.array(every), code, tuple(known), {}, origin="nodes of the database"
    )


def _relabel(
    ids: NDArray[np.int64],
    codes: NDArray[np.int32],
    known: dict[_Labels, int],
    labels: LabelChanges,
) -> None:
    """Applies label changes to nodes, whichever state of them was read."""
    sets = list(known)
    rows = np.searchsorted(ids, labels.node_ids)
    told = zip(rows.tolist(), labels.label_codes.tolist(), labels.added.tolist(), strict=True)
    for row, code, added in told:
        name, old = labels.labels[code], sets[codes[row]]
        new = old
        if added and name not in old:
            new = (*old, name)
        elif not added:
            new = tuple(each for each in old if each != name)
        if new not in known:
            known[new] = len(known)
            sets.append(new)
        codes[row] = known[new]
