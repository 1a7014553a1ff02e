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

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa

from gpugda.data.integer_sets import unique_values
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers
from gpugda.data.values.chunked_column import chunks_of
from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.errors import ConfigurationError
from gpugda.result.entities import PlainEntities, properties_of, start_nodes_of, type_ids_of
from gpugda.result.rows import RowReader
from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.result_table import ResultTable
    from gpugda.result.entities import EntityReader, NodeValue, PathValue, RelationshipValue


__all__ = [
    "MIXED",
    "EntityForm",
    "array_of_values",
    "arrow_table",
    "check_form",
    "node_structs",
    "properties_of_rows",
    "relationship_structs",
    "struct_of_properties",
]

EntityForm = Literal["struct", "index", "id"]
"""How nodes and relationships are represented, see ``Result.to_arrow``."""

MIXED = {b"gpugda.mixed": b"cypher text"}
"""Metadata of a field whose values had several types and became Cypher text."""

_DURATION = pa.struct([(name, pa.int64()) for name in ("months", "days", "seconds", "nanoseconds")])
_POINT = pa.struct(
    [("srid", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64())]
)
_DAY_NS = 86_400 * 10**9
_EPOCH_ORDINAL = 719_163  # ordinal of 1970-01-01


def array_of_values(values: Sequence[Any]) -> tuple[pa.Array, bool]:
    """The array of any values, and True if they became text."""
    try:
        return _typed_array(values), False
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        texts = [None if value is None else format_value(value) for value in values]
        return pa.array(texts, pa.large_string()), True


def struct_of_properties(arrays: Mapping[str, tuple[pa.Array, bool]], count: int) -> pa.StructArray:
    """The properties of ``count`` nodes or relationships.

    Args:
        arrays: By key, the array and True if its values became text.
        count: Length of the arrays.
    """
    if not arrays:
        return pa.array([{}] * count, pa.struct([]))
    fields = [
        pa.field(key, array.type, metadata=MIXED if mixed else None)
        for key, (array, mixed) in arrays.items()
    ]
    return pa.StructArray.from_arrays([array for array, _ in arrays.values()], fields=fields)


def properties_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.StructArray:
    """The properties of nodes or relationships; ``rows`` holds those of one each."""
    keys = sorted({key for row in rows for key in row})
    arrays = {key: array_of_values([row.get(key) for row in rows]) for key in keys}
    return struct_of_properties(arrays, len(rows))


def node_structs(element_ids: pa.Array, labels: pa.Array, properties: pa.Array) -> pa.StructArray:
    """Nodes from arrays with one entry per node; ``labels`` holds lists of strings."""
    return pa.StructArray.from_arrays(
        [element_ids, labels, properties], names=["element_id", "labels", "properties"]
    )


def relationship_structs(
    element_ids: pa.Array, types: pa.Array, starts: pa.Array, ends: pa.Array, properties: pa.Array
) -> pa.StructArray:
    """Relationships from arrays with one entry per relationship."""
    return pa.StructArray.from_arrays(
        [element_ids, types, starts, ends, properties],
        names=["element_id", "type", "start", "end", "properties"],
    )


def _typed_array(values: Sequence[Any]) -> pa.Array:
    """An array of the Arrow type that holds all values.

    Raises:
        pyarrow.ArrowInvalid: No Arrow type holds them all.
    """
    names = {_kind(value) for value in values} - {"null"}
    if not names:
        return pa.nulls(len(values))
    if len(names) > 1 and names != {"number", "integer"}:
        raise pa.ArrowInvalid("several types")
    name = names.pop() if len(names) == 1 else "number"
    if name == "list":
        return _list_array(values)
    if name in _CONVERTERS:
        return _CONVERTERS[name](values)
    if name in ("integer", "number", "boolean"):
        return pa.array(values)
    if name == "string":
        return pa.array(values, pa.large_string())
    raise pa.ArrowInvalid(f"no type for {name}")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "list"),
        (dict, "map"),
    ):
        if isinstance(value, kind):
            return name
    name = type(value).__name__
    if name in ("DateTime", "Time"):
        return f"local {name}" if value.tzinfo is None else f"zoned {name}"
    return "Point" if "Point" in name else name


def _list_array(values: Sequence[Any]) -> pa.Array:
    lengths = [0 if value is None else len(value) for value in values]
    items = _typed_array([item for value in values if value is not None for item in value])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    mask = np.array([value is None for value in values], dtype=np.bool_)
    return pa.LargeListArray.from_arrays(pa.array(offsets), items, mask=pa.array(mask))


