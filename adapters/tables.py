"""Data frames, Arrow tables and dicts of columns as a graph."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.errors import SourceError
from gpugda.ports import GraphBatches

from .labels import LabelSet, distinct_labels, encode_label_sets, encode_label_texts, split_labels
from .table_columns import TableColumns, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.ports import Progress

__all__ = ["TablesSource"]

_LARGEST_INTEGER = 2**63 - 1


class TablesSource:
    """A graph in tables: data frames of pandas or Polars, Arrow tables, or dicts of columns.

    Args:
        nodes: A table or a list of tables with a column ``id`` (integers or text, each once in all
            tables) and perhaps ``labels``: text (``"Person"``, ``"Person:Actor"``) or a list of
            texts. All columns but ``labels`` are properties, ``id`` too.
        relationships: The same with columns ``source``, ``target`` (ids of nodes) and ``type``
            (text). The other columns are properties.
    """

    def __init__(self, nodes: Any = None, relationships: Any = None) -> None:
        self._nodes = _tables(nodes, "nodes")
        self._relationships = _tables(relationships, "relationships")

    @property
    def name(self) -> str:
        """``tables``."""
        return "tables"

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """One batch a table.

        Raises:
            SourceError: A column is missing or has wrong values; tells table, column and row.
        """
        del progress  # whoever builds the graph counts rows
        yield GraphBatches(
            (_node_batch(open_table(table, origin)) for origin, table in self._nodes),
            (
                _relationship_batch(open_table(table, origin))
                for origin, table in self._relationships
            ),
        )


def _tables(given: Any, origin: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, (list, tuple)):
        return [(origin, given)]
    return [(f"{origin}[{place}]", table) for place, table in enumerate(given)]


def _node_batch(table: TableColumns) -> NodeBatch:
    ids = _ids(table, "id")
    TableColumns(table.origin, {"id": ids}, table.count).property_column("id")
    codes, label_sets = _labels(table)
    names = [name for name in table.columns if name not in {"id", "labels"}]
    properties = {name: table.property_column(name) for name in names}
    return NodeBatch(
        count=table.count,
        ids=ids,
        label_codes=codes,
        label_sets=label_sets,
        properties={
            "id": TableColumns(table.origin, {"id": ids}, table.count).property_column("id")
        }
        | properties,
        origin=table.origin,
    )


def _relationship_batch(table: TableColumns) -> RelationshipBatch:
    source_ids, target_ids = _ids(table, "source"), _ids(table, "target")
    codes, names = _types(table)
    others = [name for name in table.columns if name not in {"source", "target", "type"}]
    return RelationshipBatch(
        count=table.count,
        source_ids=source_ids,
        target_ids=target_ids,
        type_codes=codes,
        type_names=names,
        properties={name: table.property_column(name) for name in others},
        origin=table.origin,
    )


# ------------------------------------------------------------------ ids
def _ids(table: TableColumns, name: str) -> pa.Array:
    """An id column as ``int64`` or ``large_string`` without nulls."""
    raw = table.required(name)
    if isinstance(raw, list):
        return _ids_of_values(raw, table.origin, name)
    array = raw.combine_chunks() if isinstance(raw, pa.ChunkedArray) else raw
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    kind = array.type
    if array.null_count:
        row = pc.index(array.is_null(), value=True).as_py() + 1
        raise SourceError(f"{table.origin}, row {row}: {name!r} is null")
    if len(array) == 0:
        return pa.array([], pa.int64())
    if pa.types.is_integer(kind):
        return _int64(array, table.origin, name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.large_string())
    raise SourceError(f"{table.origin}, column {name!r}: ids are integers or text, not {kind}")


def _int64(array: pa.Array, origin: str, name: str) -> pa.Array:
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        too_large = pc.greater(array, pa.scalar(_LARGEST_INTEGER, array.type))
        row = pc.index(too_large, value=True).as_py() + 1
        raise SourceError(f"{origin}, row {row}: {name!r} is beyond 64 bit integers") from None


def _ids_of_values(values: list[Any], origin: str, name: str) -> pa.Array:
    text = bool(values) and isinstance(values[0], str)
    wanted: type | tuple[type, ...] = str if text else (int, np.integer)
    for row, value in enumerate(values, start=1):
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise SourceError(f"{origin}, row {row}: {_why_no_id(value, name, text=text)}")
    try:
        return pa.array(values, pa.large_string() if text else pa.int64())
    except OverflowError:
        row = next(row for row, value in enumerate(values, 1) if not _fits(value))
        raise SourceError(f"{origin}, row {row}: {name!r} is beyond 64 bit integers") from None
    except UnicodeEncodeError as error:
        raise SourceError(f"{origin}, column {name!r}: {error}") from None


def _fits(value: int) -> bool:
    return -_LARGEST_INTEGER - 1 <= value <= _LARGEST_INTEGER


def _why_no_id(value: object, name: str, *, text: bool) -> str:
    if value is None:
        return f"{name!r} is null"
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        here, others = ("an integer", "texts") if text else ("a text", "integers")
        return f"{name!r} is {here} ({value!r}), the ones before are {others}; make them all alike"
    return f"{name!r} is a {type(value).__name__} ({value!r}); ids are integers or text"


# ------------------------------------------------------------------ labels and types
def _labels(table: TableColumns) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    raw = table.columns.get("labels")
    if raw is None:
        return np.zeros(table.count, dtype=np.int32), ((),)
    texts = _texts(raw)
    if texts is not None:
        return encode_label_texts(texts, split_labels)
    values = raw if isinstance(raw, list) else raw.to_pylist()
    return encode_label_sets(
        [_label_set(value, table.origin, row) for row, value in enumerate(values, start=1)]
    )


def _label_set(value: object, origin: str, row: int) -> LabelSet:
    if value is None:
        return ()
    if isinstance(value, str):
        return split_labels(value)
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        labels = list(value)
        if all(isinstance(label, str) for label in labels):
            return distinct_labels(labels)
    raise SourceError(
        f"{origin}, row {row}: 'labels' is {value!r}; labels are a text or a list of texts"
    )


def _types(table: TableColumns) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    raw = table.required("type")
    texts = _texts(raw)
    if texts is None:
        values = raw if isinstance(raw, list) else raw.to_pylist()
        row, value = next(
            (row, value) for row, value in enumerate(values, 1) if not isinstance(value, str)
        )
        shown = "null" if value is None else repr(value)
        raise SourceError(f"{table.origin}, row {row}: 'type' is {shown}; a type is a text")
    missing = pc.fill_null(pc.equal(texts, ""), fill_value=True)
    if pc.any(missing).as_py():
        row = pc.index(missing, value=True).as_py() + 1
        raise SourceError(f"{table.origin}, row {row}: 'type' is null or empty")
    encoded = texts.dictionary_encode()
    codes: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
    return codes, tuple(encoded.dictionary.to_pylist())


def _texts(raw: Any) -> pa.Array | None:
    """The column as one Arrow array of texts; None if it is no column of texts."""
    if isinstance(raw, list):
        if not all(value is None or isinstance(value, str) for value in raw):
            return None
        return pa.array(raw, pa.large_string())
    kind = raw.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        return None
    whole = raw.cast(pa.large_string())
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
