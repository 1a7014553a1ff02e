"""Converts tables of nodes and relationships to batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, arrow_texts, numpy_numbers
from gpugda.errors import SourceError

from .distinct_ids import distinct_ids
from .labels import LabelSet, distinct_labels, encode_label_sets, encode_label_texts, split_labels
from .table_columns import TableColumns, one_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .column_names import ColumnNames

__all__ = ["Ends", "end_nodes", "node_batch", "relationship_batch"]

_LARGEST_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ends:
    """Facts about all relationships of a table.

    Args:
        type_name: Type of relationships without one; empty for none.
        source_space: Id space of start nodes.
        target_space: Id space of end nodes.
    """

    type_name: str = ""
    source_space: str = ""
    target_space: str = ""


def node_batch(
    table: TableColumns, names: ColumnNames, labels: LabelSet = (), id_space: str = ""
) -> NodeBatch:
    """The nodes of a table.

    Args:
        table: The columns.
        names: Names of the special columns.
        labels: Labels of all nodes.
        id_space: The space in which the ids are unique.

    Raises:
        SourceError: A column is missing or has wrong values; names table, column and row.
    """
    ids = _ids(table, names.id)
    codes, label_sets = _labels(table, names.labels, labels)
    columns = {
        name: table.kept_column(name)
        for name in table.columns
        if name not in {names.id, names.labels}
    }
    if names.keep_ids:
        kept = TableColumns(table.origin, {names.id: ids}, table.count, table.changeable)
        columns = {names.id: kept.kept_column(names.id), **columns}
    return NodeBatch(
        count=table.count,
        ids=ids,
        label_codes=codes,
        label_sets=label_sets,
        properties=columns,
        id_space=id_space,
        origin=table.origin,
    )


def relationship_batch(
    table: TableColumns, names: ColumnNames, ends: Ends | None = None
) -> RelationshipBatch:
    """The relationships of a table.

    Raises:
        SourceError: A column is missing or has wrong values; names table, column and row.
    """
    ends = ends or Ends()
    source_ids, target_ids = _ids(table, names.source), _ids(table, names.target)
    codes, type_names = _types(table, names.type, ends.type_name)
    others = [
        name for name in table.columns if name not in {names.source, names.target, names.type}
    ]
    return RelationshipBatch(
        count=table.count,
        source_ids=source_ids,
        target_ids=target_ids,
        type_codes=codes,
        type_names=type_names,
        properties={name: table.property_column(name) for name in others},
        source_space=ends.source_space,
        target_space=ends.target_space,
        origin=table.origin,
    )


def end_nodes(
    batches: list[RelationshipBatch], names: ColumnNames, labels_of: dict[str, LabelSet]
) -> list[NodeBatch]:
    """The nodes that relationships name, one batch per id space, in order of first appearance.

    Args:
        batches: The relationships.
        names: Names the property that keeps the ids.
        labels_of: Labels per id space.
    """
    ids: dict[str, list[pa.Array]] = {}
    for batch in batches:
        ids.setdefault(batch.source_space, []).append(batch.source_ids)
        ids.setdefault(batch.target_space, []).append(batch.target_ids)
    made = []
    for space, pieces in ids.items():
        some = [piece for piece in pieces if len(piece)] or pieces[:1]
        if len({pa.types.is_integer(piece.type) for piece in some}) > 1:
            raise SourceError(
                "relationships: some ids are integers and others are texts, and 1 is not '1'; give "
                "all of them one type"
            )
        distinct = distinct_ids(some)
        table = TableColumns("nodes", {names.id: distinct}, len(distinct))
        made.append(node_batch(table, names, labels_of.get(space, ()), space))
    return made


# ------------------------------------------------------------------ ids
def _ids(table: TableColumns, name: str) -> pa.Array:
    """An id column of integers or ``large_string`` without nulls, copied only if necessary."""
    raw = table.required(name)
    if isinstance(raw, list):
        return _ids_of_values(raw, table.origin, name)
    array = one_array(raw) if isinstance(raw, pa.ChunkedArray) else raw
    kind = array.type
    if array.null_count:
        row = pc.index(array.is_null(), value=True).as_py() + 1
        raise SourceError(f"{table.origin}, row {row}: {name!r} is null{_float_hint(kind)}")
    if len(array) == 0:
        return pa.array([], pa.int64())
    if pa.types.is_uint64(kind) or pa.types.is_decimal(kind):
        return _int64(array, table.origin, name)
    if pa.types.is_integer(kind):
        return array
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.large_string())
    raise SourceError(
        f"{table.origin}, column {name!r}: ids are integers or text, not {kind}{_float_hint(kind)}"
    )


def _float_hint(kind: Any) -> str:
    """How ids become integers again: pandas makes floats of a column in which one is missing."""
    if not pa.types.is_floating(kind):
        return ""
    return (
        "; pandas makes integers floats where one is missing: drop such rows "
        "(.dropna(subset=[…])), then .astype('int64')"
    )


def _int64(array: pa.Array, origin: str, name: str) -> pa.Array:
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        row = next(row for row, value in enumerate(array, 1) if not _is_int64(value.as_py()))
        raise SourceError(
            f"{origin}, row {row}: {name!r} is beyond 64 bit integers, or none: {array[row - 1]}"
        ) from None


def _ids_of_values(values: list[Any], origin: str, name: str) -> pa.Array:
    text = bool(values) and isinstance(values[0], str)
    wanted: type | tuple[type, ...] = str if text else (int, np.integer)
    for row, value in enumerate(values, start=1):
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise SourceError(f"{origin}, row {row}: {_why_no_id(value, name, text=text)}")
    try:
        return arrow_texts(values) if text else arrow_numbers(np.array(values, np.int64))
    except OverflowError:
        row = next(row for row, value in enumerate(values, 1) if not _is_int64(value))
        raise SourceError(f"{origin}, row {row}: {name!r} is beyond 64 bit integers") from None
    except UnicodeEncodeError as error:
        raise SourceError(f"{origin}, column {name!r}: {error}") from None


def _is_int64(value: Any) -> bool:
    """True for an integer of 64 bits; `value` is an integer or a decimal."""
    return bool(-_LARGEST_INTEGER - 1 <= value <= _LARGEST_INTEGER and value == int(value))


def _why_no_id(value: object, name: str, *, text: bool) -> str:
    if value is None:
        return f"{name!r} is null"
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        here, others = ("an integer", "texts") if text else ("a text", "integers")
        return f"{name!r} is {here} ({value!r}), the ones before are {others}; make them all alike"
    return f"{name!r} is a {type(value).__name__} ({value!r}); ids are integers or text"


# ------------------------------------------------------------------ labels and types
def _labels(
    table: TableColumns, name: str, more: LabelSet
) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    if table.columns.get(name) is None:
        return np.zeros(table.count, dtype=np.int32), (more,)
    raw = table.plain(name)
    texts = _texts(raw)
    if texts is not None:
        return encode_label_texts(texts, lambda text: distinct_labels([*more, *split_labels(text)]))
    values = raw if isinstance(raw, list) else raw.to_pylist()
    return encode_label_sets(
        [
            distinct_labels([*more, *_label_set(value, table.origin, name, row)])
            for row, value in enumerate(values, start=1)
        ]
    )


def _label_set(value: object, origin: str, name: str, row: int) -> LabelSet:
    if value is None:
        return ()
    if isinstance(value, str):
        return split_labels(value)
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        labels = list(value)
        if all(isinstance(label, str) for label in labels):
            return distinct_labels(labels)
    raise SourceError(
        f"{origin}, row {row}: {name!r} is {value!r}; labels are a text or a list of texts"
    )


def _types(
    table: TableColumns, name: str, default: str
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    if default and name not in table.columns:
        return np.zeros(table.count, dtype=np.int32), (default,)
    known = table.encoded(name)
    if known is not None and pc.min(pc.binary_length(known.dictionary)).as_py():
        return _codes_and_names(known)
    if name not in table.columns:
        there = ", ".join(map(repr, table.columns))
        raise SourceError(
            f"{table.origin}: has no column {name!r} of types; give their type, as in type='KNOWS' "
            f"or {{'KNOWS': table}}, or the column's name. Its columns: {there}"
        )
    raw = table.plain(name)
    texts = _texts(raw)
    if texts is None:
        values = raw if isinstance(raw, list) else raw.to_pylist()
        row, value = next(
            (row, value) for row, value in enumerate(values, 1) if not isinstance(value, str)
        )
        shown = "null" if value is None else repr(value)
        raise SourceError(f"{table.origin}, row {row}: {name!r} is {shown}; a type is a text")
    missing = numpy_numbers(pc.binary_length(texts)) == 0  # or null
    if default and missing.any():
        texts = pc.if_else(pa.array(missing), pa.scalar(default, texts.type), texts)
    elif missing.any():
        row = int(missing.argmax()) + 1
        raise SourceError(f"{table.origin}, row {row}: {name!r} is null or empty")
    return _codes_and_names(texts.dictionary_encode())


def _codes_and_names(encoded: pa.DictionaryArray) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The code of each value, and the distinct texts that occur, without decoding any value."""
    indexes, texts = numpy_numbers(encoded.indices), encoded.dictionary.to_pylist()
    names = list(dict.fromkeys(texts[each] for each in pc.unique(encoded.indices).to_pylist()))
    codes = {name: code for code, name in enumerate(names)}
    code_of = np.array([codes.get(text, 0) for text in texts], dtype=np.int32)
    if np.array_equal(code_of, np.arange(len(texts))) and indexes.dtype == np.int32:
        return indexes, tuple(names)
    return code_of[indexes], tuple(names)


def _texts(raw: Any) -> pa.Array | None:
    """The column as one Arrow array of texts; None if it is not a column of texts."""
    if isinstance(raw, list):
        if not all(value is None or isinstance(value, str) for value in raw):
            return None
        return arrow_texts(raw)
    kind = raw.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        return None
    whole = raw.cast(pa.large_string())
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
