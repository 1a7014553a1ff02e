"""Property stores after changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.columns import moved_column, set_values
from gpugda.data.patches.sorted_sets import is_in_sorted
from gpugda.data.statistics.graph_statistics import PendingCounts
from gpugda.data.values.property_store import PropertyStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.increments.changes import PropertyChanges
    from gpugda.data.patches.splice import Splice

__all__ = ["changed_store", "value_counts", "with_own_stores", "with_stores"]


def changed_store(
    store: PropertyStore,
    splice: Splice,
    changes: Mapping[str, PropertyChanges],
    find: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> PropertyStore:
    """A new store, independent of the old one: columns read into the old store later stay there.

    Args:
        store: The store before.
        splice: Splice of the nodes or relationships.
        changes: By key; a key changed without its new values counts as not read afterwards.
        find: Maps ids to new numbers, -1 for absent ids.

    Raises:
        ChangesError: The node or relationship of a changed property is absent.
    """
    state = store.state()
    columns = {key: moved_column(column, splice) for key, column in state.columns.items()}
    read = None if state.read is None else set(state.read)
    changed: dict[str, NDArray[np.int64]] = {}
    for key, change in changes.items():
        if (read is not None and key not in read) or not len(change.ids):
            continue
        if change.values is None:
            read = (set(columns) if read is None else read) - {key}
            columns.pop(key, None)
            continue
        rows = find(change.ids)
        if (rows < 0).any():
            raise ChangesError(f"the property {key!r} changed for a missing node or relationship")
        changed[key] = rows
        in_place = key in columns and bool(is_in_sorted(rows, splice.new_places()).all())
        columns[key] = set_values(
            columns.get(key), splice.new_count, rows, change.values, in_place=in_place
        )
    masks = None
    if splice.only_appends:
        # Masks over columns that were read meanwhile are dropped: their changes are unknown.
        masks = store.mask_cache.followed(changed, splice.new_places(), read)
    found = PropertyStore(columns, complete=read is None, mask_cache=masks)
    found.add({}, read if read is None else sorted(read))
    return found


def value_counts(
    counts: Mapping[str, int | None], store: PropertyStore
) -> Mapping[str, int | None]:
    """Distinct counts by key for the columns of the store, in the form of the old counts."""
    state = store.state()
    found = {
        key: column.distinct_count
        for key, column in state.columns.items()
        if not column.has_only_nulls
    }
    if not isinstance(counts, PendingCounts):
        return found
    pending = PendingCounts(found)
    pending.add({}, state.read)
    return pending


def with_own_stores(graph: DataGraph) -> DataGraph:
    """The same graph with new stores: columns read into them later stay out of the old ones."""
    stores = []
    for store in (graph.node_properties, graph.relationship_properties):
        state = store.state()
        copied = PropertyStore(state.columns, complete=state.read is None)
        copied.add({}, state.read)
        stores.append(copied)
    return with_stores(graph, *stores)


def with_stores(
    graph: DataGraph, of_nodes: PropertyStore, of_relationships: PropertyStore
) -> DataGraph:
    """The same graph with other property stores and the distinct counts of their columns."""
    statistics = graph.statistics
    counts = statistics.distinct_counts, statistics.relationship_distinct_counts
    return replace(
        graph,
        node_properties=of_nodes,
        relationship_properties=of_relationships,
        statistics=replace(
            statistics,
            distinct_counts=value_counts(counts[0], of_nodes),
            relationship_distinct_counts=value_counts(counts[1], of_relationships),
        ),
    )
