"""Describes a data graph: labels, relationship types, what they connect, and their properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.patched import whole
from gpugda.data.values.column import ColumnKind, shown_values, to_values
from gpugda.expressions.printing import value_type
from gpugda.schema.graph_schema import (
    Connection,
    GraphSchema,
    LabelSchema,
    PropertySchema,
    TypeSchema,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.column import Column
    from gpugda.data.values.property_store import PropertyStore

__all__ = ["nodes_by_labels", "properties_of", "relationships_of_type", "schema_of"]

_TYPES = {
    ColumnKind.BOOLEAN: "BOOLEAN",
    ColumnKind.INTEGER: "INTEGER",
    ColumnKind.FLOAT: "FLOAT",
    ColumnKind.STRING: "STRING",
}
_ORDERED = (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING)
_NOT_NULL = " NOT NULL"


def schema_of(graph: DataGraph) -> GraphSchema:
    """Describes a graph. Reads every property column once per label or type that has it."""
    stores = graph.node_properties, graph.relationship_properties
    unlabelled, named = _labels(graph)
    return GraphSchema(
        graph.node_count,
        graph.relationship_count,
        tuple(sorted(named, key=lambda each: (-each.count, each.name))),
        tuple(sorted(_types(graph), key=lambda each: (-each.count, each.name))),
        unlabelled,
        all(store.complete for store in stores),
    )


def _labels(graph: DataGraph) -> tuple[int, list[LabelSchema]]:
    unlabelled = 0
    rows: dict[str, list[NDArray[np.int64]]] = {}
    for labels, nodes in nodes_by_labels(graph):
        unlabelled += 0 if labels else len(nodes)
        for label in labels:
            rows.setdefault(label, []).append(nodes)
    return unlabelled, [
        LabelSchema(
            name, sum(map(len, found)), _properties(graph.node_properties, np.concatenate(found))
        )
        for name, found in rows.items()
    ]


def _types(graph: DataGraph) -> Iterator[TypeSchema]:
    connections = _connections(graph)
    for type_id, name in enumerate(graph.types.names):
        found = relationships_of_type(graph, type_id)
        if len(found):
            properties = _properties(graph.relationship_properties, found)
            yield TypeSchema(name, len(found), tuple(connections.get(type_id, ())), properties)


def nodes_by_labels(graph: DataGraph) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """Each distinct set of labels, and the nodes that have exactly these."""
    codes, sets = graph.label_codes()
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(sets) + 1))
    for place, labels in enumerate(sets):
        yield labels, order[starts[place] : starts[place + 1]]


def relationships_of_type(graph: DataGraph, type_id: int) -> NDArray[np.int64]:
    """The relationships of a type."""
    return np.flatnonzero(graph.relationship_types() == type_id)


def _connections(graph: DataGraph) -> dict[int, list[Connection]]:
    """By type id, the most frequent pairs of labels first; counted by pairs of label sets."""
    codes, sets = graph.label_codes()
    width, kinds = max(1, len(sets)), max(1, len(graph.types))
    start, end = (
        codes[graph.start_nodes()].astype(np.int64),
        codes[whole(graph.outgoing.neighbours)],
    )
    keys, counts = np.unique(
        (start * width + end) * kinds + graph.relationship_types(), return_counts=True
    )
    found: dict[int, dict[tuple[str | None, str | None], int]] = {}
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        pair, type_id = divmod(key, kinds)
        pairs = found.setdefault(type_id, {})
        for left in sets[pair // width] or (None,):
            for right in sets[pair % width] or (None,):
                pairs[left, right] = pairs.get((left, right), 0) + count
    return {
        type_id: [
            Connection(left, right, count)
            for (left, right), count in sorted(pairs.items(), key=lambda each: -each[1])
        ]
        for type_id, pairs in found.items()
    }


# ------------------------------------------------------------------ properties
def _properties(store: PropertyStore, rows: NDArray[np.int64]) -> tuple[PropertySchema, ...]:
    return tuple(properties_of(store, rows))


def properties_of(store: PropertyStore, rows: NDArray[np.int64]) -> Iterator[PropertySchema]:
    """Describes the properties of some nodes or relationships; keys without a value are left out.

    Args:
        store: The properties; only those read so far are described.
        rows: Indexes of the nodes or relationships.
    """
    for key, column in sorted(store.columns.items()):
        found = column.take(rows)
        if found.valid is not None:
            found = found.take(found.valid)
        if len(found):
            yield _property(key, found, len(rows) - len(found))


def _property(key: str, column: Column, nulls: int) -> PropertySchema:
    """Describes the values of a column without nulls."""
    distinct = column.take(np.unique(column.values, return_index=True)[1])
    types = _TYPES.get(column.kind)
    minimum, maximum = _bounds(distinct)
    return PropertySchema(
        key,
        (types,) if types else tuple(sorted({_type(value) for value in to_values(distinct)})),
        len(column),
        nulls,
        len(distinct),
        minimum,
        maximum,
        shown_values(distinct.take(np.array([0])))[0],
    )


def _bounds(distinct: Column) -> tuple[Any, Any]:
    """Least and greatest of distinct values in ascending order; texts have sorted codes."""
    if distinct.kind not in _ORDERED:
        return None, None
    if distinct.kind is ColumnKind.FLOAT:
        distinct = distinct.take(~np.isnan(distinct.values))
    if not len(distinct):
        return None, None
    least, greatest = shown_values(distinct.take(np.array([0, len(distinct) - 1])))
    return least, greatest


def _type(value: Any) -> str:
    return value_type(value).replace(_NOT_NULL, "")
