"""Conversion of data graphs to named arrays and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.csr import Csr
from gpugda.data.data_graph import DataGraph
from gpugda.data.external_ids import ExternalIds, are_distinct
from gpugda.data.identifiers import NameTable, name_id_type
from gpugda.data.patches.patched import whole
from gpugda.data.sorting import reversed_csr
from gpugda.data.statistics.graph_statistics import (
    GraphStatistics,
)
from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary
from gpugda.data.values.property_store import PropertyStore
from gpugda.snapshot.array_files import array_of
from gpugda.snapshot.manifest import PropertyEntry
from gpugda.snapshot.object_text import object_from_text, object_to_text
from gpugda.snapshot.row_checks import check_incoming, check_outgoing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.snapshot.manifest import Manifest

__all__ = [
    "column_arrays",
    "graph_arrays",
    "graph_of_arrays",
    "property_entries",
    "saved_bytes",
]

_CSR_FIELDS: Mapping[str, type[np.generic]] = {
    "row_offsets": np.uint32,
    "neighbours": np.uint32,
    "relationship_indexes": np.uint32,
    "run_offsets": np.uint32,
    "run_starts": np.uint32,
}
_DTYPES: Mapping[ColumnKind, type[np.generic]] = {
    ColumnKind.BOOLEAN: np.bool_,
    ColumnKind.INTEGER: np.int64,
    ColumnKind.FLOAT: np.float64,
    ColumnKind.STRING: np.int32,
    ColumnKind.OBJECT: np.int32,
}


# ------------------------------------------------------------------ to arrays
def graph_arrays(graph: DataGraph, *, incoming: bool) -> dict[str, NDArray[Any]]:
    """Arrays of labels and CSR rows, without properties."""
    directions = {"outgoing": graph.outgoing}
    if incoming:
        directions["incoming"] = graph.incoming
    arrays: dict[str, NDArray[Any]] = {
        "label_offsets": whole(graph.label_offsets),
        "label_ids": whole(graph.label_ids),
    }
    if graph.external_ids is not None:
        arrays["external_ids.nodes"] = graph.external_ids.nodes
        arrays["external_ids.relationships"] = graph.external_ids.relationships
    for direction, csr in directions.items():
        for name in (*_CSR_FIELDS, "run_types"):
            array = getattr(csr, name)
            if array is not None:
                arrays[f"{direction}.{name}"] = array
    return arrays


def property_entries(columns: Mapping[str, Column]) -> list[PropertyEntry]:
    """Manifest entries of property columns."""
    return [PropertyEntry(key, column.kind.value) for key, column in columns.items()]


def column_arrays(columns: Mapping[str, Column]) -> dict[str, NDArray[Any] | pa.Array]:
    """Arrays of property columns; named by number, as keys may contain any characters."""
    arrays: dict[str, NDArray[Any] | pa.Array] = {}
    for number, column in enumerate(columns.values()):
        arrays[f"{number}.values"] = column.values
        if column.valid is not None:
            arrays[f"{number}.valid"] = column.valid
        if isinstance(column.dictionary, StringDictionary):
            arrays[f"{number}.dictionary"] = column.dictionary.array
        elif isinstance(column.dictionary, ObjectDictionary):
            texts = [object_to_text(entry) for entry in column.dictionary.entries]
            arrays[f"{number}.dictionary"] = pa.array(texts, type=pa.large_string())
    return arrays


def saved_bytes(graph: DataGraph) -> int:
    """Approximate size in bytes of the saved graph, uncompressed."""
    stores = (graph.node_properties, graph.relationship_properties)
    columns = [column for store in stores for column in store.columns.values()]
    arrays = graph_arrays(graph, incoming=True).values()
    dictionaries = {id(column.dictionary): column.dictionary for column in columns}
    return (
        sum(array.nbytes for array in arrays)
        + sum(column.nbytes for column in columns)
        + sum(int(getattr(each, "nbytes", 0)) for each in dictionaries.values())
    )


# ------------------------------------------------------------------ from arrays
def graph_of_arrays(
    manifest: Manifest, files: Mapping[str, Mapping[str, pa.Array]], *, check: bool = True
) -> DataGraph:
    """The data graph of a manifest and its files' arrays.

    Args:
        manifest: Contents of the files.
        files: Arrays by name, by kind of file.
        check: True to check the rows of both directions; False to check only lengths.

    Raises:
        Exception: The arrays are inconsistent.
    """
    arrays = files["arrays"]
    outgoing, incoming = _directions(arrays, manifest, check=check)
    label_offsets = array_of(arrays["label_offsets"], np.uint32)
    label_ids = array_of(arrays["label_ids"], name_id_type(len(manifest.labels)))
    _demand_offsets(label_offsets, manifest.node_count, len(label_ids))
    nodes, relationships = manifest.node_count, manifest.relationship_count
    statistics = GraphStatistics.from_dict(manifest.statistics)
    if manifest.nodes_read is not None or manifest.relationships_read is not None:
        statistics = statistics.pending(manifest.nodes_read, manifest.relationships_read)
    return DataGraph(
        node_count=nodes,
        relationship_count=relationships,
        labels=NameTable(tuple(manifest.labels)),
        types=NameTable(tuple(manifest.types)),
        label_offsets=label_offsets,
        label_ids=label_ids,
        outgoing=outgoing,
        incoming=incoming,
        node_properties=_store(
            _columns(manifest.node_properties, files["node_properties"], nodes),
            manifest.nodes_read,
        ),
        relationship_properties=_store(
            _columns(
                manifest.relationship_properties, files["relationship_properties"], relationships
            ),
            manifest.relationships_read,
        ),
        statistics=statistics,
        element_id_prefix=manifest.element_id_prefix,
        external_ids=_external_ids(manifest, arrays),
    )


def _directions(
    arrays: Mapping[str, pa.Array], manifest: Manifest, *, check: bool
) -> tuple[Csr, Csr]:
    type_count = len(manifest.types)
    outgoing = _csr(arrays, "outgoing", manifest)
    if check:
        check_outgoing(outgoing, type_count)
    if not manifest.has_incoming:
        return outgoing, reversed_csr(outgoing, type_count)
    incoming = _csr(arrays, "incoming", manifest)
    if check:
        check_incoming(incoming, outgoing, type_count)
    return outgoing, incoming


def _store(columns: Mapping[str, Column], read: Sequence[str] | None) -> PropertyStore:
    store = PropertyStore(columns, complete=read is None)
    if read is not None:
        store.add({}, read)
    return store


def _external_ids(manifest: Manifest, arrays: Mapping[str, pa.Array]) -> ExternalIds | None:
    if manifest.external_ids is None:
        return None
    node_prefix, relationship_prefix = manifest.external_ids
    nodes = array_of(arrays["external_ids.nodes"], np.int64)
    relationships = array_of(arrays["external_ids.relationships"], np.int64)
    _demand(len(nodes) == manifest.node_count, "the nodes have the wrong number of ids")
    _demand(bool((nodes[1:] > nodes[:-1]).all()), "the nodes' ids are not increasing")
    count = manifest.relationship_count
    _demand(len(relationships) == count, "the relationships have the wrong number of ids")
    _demand(are_distinct(relationships), "two relationships have the same id")
    for ids in (nodes, relationships):
        _demand(int(ids.min(initial=0)) >= 0, "there are negative ids")
    return ExternalIds(nodes, relationships, node_prefix, relationship_prefix)


def _csr(arrays: Mapping[str, pa.Array], direction: str, manifest: Manifest) -> Csr:
    fields: dict[str, Any] = {**_CSR_FIELDS, "run_types": name_id_type(len(manifest.types))}
    found: dict[str, Any] = {
        name: array_of(arrays[f"{direction}.{name}"], dtype)
        for name, dtype in fields.items()
        if f"{direction}.{name}" in arrays
    }
    csr = Csr(relationship_indexes=found.pop("relationship_indexes", None), **found)
    count = manifest.relationship_count
    _demand(csr.relationship_count == count, f"{direction} has the wrong number of relationships")
    _demand_offsets(csr.row_offsets, manifest.node_count, count)
    _demand_offsets(csr.run_offsets, manifest.node_count, len(csr.run_types))
    _demand_offsets(csr.run_starts, len(csr.run_types), count)
    indexes = csr.relationship_indexes
    if direction == "incoming":
        _demand(indexes is not None and len(indexes) == count, "relationship indexes are missing")
    else:
        _demand(indexes is None, "outgoing has relationship indexes, which are redundant")
    return csr


def _columns(
    entries: Sequence[PropertyEntry], arrays: Mapping[str, pa.Array], count: int
) -> dict[str, Column]:
    columns = {}
    for number, entry in enumerate(entries):
        kind = ColumnKind(entry.kind)
        values = array_of(arrays[f"{number}.values"], _DTYPES[kind])
        valid = None
        if f"{number}.valid" in arrays:
            valid = array_of(arrays[f"{number}.valid"], np.bool_)
        lengths = {len(values), len(values if valid is None else valid)}
        _demand(lengths == {count}, f"the property {entry.key!r} has the wrong length")
        dictionary = _dictionary(kind, arrays.get(f"{number}.dictionary"))
        columns[entry.key] = Column(kind, values, valid, dictionary)
    return columns


def _dictionary(
    kind: ColumnKind, array: pa.Array | None
) -> StringDictionary | ObjectDictionary | None:
    if kind not in (ColumnKind.STRING, ColumnKind.OBJECT):
        return None
    _demand(array is not None, "a dictionary is missing")
    assert array is not None
    if kind is ColumnKind.STRING:
        return StringDictionary(array)
    return ObjectDictionary([object_from_text(text) for text in array.to_pylist()])


def _demand_offsets(offsets: NDArray[np.uint32], count: int, total: int) -> None:
    fits = len(offsets) == count + 1 and int(offsets[0]) == 0 and int(offsets[-1]) == total
    _demand(fits, "offsets have the wrong length or end")


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
