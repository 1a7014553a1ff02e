"""Writes a result's rows as Bolt's records, a block of rows at a time, straight from its columns.

Each column gives one piece of bytes per row. A node, a relationship, a text or another value that
has a code is packed once per code, so a piece is mostly looked up; joining the pieces of all rows
is one call. This makes millions of records a second without a loop in Python over rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.values.chunked_column import chunks_of
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.result.entities import properties_of, start_nodes_of, type_ids_of
from gpugda.serve.framing import LARGEST_CHUNK, chunked
from gpugda.serve.packstream import NULL, Packer, list_header, map_header, pack_text
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.columns import Dictionary
    from gpugda.execute.result_table import ResultTable

__all__ = ["RecordWriter"]

_LARGEST_TABLE = 1 << 24
"""Most codes of a pool that keeps what it packed; it takes four bytes a code."""
_LARGEST_POOL = 64 << 20
"""A pool with more bytes than this starts anew, so that a long result takes bounded memory."""
_RECORD = b"\xb1\x71"


class _Pieces(NamedTuple):
    """One piece of bytes per row, and its length."""

    parts: list[bytes]
    lengths: NDArray[np.int64]


class RecordWriter:
    """Writes the records of one result.

    Args:
        table: The rows.
        utc: See `Packer`.
        element_ids: True to write element ids beside numbers (Bolt 5).
    """

    def __init__(self, table: ResultTable, *, utc: bool, element_ids: bool) -> None:
        self._table = table
        self._forms = _Forms(table, utc=utc, element_ids=element_ids)

    def block(self, start: int, stop: int) -> bytes:
        """The records of the rows ``start … stop-1``, in chunks."""
        if start >= stop:
            return b""
        count = stop - start
        names = list_header(len(self._table.columns))
        columns = [self._column(column, start, stop) for column in self._table.columns]
        lengths = len(_RECORD) + len(names) + sum(each.lengths for each in columns)
        lengths = np.broadcast_to(lengths, (count,))
        if int(lengths.max()) > LARGEST_CHUNK:
            rows = zip(*(each.parts for each in columns), strict=True)
            return b"".join(chunked(_RECORD + names + b"".join(row)) for row in rows)
        # The end mark of a record is written with the head of the next.
        heads = _joined_numbers(b"\0\0", lengths.astype(">u2"), _RECORD + names)
        parts = _interleaved([heads, *(each.parts for each in columns)], count)
        parts[0] = parts[0][2:]
        parts.append(b"\0\0")
        return b"".join(parts)

    def _column(self, column: Column, start: int, stop: int) -> _Pieces:
        pieces = [self._forms.pieces(chunk) for chunk in chunks_of(column, start, stop)]
        if len(pieces) == 1:
            return pieces[0]
        parts = [part for each in pieces for part in each.parts]
        return _Pieces(parts, np.concatenate([each.lengths for each in pieces]))


class _Forms:
    """The packed forms of a result's values.

    Args:
        table: The rows, whose graph the entities belong to.
        utc: See `Packer`.
        element_ids: See `RecordWriter`.
    """

    def __init__(self, table: ResultTable, *, utc: bool, element_ids: bool) -> None:
        self._graph: DataGraph = table.graph
        self._read_later = table.entity_properties
        self._element_ids = element_ids
        self._entities = _EntitiesOfValues(self)
        self.packer = Packer(utc=utc, entity=self._entities.packed)
        self._label_sets: dict[tuple[str, ...], bytes] = {}
        self._dictionaries: dict[int, _Pool] = {}
        graph = table.graph
        self.nodes = _Pool(self._make_nodes, graph.node_count)
        self.relationships = _Pool(self._make_relationships, graph.relationship_count)

    def pieces(self, column: Column) -> _Pieces:
        """The pieces of a column."""
        kind, values = column.kind, column.values
        if column.has_only_nulls or not len(column):
            return _constant(NULL, len(column))
        if kind is ColumnKind.NODE:
            found = self.nodes.pieces(values)
        elif kind is ColumnKind.RELATIONSHIP:
            found = self.relationships.pieces(values)
        elif kind is ColumnKind.INTEGER:
            found = _integers(values)
        elif kind is ColumnKind.FLOAT:
            found = _numbers(b"\xc1", values.astype(">f8"))
        elif kind is ColumnKind.BOOLEAN:
            found = _numbers(b"", values.astype(np.uint8) + np.uint8(0xC2))
        else:
            assert column.dictionary is not None
            found = self._pool_of(column.dictionary, kind).pieces(values)
        return found if column.valid is None else _with_nulls(found, column.valid)

    # -------------------------------------------------------------- values with codes
    def _pool_of(self, dictionary: Dictionary, kind: ColumnKind) -> _Pool:
        pool = self._dictionaries.get(id(dictionary))
        if pool is None:
            if kind is ColumnKind.STRING:
                pool = _Pool(
                    lambda codes: _of(map(pack_text, _text(dictionary, codes))), len(dictionary)
                )
            else:
                pool = _Pool(lambda codes: self._make_objects(dictionary, codes), len(dictionary))
            self._dictionaries[id(dictionary)] = pool
        return pool

    def _make_objects(self, dictionary: Dictionary, codes: NDArray[Any]) -> _Pieces:
        values = dictionary.values(codes.astype(np.int32))
        self._entities.note(values)
        return _of(map(self.packer.pack, values))

    # -------------------------------------------------------------- nodes and relationships
    def _make_nodes(self, indexes: NDArray[Any]) -> _Pieces:
        size = 4 if self._element_ids else 3
        columns = [
            _integers(self._graph.ids_of(indexes, of_nodes=True), bytes((0xB0 | size, ord("N")))),
            _of(map(self._packed_labels, self._graph.labels_of(indexes))),
            *self._properties(indexes, of_nodes=True),
            *self._element_ids_of(indexes, of_nodes=True),
        ]
        return _rows_of(columns, len(indexes))

    def _make_relationships(self, indexes: NDArray[Any]) -> _Pieces:
        starts = start_nodes_of(self._graph, indexes)
        ends = self._graph.outgoing.neighbours[indexes]
        head = bytes((0xB0 | (8 if self._element_ids else 5), ord("R")))
        columns = [
            _integers(self._graph.ids_of(indexes, of_nodes=False), head),
            _integers(self._graph.ids_of(starts.astype(np.uint32), of_nodes=True)),
            _integers(self._graph.ids_of(ends, of_nodes=True)),
            self._types(indexes),
            *self._properties(indexes, of_nodes=False),
            *self._element_ids_of(indexes, of_nodes=False),
            *self._element_ids_of(starts, of_nodes=True),
            *self._element_ids_of(ends, of_nodes=True),
        ]
        return _rows_of(columns, len(indexes))

    def make_unbound(self, indexes: NDArray[Any]) -> _Pieces:
        """Relationships as a path holds them: without their ends."""
        head = bytes((0xB0 | (4 if self._element_ids else 3), ord("r")))
        columns = [
            _integers(self._graph.ids_of(indexes, of_nodes=False), head),
            self._types(indexes),
            *self._properties(indexes, of_nodes=False),
            *self._element_ids_of(indexes, of_nodes=False),
        ]
        return _rows_of(columns, len(indexes))

    def starts_of(self, indexes: NDArray[Any]) -> NDArray[np.int64]:
        """Start node of each relationship."""
        return start_nodes_of(self._graph, indexes)

    def _types(self, indexes: NDArray[Any]) -> _Pieces:
        names = self._graph.types.names
        packed = {
            each: pack_text(names[each]) for each in set(type_ids_of(self._graph, indexes).tolist())
        }
        return _of(packed[each] for each in type_ids_of(self._graph, indexes).tolist())

    def _element_ids_of(self, indexes: NDArray[Any], *, of_nodes: bool) -> list[_Pieces]:
        if not self._element_ids:
            return []
        return [_of(map(pack_text, self._graph.element_ids(indexes, of_nodes=of_nodes)))]

    def _packed_labels(self, labels: tuple[str, ...]) -> bytes:
        found = self._label_sets.get(labels)
        if found is None:
            found = list_header(len(labels)) + b"".join(map(pack_text, labels))
            self._label_sets[labels] = found
        return found

    def _properties(self, indexes: NDArray[Any], *, of_nodes: bool) -> list[_Pieces]:
        """The map of properties: its head, and a column for each key."""
        graph = self._graph
        store = graph.node_properties if of_nodes else graph.relationship_properties
        if not store.complete and self._read_later is not None:
            rows = properties_of(graph, self._read_later, indexes, of_nodes=of_nodes)
            return [_of(map(self.packer.pack, rows))]
        counts = np.zeros(len(indexes), dtype=np.int64)
        columns = []
        for key, column in store.items():
            some = column.take(indexes)
            valid = some.valid
            if some.has_only_nulls:
                continue
            counts += 1 if valid is None else valid
            columns.append(_entries(pack_text(key), self.pieces(some), valid))
        headers = [map_header(size) for size in range(int(counts.max(initial=0)) + 1)]
        return [_of(headers[count] for count in counts.tolist()), *columns]


class _Pool:
    """What was packed, by code: each code is packed once.

    Args:
        make: Packs distinct codes.
        size: Number of codes.
    """

    def __init__(self, make: Callable[[NDArray[Any]], _Pieces], size: int) -> None:
        self._make = make
        self._slots = np.zeros(size, dtype=np.int32) if size <= _LARGEST_TABLE else None
        self._clear()

    def pieces(self, codes: NDArray[Any]) -> _Pieces:
        """The pieces of these codes, which may repeat."""
        if self._slots is None:
            distinct, places = np.unique(codes, return_inverse=True)
            parts, lengths = self._make(distinct)
            return _Pieces(_objects(parts)[places].tolist(), lengths[places])
        slots = self._slots[codes]
        if not slots.all():
            if self._bytes > _LARGEST_POOL:
                self._slots.fill(0)
                self._clear()
                slots = np.zeros_like(slots)
            self._add(unique_values(codes[slots == 0]))
            slots = self._slots[codes]
        return _Pieces(self._parts[slots].tolist(), self._lengths[slots])

    def _clear(self) -> None:
        self._parts = _objects([b""])  # slot 0: not packed yet
        self._lengths = np.zeros(1, dtype=np.int64)
        self._bytes = 0

    def _add(self, codes: NDArray[Any]) -> None:
        assert self._slots is not None
        parts, lengths = self._make(codes)
        first = len(self._parts)
        self._parts = np.concatenate([self._parts, _objects(parts)])
        self._lengths = np.concatenate([self._lengths, lengths])
        self._slots[codes] = np.arange(first, first + len(codes), dtype=np.int32)
        self._bytes += int(lengths.sum())


class _EntitiesOfValues:
    """Nodes, relationships and paths within lists, maps and other values.

    Args:
        forms: Packs them, many at once.
    """

    def __init__(self, forms: _Forms) -> None:
        self._forms = forms
        self._nodes: dict[int, bytes] = {}
        self._relationships: dict[int, bytes] = {}
        self._unbound: dict[int, bytes] = {}
        self._starts: dict[int, int] = {}

    def note(self, values: Iterable[Any]) -> None:
        """Packs what occurs in these values, which `packed` then looks up."""
        nodes: set[int] = set()
        relationships: set[int] = set()
        in_paths: set[int] = set()
        for entity in _entities_in(values):
            if isinstance(entity, Path):
                nodes.update(each.index for each in entity.nodes)
                in_paths.update(each.index for each in entity.relationships)
            else:
                (nodes if entity.is_node else relationships).add(entity.index)
        self._nodes = _by_index(nodes, self._forms.nodes.pieces)
        self._relationships = _by_index(relationships, self._forms.relationships.pieces)
        self._unbound = _by_index(in_paths, self._forms.make_unbound)
        indexes = _indexes(in_paths)
        starts = self._forms.starts_of(indexes).tolist() if len(indexes) else []
        self._starts = dict(zip(indexes.tolist(), starts, strict=True))

    def packed(self, value: Any) -> bytes:
        """An entity or a path."""
        if isinstance(value, Path):
            return self._path(value)
        return (self._nodes if value.is_node else self._relationships)[value.index]

    def _path(self, path: Path) -> bytes:
        nodes = list(dict.fromkeys(each.index for each in path.nodes))
        relationships = list(dict.fromkeys(each.index for each in path.relationships))
        node_places = {index: place for place, index in enumerate(nodes)}
        places = {index: place for place, index in enumerate(relationships, 1)}
        steps: list[int] = []
        for before, step, after in zip(
            path.nodes, path.relationships, path.nodes[1:], strict=False
        ):
            forward = self._starts[step.index] == before.index
            steps += (places[step.index] * (1 if forward else -1), node_places[after.index])
        return b"".join(
            [
                b"\xb3P",
                list_header(len(nodes)),
                *(self._nodes[each] for each in nodes),
                list_header(len(relationships)),
                *(self._unbound[each] for each in relationships),
                self._forms.packer.pack(steps),
            ]
        )


def _entities_in(values: Iterable[Any]) -> Iterable[Entity | Path]:
    for value in values:
        if isinstance(value, Entity | Path):
            yield value
        elif isinstance(value, list):
            yield from _entities_in(value)
        elif isinstance(value, dict):
            yield from _entities_in(value.values())


def _indexes(numbers: Iterable[int]) -> NDArray[np.uint32]:
    return np.array(sorted(numbers), dtype=np.uint32)


def _by_index(numbers: set[int], make: Callable[[NDArray[np.uint32]], _Pieces]) -> dict[int, bytes]:
    if not numbers:
        return {}
    indexes = _indexes(numbers)
    return dict(zip(indexes.tolist(), make(indexes).parts, strict=True))


# ------------------------------------------------------------------ pieces
def _of(parts: Iterable[bytes]) -> _Pieces:
    made = list(parts)
    return _Pieces(made, np.fromiter(map(len, made), dtype=np.int64, count=len(made)))


def _constant(part: bytes, count: int) -> _Pieces:
    return _Pieces([part] * count, np.full(count, len(part), dtype=np.int64))


def _objects(parts: Sequence[bytes]) -> NDArray[Any]:
    found = np.empty(len(parts), dtype=object)
    found[:] = parts
    return found


def _text(dictionary: Dictionary, codes: NDArray[Any]) -> list[str]:
    return dictionary.values(codes.astype(np.int32))


def _with_nulls(pieces: _Pieces, valid: NDArray[np.bool_]) -> _Pieces:
    for row in np.flatnonzero(~valid).tolist():
        pieces.parts[row] = NULL
    return _Pieces(pieces.parts, np.where(valid, pieces.lengths, len(NULL)))


def _entries(key: bytes, values: _Pieces, valid: NDArray[np.bool_] | None) -> _Pieces:
    """Entries of a map: the key and the value; nothing for null."""
    if valid is None:
        return _Pieces([key + part for part in values.parts], values.lengths + len(key))
    there = valid.tolist()
    parts = [key + part if has else b"" for part, has in zip(values.parts, there, strict=True)]
    return _Pieces(parts, np.where(valid, values.lengths + len(key), 0))


def _rows_of(columns: Sequence[_Pieces], count: int) -> _Pieces:
    """Joins the pieces of each row to one."""
    lengths = np.sum([each.lengths for each in columns], axis=0)
    whole = b"".join(_interleaved([each.parts for each in columns], count))
    ends = np.cumsum(lengths).tolist()
    parts = [whole[low:high] for low, high in zip([0, *ends], ends, strict=False)]
    return _Pieces(parts, lengths)


def _interleaved(columns: Sequence[list[bytes]], count: int) -> list[bytes]:
    width = len(columns)
    parts = [b""] * (width * count)
    for place, column in enumerate(columns):
        parts[place::width] = column
    return parts


def _integers(values: NDArray[Any], prefix: bytes = b"") -> _Pieces:
    """Integers, all in the width that the largest needs; each begins with ``prefix``."""
    low, high = int(values.min()), int(values.max())
    if low >= -0x10 and high < 0x80:
        return _numbers(prefix, values.astype(np.int8))
    for bits, marker in ((8, b"\xc8"), (16, b"\xc9"), (32, b"\xca")):
        if low >= -(1 << bits - 1) and high < 1 << bits - 1:
            return _numbers(prefix + marker, values.astype(f">i{bits // 8}"))
    return _numbers(prefix + b"\xcb", values.astype(">i8"))


def _numbers(prefix: bytes, values: NDArray[Any]) -> _Pieces:
    parts = _joined_numbers(prefix, values, b"")
    return _Pieces(parts, np.full(len(values), len(prefix) + values.itemsize, dtype=np.int64))


def _joined_numbers(prefix: bytes, values: NDArray[Any], suffix: bytes) -> list[bytes]:
    """The bytes of each number between a prefix and a suffix."""
    low, high = len(prefix), len(prefix) + values.itemsize
    table = np.empty((len(values), high + len(suffix)), dtype=np.uint8)
    table[:, :low] = np.frombuffer(prefix, dtype=np.uint8)
    table[:, low:high] = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    table[:, high:] = np.frombuffer(suffix, dtype=np.uint8)
    found: list[bytes] = table.view(f"V{table.shape[1]}").ravel().tolist()
    return found
