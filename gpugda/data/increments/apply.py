"""Applies changes to a data graph: the result is a new graph that shares unchanged arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.batches import id_array
from gpugda.data.csr import csr_of
from gpugda.data.data_graph import DataGraph
from gpugda.data.identifiers import name_id_type
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.labels import changed_label_bits, changed_labels, with_names
from gpugda.data.increments.nodes import node_numbers
from gpugda.data.increments.properties import changed_store, with_stores
from gpugda.data.increments.rows import Ends, incoming_rows, lost_entries, outgoing_rows
from gpugda.data.increments.sides import Side
from gpugda.data.increments.statistics import (
    changed_statistics,
    max_parallel,
    max_parallel_undirected,
)
from gpugda.data.patches.changing import spliced
from gpugda.data.patches.patched import whole
from gpugda.data.patches.sorted_sets import is_in_sorted, sorted_distinct
from gpugda.data.values.arrow_numbers import numpy_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.batches import RelationshipBatch
    from gpugda.data.csr import CsrParts
    from gpugda.data.identifiers import NameTable
    from gpugda.data.increments.changes import Changes

__all__ = ["applied"]


def applied(graph: DataGraph, changes: Changes) -> DataGraph:
    """The graph after the changes; the given graph stays unchanged and readable.

    Equals a rebuilt graph, except that unused label and type names stay, and except for what
    `changed_statistics` describes. Copies only what changed; arrays and columns without changes are
    shared. A property changed without its new values counts as not read.

    Args:
        graph: Graph of a database server, with external ids.
        changes: The changes from its state to the next one.

    Raises:
        ChangesError: The changes belong to another state. The graph is unchanged then.
    """
    assert graph.external_ids is not None
    work = _Work(graph, changes)
    if work.is_same:
        return _with_properties(graph, work)
    return work.graph()


class _Work:
    """One application of changes, step by step.

    Attributes:
        nodes: Old and new node numbers.
        relationships: Splice of the relationship indexes.
    """

    def __init__(self, graph: DataGraph, changes: Changes) -> None:
        assert graph.external_ids is not None
        self.old, self.changes, self.ids = graph, changes, graph.external_ids
        created = changes.created_relationships
        names = [name for each in changes.created_nodes.label_sets for name in each]
        self.labels = with_names(graph.labels, [*names, *changes.labels.labels])
        self.types = with_names(graph.types, created.type_names)
        self.nodes = node_numbers(self.ids.nodes, changes)
        self.label_rows = changed_labels(graph, self.labels, self.nodes, changes)
        gone = _ends(changes.deleted_relationships, self.types, self.nodes.old_of_ids)
        # There may be so many names now that their ids need more bits.
        rows = [_with_ids(each.parts, self.types) for each in (graph.outgoing, graph.incoming)]
        lost = lost_entries(rows[0], gone, self.ids.array)
        self.gone = Ends(gone.starts, gone.types, gone.ends, lost.entries)
        new = _ends(created, self.types, self.nodes.new_of_ids)
        if (new.starts < 0).any() or (new.ends < 0).any():
            raise ChangesError("a created relationship refers to a missing node")
        self._check_removed()
        self.outgoing, self.relationships, self.new = outgoing_rows(rows[0], self.nodes, lost, new)
        self.incoming = incoming_rows(rows[1], self.nodes, self.relationships, self.gone, self.new)

    @property
    def is_same(self) -> bool:
        """True if nothing but properties changed."""
        return not (self.nodes.splice or self.relationships or len(self.label_rows.relabelled))

    def graph(self) -> DataGraph:
        """The graph after the changes."""
        old = self.old
        relationship_ids = spliced(self.ids.array, self.relationships, self.new.ids)
        before, after = self._sides()
        most = max_parallel(after)
        statistics = changed_statistics(old.statistics, before, after, self.nodes, most)
        graph = DataGraph(
            node_count=self.nodes.splice.new_count,
            relationship_count=self.relationships.new_count,
            labels=self.labels,
            types=self.types,
            label_offsets=self.label_rows.offsets,
            label_ids=self.label_rows.ids,
            outgoing=csr_of(self.outgoing),
            incoming=csr_of(self.incoming),
            node_properties=old.node_properties,
            relationship_properties=old.relationship_properties,
            statistics=statistics,
            element_id_prefix=old.element_id_prefix,
            external_ids=self.ids.followed_by(self.nodes.new_ids, relationship_ids),
        )
        graph.inherit_derived(
            old,
            max_parallel=lambda: most,
            max_parallel_undirected=partial(max_parallel_undirected, after),
            label_bits=changed_label_bits(old.known_label_bits(), self.nodes, self.label_rows),
            changed=self._changed_nodes(),
        )
        return _with_properties(graph, self)

    def indexes_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """New indexes of relationships, -1 for ids that are absent."""
        created = np.argsort(self.new.ids)
        places = np.searchsorted(self.new.ids, ids, sorter=created)
        is_new = places < len(created)
        is_new[is_new] = self.new.ids[created[places[is_new]]] == ids[is_new]
        found = np.empty(len(ids), dtype=np.int64)
        found[is_new] = self.relationships.new_places()[created[places[is_new]]]
        old_numbers = self.ids.indexes_of_relationships(ids[~is_new])
        gone = np.isin(old_numbers, self.gone.ids)
        found[~is_new] = np.where(
            (old_numbers < 0) | gone, -1, self.relationships.moved(old_numbers)
        )
        return found

    def _check_removed(self) -> None:
        """Raises unless all relationships of deleted nodes are listed as deleted."""
        removed = self.nodes.splice.removed
        if not len(removed):
            return
        for csr, owners in (
            (self.old.outgoing.parts, self.gone.starts),
            (self.old.incoming.parts, self.gone.ends),
        ):
            had = csr.row_offsets[removed + 1].astype(np.int64) - csr.row_offsets[removed]
            if int(had.sum()) != int(is_in_sorted(owners, removed).sum()):
                raise ChangesError("a deleted node has relationships that were not deleted")

    def _changed_nodes(self) -> NDArray[np.int64] | None:
        """Nodes whose relationships changed; see `NodeChanges.followed`."""
        if not self.nodes.splice.only_appends:
            return None
        some = (self.gone.starts, self.gone.ends, self.new.starts, self.new.ends)
        return sorted_distinct(*some, self.nodes.splice.new_places())

    def _sides(self) -> tuple[Side, Side]:
        old, nodes, names = self.old, self.nodes, (len(self.labels), len(self.types))
        new = Ends(self.new.starts, self.new.types, self.new.ends, self.relationships.new_places())
        relabelled = self.label_rows.relabelled
        before = Side(
            old.label_offsets,
            old.label_ids,
            old.outgoing.parts,
            old.incoming.parts,
            self.gone,
            np.concatenate([nodes.splice.removed, relabelled]),
            *names,
        )
        after = Side(
            self.label_rows.offsets,
            self.label_rows.ids,
            self.outgoing,
            self.incoming,
            new,
            np.concatenate([nodes.splice.new_places(), nodes.splice.moved(relabelled)]),
            *names,
        )
        return before, after


def _with_properties(graph: DataGraph, work: _Work) -> DataGraph:
    """The graph with the property columns after the changes, in new stores."""
    changes = work.changes
    of_nodes = changed_store(
        graph.node_properties, work.nodes.splice, changes.node_properties, work.nodes.new_of_ids
    )
    of_relationships = changed_store(
        graph.relationship_properties,
        work.relationships,
        changes.relationship_properties,
        work.indexes_of,
    )
    return with_stores(graph, of_nodes, of_relationships)


def _with_ids(rows: CsrParts, types: NameTable) -> CsrParts:
    """The rows with type ids of a dtype that holds all types."""
    kind = name_id_type(len(types))
    if rows.run_types.dtype == kind:
        return rows
    return rows._replace(run_types=whole(rows.run_types).astype(kind))


def _ends(
    batch: RelationshipBatch,
    types: NameTable,
    number: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> Ends:
    """Relationships of a batch; -1 for nodes and types that are absent."""
    assert batch.relationship_ids is not None
    kinds = [types.get(name) for name in batch.type_names]
    codes = np.array([-1 if kind is None else kind for kind in kinds], dtype=np.int64)
    starts, ends = (numpy_numbers(ids) for ids in (batch.source_ids, batch.target_ids))
    return Ends(
        number(starts), codes[batch.type_codes], number(ends), id_array(batch.relationship_ids)
    )
