"""Result columns as Arrow arrays.

Strings are ``large_string``, so that the offsets cannot overflow. Dates, local times and datetimes
become Arrow's types (datetimes in nanoseconds where they fit, else microseconds; zoned ones in
UTC), durations a struct of months, days, seconds and nanoseconds, points a struct of srid, x, y, z.
If no Arrow type holds all values of a column (a number and a string), they become Cypher text, and
the field's metadata has the key ``gpugda.mixed``.

A column's type depends on its values only, not on the engine that answered: a column without values
has Arrow's type ``null``, and the struct of properties has each key that at least one of the nodes
or relationships has, sorted by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from gpugda.data.integer_sets import unique_values
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers
from gpugda.data.values.chunked_column import chunks_of
from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.data.values.dictionaries import StringDictionary
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
from gpugda.result.rows import RowReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.result_table import ResultTable
    from gpugda.result.entities import EntityReader

__all__ = ["arrow_table", "check_form"]


def arrow_table(
    table: ResultTable, start: int, form: EntityForm, dictionary_strings: bool = False
) -> pa.Table:
    """The rows from ``start`` on as an Arrow table.

    Raises:
        ConfigurationError: ``form`` is unknown.
    """
    check_form(form)
    maker = _ArrayMaker(table, form, dictionary_strings)
    fields, arrays = [], []
    for place, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
        if not _has_values(column, start):
            array, mixed = pa.nulls(table.row_count - start), False
            chunks = pa.chunked_array([array])
        elif column.kind is ColumnKind.OBJECT:  # the type depends on all its values
            array, mixed = maker.objects(place, start)
            chunks = pa.chunked_array([array])
        else:
            chunks, mixed = pa.chunked_array(maker.chunks(list(chunks_of(column, start)))), False
        fields.append(pa.field(name, chunks.type, metadata=MIXED if mixed else None))
        arrays.append(chunks)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _has_values(column: Column, start: int) -> bool:
    pieces = (piece for piece in chunks_of(column, start) if len(piece))
    return any(piece.valid is None or bool(piece.valid.any()) for piece in pieces)


def check_form(form: str) -> None:
    """Checks the name of a form of nodes.

    Raises:
        ConfigurationError: ``form`` is unknown.
    """
    if form not in get_args(EntityForm):
        known = ", ".join(map(repr, get_args(EntityForm)))
        raise ConfigurationError(f"nodes is {form!r}; it can be {known}.")


class _ArrayMaker:
    """Makes the arrays for the columns of one table."""

    def __init__(self, table: ResultTable, form: EntityForm, dictionary_strings: bool) -> None:
        graph = self._graph = table.graph
        self._read_later = table.entity_properties
        self._form = form
        self._dictionary_strings = dictionary_strings
        self._row_count = table.row_count
        self._texts: dict[int, pa.Array] = {}
        entities: EntityReader
        if form == "struct":
            entities = PlainEntities(graph, table.entity_properties)
        else:
            entities = _Short(graph if form == "id" else None)
        self._reader = RowReader(table, entities)

    def objects(self, place: int, start: int) -> tuple[pa.Array, bool]:
        """The array of an OBJECT column, and True if its values became text."""
        return array_of_values(self._reader.column(place, start, self._row_count))

    def chunks(self, pieces: Sequence[Column]) -> list[pa.Array]:
        """One array per chunk of a column that is not OBJECT."""
        kind = pieces[0].kind
        if kind is ColumnKind.STRING:
            return list(map(self._strings, pieces))
        if kind is ColumnKind.NODE or kind is ColumnKind.RELATIONSHIP:
            return self._entities(pieces, kind is ColumnKind.NODE)
        return [_with_validity(_numbers(piece.values), piece.valid) for piece in pieces]

    def _strings(self, column: Column) -> pa.Array:
        codes = _with_validity(_numbers(column.values), column.valid)
        texts = self._texts.get(id(column.dictionary))
        if texts is None:
            texts = self._texts[id(column.dictionary)] = _texts_of(column)
        if self._dictionary_strings:
            return pa.DictionaryArray.from_arrays(codes, texts)
        if len(texts) == 0:
            return pa.nulls(len(column), pa.large_string())
        return texts.take(codes)

    # -------------------------------------------------------------- nodes and relationships
    def _entities(self, pieces: Sequence[Column], is_node: bool) -> list[pa.Array]:
        if self._form == "index":
            return [_with_validity(_numbers(piece.values), piece.valid) for piece in pieces]
        # Each distinct node or relationship is described once.
        count = self._graph.node_count if is_node else self._graph.relationship_count
        distinct, places = _distinct(pieces, count)
        if self._form == "id":
            described = self._element_ids(distinct, is_node)
        else:
            described = (
                self._node_structs(distinct) if is_node else self._relationship_structs(distinct)
            )
        if len(distinct) == 0:
            return [pa.nulls(len(piece), described.type) for piece in pieces]
        return [
            described.take(_with_validity(_numbers(each), piece.valid))
            for piece, each in zip(pieces, places, strict=True)
        ]

    def _element_ids(self, indexes: NDArray[Any], is_node: bool) -> pa.Array:
        numbers = _numbers(self._graph.ids_of(indexes, of_nodes=is_node)).cast(pa.large_string())
        start = pa.scalar(self._graph.element_id_start(of_nodes=is_node), pa.large_string())
        return pc.binary_join_element_wise(start, numbers, pa.scalar("", pa.large_string()))

    def _node_structs(self, nodes: NDArray[Any]) -> pa.Array:
        offsets, label_ids = self._graph.label_ids_of(nodes)
        names = pa.array(self._graph.labels.names, pa.large_string())
        return node_structs(
            self._element_ids(nodes, is_node=True),
            pa.ListArray.from_arrays(
                _numbers(offsets.astype(np.int32)), names.take(_numbers(label_ids))
            ),
            self._properties(nodes, of_nodes=True),
        )

    def _relationship_structs(self, relationships: NDArray[Any]) -> pa.Array:
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
        columns = {key: column for key, column in sorted(columns.items()) if _has_values(column, 0)}
        arrays = {
            key: array_of_values(self._reader.values(column))
            if column.kind is ColumnKind.OBJECT
            else (self.chunks([column])[0], False)
            for key, column in columns.items()
        }
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
    """Represents entities in lists by element id; without a graph, by index."""

    def __init__(self, graph: DataGraph | None) -> None:
        self._graph = graph

    def nodes(self, indexes: NDArray[np.uint32]) -> list[Any]:
        """See `EntityReader`."""
        if self._graph is None:
            return list(indexes.tolist())
        return self._graph.element_ids(indexes, of_nodes=True)

    def relationships(self, indexes: NDArray[np.uint32]) -> list[Any]:
        """See `EntityReader`."""
        if self._graph is None:
            return list(indexes.tolist())
        return self._graph.element_ids(indexes, of_nodes=False)

    def path(self, nodes: Sequence[Any], relationships: Sequence[Any]) -> list[Any]:
        """See `EntityReader`: node, relationship, node, … in the order of the path."""
        steps = zip(relationships, nodes[1:], strict=True)
        return [nodes[0], *(part for step in steps for part in step)]


def _distinct(
    pieces: Sequence[Column], count: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The distinct indexes (all below ``count``), and each row's position among them."""
    used = [each.values if each.valid is None else each.values[each.valid] for each in pieces]
    if count > 4 * sum(map(len, used)) + 1024:
        distinct = unique_values(np.concatenate(used))
        last = max(len(distinct) - 1, 0)  # the value behind a null may exceed them all
        places = [np.minimum(np.searchsorted(distinct, each.values), last) for each in pieces]
        return distinct.astype(np.int64), places
    present = np.zeros(count, dtype=np.bool_)
    for each in used:
        present[each] = True
    place_of = np.append(np.maximum(np.cumsum(present) - 1, 0), 0)
    return np.flatnonzero(present), [place_of.take(each.values, mode="clip") for each in pieces]


def _texts_of(column: Column) -> pa.Array:
    dictionary = column.dictionary
    if isinstance(dictionary, StringDictionary):
        return dictionary.array.cast(pa.large_string())
    everything = np.arange(0 if dictionary is None else len(dictionary), dtype=np.int32)
    return pa.array(dictionary.values(everything) if dictionary else [], pa.large_string())


def _numbers(values: NDArray[Any]) -> pa.Array:
    """An Arrow array that shares the memory; booleans are copied, as Arrow stores them as bits."""
    if values.dtype == np.bool_:
        bits = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])
    return arrow_numbers(values)


def _with_validity(array: pa.Array, valid: NDArray[np.bool_] | None) -> pa.Array:
    # Built from buffers, so that the values are not copied and NaN is not read as null.
    if valid is None:
        return array
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [bits, array.buffers()[1]])
