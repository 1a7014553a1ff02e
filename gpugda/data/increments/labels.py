"""Labels of nodes after changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.identifiers import NameTable, name_id_type
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.offsets import Amounts, changed_offsets
from gpugda.data.integer_sets import unique_values
from gpugda.data.labels import label_ids_of
from gpugda.data.patches.changing import extended, spliced
from gpugda.data.patches.patched import whole
from gpugda.data.patches.splice import Splice
from gpugda.data.runs import places_in_runs
from gpugda.data.statistics.node_changes import with_bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.increments.changes import Changes
    from gpugda.data.increments.nodes import NodeNumbers
    from gpugda.data.patches.patched import Array

__all__ = ["LabelRows", "changed_label_bits", "changed_label_sets", "changed_labels", "with_names"]

_SEVERAL = 2


@dataclass(frozen=True, slots=True, eq=False)
class LabelRows:
    """``label_offsets`` and ``label_ids`` after changes; old numbers of nodes with new labels."""

    offsets: Array
    ids: Array
    relabelled: NDArray[np.int64]


def with_names(table: NameTable, names: Iterable[str]) -> NameTable:
    """The table with unknown names appended; itself if there are none."""
    new = [name for name in dict.fromkeys(names) if table.get(name) is None]
    return NameTable((*table.names, *new)) if new else table


def changed_labels(
    graph: DataGraph, labels: NameTable, nodes: NodeNumbers, changes: Changes
) -> LabelRows:
    """The labels of all nodes after the changes.

    Args:
        graph: The graph before.
        labels: All names, numbered as in the graph, new names at the end.
        nodes: Old and new node numbers.
        changes: The changes.

    Raises:
        ChangesError: A node got a label that it had, lost one that it did not have, or is absent.
    """
    rows = _relabelled(graph, labels, nodes, changes)
    relabelled = np.array(list(rows), dtype=np.int64)
    if not nodes.splice and not rows:
        return LabelRows(graph.label_offsets, graph.label_ids, relabelled)
    old = graph.label_offsets
    created = _created_rows(graph, labels, changes)
    if nodes.splice.only_appends and not rows:
        return LabelRows(*_with_last(graph, labels, created), relabelled)
    # Insertion points of the new rows; rows with the same point follow their nodes' numbers.
    owners = np.concatenate([nodes.splice.moved(relabelled), nodes.splice.new_places()])
    places = np.concatenate([old[relabelled], old[nodes.splice.places]]).astype(np.int64)
    order = np.argsort(owners)
    listed = [*rows.values(), *created]
    lengths = np.array([len(each) for each in listed], dtype=np.int64)
    gone = np.sort(np.concatenate([relabelled, nodes.splice.removed]))
    offsets = changed_offsets(
        old,
        nodes.splice,
        Amounts(gone, -_lengths(old, gone)),
        Amounts(relabelled, lengths[: len(rows)]),
        lengths[len(rows) :],
    )
    entries = Splice(
        len(graph.label_ids), _entries(old, gone), np.repeat(places[order], lengths[order])
    )
    added = [label for place in order.tolist() for label in listed[place]]
    return LabelRows(offsets, spliced(_label_ids(graph, labels), entries, added), relabelled)


def _label_ids(graph: DataGraph, labels: NameTable) -> Array:
    """The label ids before the changes, of a dtype that holds all labels after them."""
    ids, kind = graph.label_ids, name_id_type(len(labels))
    return ids if ids.dtype == kind else whole(ids).astype(kind)


def _with_last(graph: DataGraph, labels: NameTable, rows: list[list[int]]) -> tuple[Array, Array]:
    """Offsets and ids of all labels, with the rows of nodes that were appended at the end."""
    ids = _label_ids(graph, labels)
    ends = len(ids) + np.cumsum([len(each) for each in rows])
    listed = [label for each in rows for label in each]
    return extended(graph.label_offsets, ends), extended(ids, np.array(listed, dtype=ids.dtype))


def changed_label_bits(
    known: Mapping[int, NDArray[np.uint32]], nodes: NodeNumbers, rows: LabelRows
) -> dict[int, NDArray[np.uint32]]:
    """Label bitmaps after the changes, in time of the changed nodes; none if nodes moved.

    Args:
        known: Bitmaps before, by label id.
        nodes: Old and new node numbers.
        rows: The labels after the changes.
    """
    splice = nodes.splice
    if not splice and not len(rows.relabelled):
        return dict(known)
    if not splice.only_appends:
        return {}
    touched = np.concatenate([rows.relabelled, splice.new_places()])
    offsets, ids = label_ids_of(rows.offsets, rows.ids, touched)
    owners = np.repeat(touched, np.diff(offsets))
    return {
        label: with_bits(bits, splice.new_count, touched, owners[ids == label])
        for label, bits in known.items()
    }


def _relabelled(
    graph: DataGraph, labels: NameTable, nodes: NodeNumbers, changes: Changes
) -> dict[int, list[int]]:
    """Labels after the changes of relabelled nodes, by old node number, ascending."""
    given = changes.labels
    numbers = nodes.old_of_ids(given.node_ids)
    if (numbers < 0).any() or np.isin(numbers, nodes.splice.removed).any():
        raise ChangesError("labels of a missing node changed")
    ids = [labels.get(name) for name in given.labels]
    touched = unique_values(numbers)
    bounds, before = label_ids_of(graph.label_offsets, graph.label_ids, touched)
    rows = {
        node: before[start:end].tolist()
        for node, start, end in zip(
            touched.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True
        )
    }
    for node, code, added in zip(
        numbers.tolist(), given.label_codes.tolist(), given.added.tolist(), strict=True
    ):
        _relabel(rows[node], ids[code], added=added)
    return {node: _listed(graph, labels, row) for node, row in rows.items()}


def _relabel(row: list[int], label: int | None, *, added: bool) -> None:
    if label is None or (label in row) == added:
        raise ChangesError("a node got a label that it had, or lost one that it did not have")
    if added:
        row.append(label)
    else:
        row.remove(label)


def _created_rows(graph: DataGraph, labels: NameTable, changes: Changes) -> list[list[int]]:
    batch = changes.created_nodes
    sets = [
        _listed(
            graph,
            labels,
            [label for name in each if (label := labels.get(name)) is not None],
        )
        for each in batch.label_sets
    ]
    return [sets[code] for code in batch.label_codes.tolist()]


def _listed(graph: DataGraph, labels: NameTable, row: list[int]) -> list[int]:
    """Labels of one node in the order in which the source lists labels."""
    if len(row) < _SEVERAL:
        return row
    numbers = {labels.name(label): label for label in sorted(row)}
    listed = graph.label_order().listed(numbers)
    graph.label_order().add(listed)  # fixes the order if it was unknown, for all later nodes
    return [numbers[name] for name in listed]


def changed_label_sets(graph: DataGraph, changes: Changes) -> set[frozenset[str]]:
    """Distinct label sets of at least two labels among created and relabelled nodes."""
    given, nodes = changes.labels, graph.external_ids
    assert nodes is not None
    found = {frozenset(each) for each in changes.created_nodes.label_sets}
    touched = unique_values(given.node_ids)
    places = np.searchsorted(nodes.nodes, touched)
    if len(touched) and (places < graph.node_count).all():
        rows = dict(zip(touched.tolist(), map(set, graph.labels_of(places)), strict=True))
        for node, code, added in zip(
            given.node_ids.tolist(), given.label_codes.tolist(), given.added.tolist(), strict=True
        ):
            (rows[node].add if added else rows[node].discard)(given.labels[code])
        found.update(map(frozenset, rows.values()))
    return {each for each in found if len(each) >= _SEVERAL}


def _lengths(offsets: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return offsets[rows + 1].astype(np.int64) - offsets[rows]


def _entries(offsets: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """All entries of the given rows."""
    lengths = _lengths(offsets, rows)
    return np.repeat(offsets[rows].astype(np.int64), lengths) + places_in_runs(lengths)
