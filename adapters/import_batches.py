"""Converts blocks of import files to batches of nodes and relationships."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.columns import Column, column_from_arrow
from gpugda.errors import SourceError

from .import_values import TextRules, property_column
from .labels import distinct_labels, encode_label_texts
from .text_values import BadValueError, parse_integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from .import_header import HeaderField, ImportHeader
    from .import_tables import TextBlock
    from .labels import LabelSet

__all__ = ["BatchRules", "node_batches", "relationship_batches"]

_INTEGER_IDS = frozenset(["int", "integer", "long", "short", "byte", "actual"])


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Settings for the conversion of text columns to batches.

    Args:
        texts: Arrays and blanks.
        integer_ids: True if ids are integers unless the header says otherwise.
        id_types: Types of ids by id space, from the headers of nodes, for those of relationships.
    """

    texts: TextRules
    integer_ids: bool = False
    id_types: Mapping[str, str] = field(default_factory=dict)


def node_batches(
    blocks: Iterable[TextBlock],
    header: ImportHeader,
    labels: LabelSet,
    rules: BatchRules,
    origin: str,
) -> Iterator[NodeBatch]:
    """One batch per block; rows without id go to a batch of their own.

    Args:
        blocks: Rows of one group of files.
        header: The group's header.
        labels: Labels of all rows.
        rules: The import's settings.
        origin: File of the header, for messages.

    Raises:
        SourceError: The header has no ``:ID``, or a value is wrong.
    """
    if not header.is_node:
        raise SourceError(
            f"{origin}: the header has no :ID, so that no relationship could name these nodes; "
            "write for example id:ID"
        )
    place = header.positions("ID")[0]
    for block in blocks:
        missing = _missing(block.columns[place])
        if not missing.any():
            yield _node_batch(block, header, labels, rules)
            continue
        numbers = block.first_row + np.arange(block.count)
        for rows, with_ids in ((~missing, True), (missing, False)):
            if rows.any():
                part = _part(block, rows)
                yield _node_batch(part, header, labels, rules, numbers[rows], with_ids=with_ids)


def relationship_batches(
    blocks: Iterable[TextBlock],
    header: ImportHeader,
    type_name: str,
    rules: BatchRules,
    origin: str,
) -> Iterator[RelationshipBatch]:
    """One batch per block.

    Args:
        blocks: Rows of one group of files.
        header: The group's header.
        type_name: Type of rows without one; empty for none.
        rules: The import's settings.
        origin: File of the header, for messages.

    Raises:
        SourceError: The header lacks an id, a row has no type or id, or a value is wrong.
    """
    for role in ("START_ID", "END_ID"):
        if not header.positions(role):
            raise SourceError(f"{origin}: the header has no :{role}")
    if not header.positions("TYPE") and not type_name:
        raise SourceError(
            f"{origin}: the header has no :TYPE, and no type is given for the file; "
            "add the column or name the type"
        )
    for block in blocks:
        yield _relationship_batch(block, header, type_name, rules)


def _node_batch(
    block: TextBlock,
    header: ImportHeader,
    labels: LabelSet,
    rules: BatchRules,
    rows: NDArray[np.int64] | None = None,
    *,
    with_ids: bool = True,
) -> NodeBatch:
    place = header.positions("ID")[0]
    column = header.fields[place]
    ids = _ids(block, place, column, rules) if with_ids else None
    codes, label_sets = _labels(block, header, labels, rules)
    properties = _properties(block, header, rules)
    if column.name and ids is not None:
        properties = {column.name: column_from_arrow(ids), **properties}
    return NodeBatch(
        count=block.count,
        ids=ids,
        label_codes=codes,
        label_sets=label_sets,
        properties=properties,
        id_space=column.space,
        origin=block.origin,
        rows=block.first_row if rows is None else rows,
    )


def _relationship_batch(
    block: TextBlock, header: ImportHeader, type_name: str, rules: BatchRules
) -> RelationshipBatch:
    start, end = header.positions("START_ID")[0], header.positions("END_ID")[0]
    for place, role in ((start, "START_ID"), (end, "END_ID")):
        _refuse_missing(block, place, f":{role}")
    codes, names = _types(block, header, type_name)
    return RelationshipBatch(
        count=block.count,
        source_ids=_ids(block, start, header.fields[start], rules),
        target_ids=_ids(block, end, header.fields[end], rules),
        type_codes=codes,
        type_names=names,
        properties=_properties(block, header, rules),
        source_space=header.fields[start].space,
        target_space=header.fields[end].space,
        origin=block.origin,
        rows=block.first_row,
    )


def _part(block: TextBlock, rows: NDArray[np.bool_]) -> TextBlock:
    mask = pa.array(rows)
    columns = tuple(column.filter(mask) for column in block.columns)
    return type(block)(columns, block.origin, block.first_row)


def _properties(block: TextBlock, header: ImportHeader, rules: BatchRules) -> dict[str, Column]:
    return {
        column.name: property_column(
            block.columns[place], column, rules.texts, block.origin, block.first_row
        )
        for place, column in enumerate(header.fields)
        if column.role == "PROPERTY"
    }


def _ids(block: TextBlock, place: int, column: HeaderField, rules: BatchRules) -> pa.Array:
    texts = block.columns[place]
    default = rules.id_types.get(column.space, "integer" if rules.integer_ids else "string")
    id_type = column.options.get("id-type", default).lower()
    if id_type == "string":
        return texts
    if id_type not in _INTEGER_IDS:
        raise SourceError(f"{block.origin}: id-type {id_type!r} in the header: use string or int")
    try:
        return parse_integers(texts)
    except BadValueError as error:
        raise SourceError(
            f"{block.origin}, row {block.first_row + error.row}, column :{column.role}: "
            f"the id {error.text[:80]!r} is {error.reason}"
        ) from None


def _labels(
    block: TextBlock, header: ImportHeader, labels: LabelSet, rules: BatchRules
) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    places = header.positions("LABEL")
    if not places:
        return np.zeros(block.count, dtype=np.int32), (labels,)
    mark = rules.texts.array_delimiter
    return encode_label_texts(
        block.columns[places[0]], lambda text: distinct_labels([*labels, *text.split(mark)])
    )


def _types(
    block: TextBlock, header: ImportHeader, type_name: str
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    places = header.positions("TYPE")
    if not places:
        return np.zeros(block.count, dtype=np.int32), (type_name,)
    texts = block.columns[places[0]]
    if type_name:
        texts = pc.if_else(pa.array(_missing(texts)), pa.scalar(type_name), texts)
    else:
        _refuse_missing(block, places[0], ":TYPE")
    encoded = texts.dictionary_encode()
    codes: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
    return codes, tuple(encoded.dictionary.to_pylist())


def _missing(texts: pa.Array) -> NDArray[np.bool_]:
    empty = pc.fill_null(pc.equal(texts, ""), fill_value=True)
    missing: NDArray[np.bool_] = empty.to_numpy(zero_copy_only=False)
    return missing


def _refuse_missing(block: TextBlock, place: int, shown: str) -> None:
    missing = _missing(block.columns[place])
    if missing.any():
        row = block.first_row + int(np.argmax(missing))
        raise SourceError(f"{block.origin}, row {row}: {shown} is empty")
