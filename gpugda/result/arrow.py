"""Result columns as Arrow arrays.

Texts are ``large_string``, so that no result is too large for its offsets. Dates, local times and
datetimes become Arrow's own types (datetimes in nanoseconds where they fit, else microseconds;
zoned ones in UTC), durations a struct of months, days, seconds and nanoseconds, points one of
srid, x, y, z. Values of a column that no Arrow type holds together (a number beside a text) become
their Cypher text, and the field's metadata says ``gpugda.mixed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from gpugda.data.columns import Column, ColumnKind, column_from_values
from gpugda.data.dictionaries import StringDictionary
from gpugda.errors import ConfigurationError
from gpugda.result.arrow_values import (
    MIXED,
    EntityForm,
    array_of_values,
    node_structs,
    relationship_structs,
    struct_of_properties,
)
from gpugda.result.entities import PlainEntities, properties_of, start_nodes_of, type_ids_of
from gpugda.result.rows import column_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.entity_properties import EntityProperties
    from gpugda.execute.result_table import ResultTable
    from gpugda.result.entities import EntityReader

__all__ = ["arrow_table", "check_form"]


def arrow_table(
    table: ResultTable, start: int, form: EntityForm, dictionary_strings: bool = False
) -> pa.Table:
    """The rows from ``start`` on.

    Raises:
        ConfigurationError: There is no such form.
    """
    check_form(form)
    maker = _ArrayMaker(table.graph, table.entity_properties, form, dictionary_strings)
    fields, arrays = [], []
    for name, column in zip(table.names, table.columns, strict=True):
        valid = None if column.valid is None else column.valid[start:]
        piece = Column(column.kind, column.values[start:], valid, column.dictionary)
        array, mixed = maker.array(piece)
        fields.append(pa.field(name, array.type, metadata=MIXED if mixed else None))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def check_form(form: str) -> None:
    """Refuses what is no form of nodes.

    Raises:
        ConfigurationError: It is none.
    """
    if form not in get_args(EntityForm):
        known = ", ".join(map(repr, get_args(EntityForm)))
        raise ConfigurationError(f"nodes is {form!r}; it can be {known}.")


class _ArrayMaker:
    """Arrays for the columns of one table."""

    def __init__(
        self,
        graph: DataGraph,
        read_later: EntityProperties | None,
        form: EntityForm,
        dictionary_strings: bool,
    ) -> None:
        self._graph = graph
        self._read_later = read_later
        self._form = form
        self._dictionary_strings = dictionary_strings

    def array(self, column: Column) -> tuple[pa.Array, bool]:
        """The array, and whether values of several types had to become text."""
        kind = column.kind
        if kind is ColumnKind.STRING:
            return self._strings(column), False
        if kind is ColumnKind.OBJECT:
            return array_of_values(column_values(column, self._reader(), 0, len(column)))
        if kind is ColumnKind.NODE or kind is ColumnKind.RELATIONSHIP:
            return self._entities(column, kind is ColumnKind.NODE), False
        return _numbers(column), False

    def _reader(self) -> EntityReader:
        if self._form == "struct":
            return PlainEntities(self._graph, self._read_later)
        return _Short(self._graph if self._form == "id" else None)

    def _strings(self, column: Column) -> pa.Array:
        dictionary = column.dictionary
        codes = _with_validity(pa.array(column.values), column.valid)
        if isinstance(dictionary, StringDictionary):
            texts = dictionary.array.cast(pa.large_string())
        else:
            everything = np.arange(0 if dictionary is None else len(dictionary), dtype=np.int32)
            texts = pa.array(dictionary.values(everything) if dictionary else [], pa.large_string())
        if self._dictionary_strings:
            return pa.DictionaryArray.from_arrays(codes, texts)
        if len(texts) == 0:
            return pa.nulls(len(column), pa.large_string())
        return texts.take(codes)

    # -------------------------------------------------------------- nodes and relationships
    def _entities(self, column: Column, is_node: bool) -> pa.Array:
        if self._form == "index":
            return _with_validity(pa.array(column.values.astype(np.uint32)), column.valid)
        present = column.values if column.valid is None else column.values[column.valid]
        # A node is described once, however many rows it is in.
        distinct = np.unique(present)
        if self._form == "id":
            described = self._element_ids(distinct, is_node)
        else:
            described = (
                self._node_structs(distinct) if is_node else self._relationship_structs(distinct)
            )
        if len(distinct) == 0:
            return pa.nulls(len(column), described.type)
        places = np.minimum(np.searchsorted(distinct, column.values), len(distinct) - 1)
        return described.take(_with_validity(pa.array(places), column.valid))

    def _element_ids(self, indexes: NDArray[Any], is_node: bool) -> pa.Array:
        graph = self._graph
        text = graph.element_id_of_node if is_node else graph.element_id_of_relationship
        return pa.array([text(index) for index in indexes.tolist()], pa.large_string())

    def _node_structs(self, nodes: NDArray[np.uint32]) -> pa.Array:
        return node_structs(
            self._element_ids(nodes, is_node=True),
            [self._graph.node_labels(node) for node in nodes.tolist()],
            self._properties(nodes, of_nodes=True),
        )

    def _relationship_structs(self, relationships: NDArray[np.uint32]) -> pa.Array:
        graph = self._graph
        type_names = pa.array(graph.types.names, pa.large_string())
        return relationship_structs(
            self._element_ids(relationships, is_node=False),
            type_names.take(pa.array(type_ids_of(graph, relationships))),
            self._element_ids(start_nodes_of(graph, relationships), is_node=True),
            self._element_ids(graph.outgoing.neighbours[relationships], is_node=True),
            self._properties(relationships, of_nodes=False),
        )

    def _properties(self, indexes: NDArray[np.uint32], *, of_nodes: bool) -> pa.StructArray:
        columns = self._property_columns(indexes, of_nodes=of_nodes)
        arrays = {key: self.array(column) for key, column in columns.items()}
        return struct_of_properties(arrays, len(indexes))

    def _property_columns(
        self, indexes: NDArray[np.uint32], *, of_nodes: bool
    ) -> dict[str, Column]:
        store = self._graph.node_properties if of_nodes else self._graph.relationship_properties
        if store.complete:
            return {key: column.take(indexes) for key, column in store.items()}
        rows = properties_of(self._graph, self._read_later, indexes, of_nodes=of_nodes)
        keys = dict.fromkeys(key for row in rows for key in row)
        return {key: column_from_values([row.get(key) for row in rows]) for key in keys}


class _Short:
    """Entities within lists as their element ids, or without a graph as their indexes."""

    def __init__(self, graph: DataGraph | None) -> None:
        self._graph = graph

    def nodes(self, indexes: NDArray[np.uint32]) -> Sequence[str | int]:
        """See `EntityReader`."""
        name = self._graph and self._graph.element_id_of_node
        return [name(index) if name else index for index in indexes.tolist()]

    def relationships(self, indexes: NDArray[np.uint32]) -> Sequence[str | int]:
        """See `EntityReader`."""
        name = self._graph and self._graph.element_id_of_relationship
        return [name(index) if name else index for index in indexes.tolist()]


def _numbers(column: Column) -> pa.Array:
    return _with_validity(pa.array(column.values), column.valid)


def _with_validity(array: pa.Array, valid: NDArray[np.bool_] | None) -> pa.Array:
    # Put together from buffers: the values are not copied, and NaN stays a value.
    if valid is None:
        return array
    bits = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(array.type, len(array), [bits, array.buffers()[1]])