def _dates(values: Sequence[Any]) -> pa.Array:
    days = [None if value is None else value.to_ordinal() - _EPOCH_ORDINAL for value in values]
    return pa.array(days, pa.int32()).cast(pa.date32())


def _local_times(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else value.ticks for value in values], pa.int64()).cast(
        pa.time64("ns")
    )


def _timestamps(values: Sequence[Any], zone: str | None) -> pa.Array:
    nanoseconds = [None if value is None else _nanoseconds(value) for value in values]
    known = [each for each in nanoseconds if each is not None]
    if all(-(2**63) < each < 2**63 for each in known):
        return pa.array(nanoseconds, pa.int64()).cast(pa.timestamp("ns", zone))
    if any(each % 1000 for each in known):
        raise pa.ArrowInvalid("neither nanoseconds nor microseconds hold these")
    microseconds = [None if each is None else each // 1000 for each in nanoseconds]
    return pa.array(microseconds, pa.int64()).cast(pa.timestamp("us", zone))


def _nanoseconds(value: Any) -> int:
    days = int(value.date().to_ordinal()) - _EPOCH_ORDINAL
    offset = value.utcoffset()
    # Zone offsets are whole seconds.
    shift = 0 if offset is None else int(offset.total_seconds())
    return days * _DAY_NS + int(value.time().ticks) - shift * 10**9


def _durations(values: Sequence[Any]) -> pa.Array:
    keys = ("months", "days", "seconds", "nanoseconds")
    made = [
        None if value is None else {key: getattr(value, key) for key in keys} for value in values
    ]
    return pa.array(made, _DURATION)


def _points(values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else _point(value) for value in values], _POINT)


def _point(value: Any) -> dict[str, Any]:
    coordinates = [float(each) for each in value]
    return {"srid": value.srid, **dict(zip("xyz", coordinates, strict=False))}


def _nodes(values: Sequence[NodeValue | None]) -> pa.Array:
    distinct, places = _distinct_values(values)
    return node_structs(
        _texts([node.element_id for node in distinct]),
        pa.array([list(node.labels) for node in distinct], pa.list_(pa.large_string())),
        properties_of_rows([node.properties for node in distinct]),
    ).take(places)


def _relationships(values: Sequence[RelationshipValue | None]) -> pa.Array:
    distinct, places = _distinct_values(values)
    return relationship_structs(
        _texts([each.element_id for each in distinct]),
        _texts([each.type for each in distinct]),
        _texts([each.start for each in distinct]),
        _texts([each.end for each in distinct]),
        properties_of_rows([each.properties for each in distinct]),
    ).take(places)


def _distinct_values(values: Sequence[Any]) -> tuple[list[Any], pa.Array]:
    """The distinct entities, and each value's position among them."""
    known = {value.element_id: value for value in values if value is not None}
    place_of = {element_id: place for place, element_id in enumerate(known)}
    places = [None if value is None else place_of[value.element_id] for value in values]
    return list(known.values()), pa.array(places, pa.int64())


def _paths(values: Sequence[PathValue | None]) -> pa.Array:
    parts = [
        _list_array([None if path is None else list(getattr(path, name)) for path in values])
        for name in ("nodes", "relationships")
    ]
    missing = pa.array([path is None for path in values], pa.bool_())
    return pa.StructArray.from_arrays(parts, names=["nodes", "relationships"], mask=missing)


def _maps(values: Sequence[dict[str, Any] | None]) -> pa.Array:
    """A struct of all keys; a key that a map lacks is null."""
    made = properties_of_rows([value or {} for value in values])
    missing = pa.array([value is None for value in values], pa.bool_())
    if made.type.num_fields == 0:
        return pa.array([None if value is None else {} for value in values], made.type)
    fields = [made.type.field(place) for place in range(made.type.num_fields)]
    return pa.StructArray.from_arrays(made.flatten(), fields=fields, mask=missing)


def _texts(values: Sequence[str]) -> pa.Array:
    return pa.array(values, pa.large_string())


_CONVERTERS: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    "Date": _dates,
    "local Time": _local_times,
    "local DateTime": lambda values: _timestamps(values, None),
    "zoned DateTime": lambda values: _timestamps(values, "UTC"),
    "Duration": _durations,
    "Point": _points,
    "NodeValue": _nodes,
    "RelationshipValue": _relationships,
    "PathValue": _paths,
    "map": _maps,
}


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
