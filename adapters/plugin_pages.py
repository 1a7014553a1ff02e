"""Decodes nodes and relationships that gpugda's plugin packs, a page of ids at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch

from .bolt_pages import IdRange
from .bolt_reading import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import neo4j
    from numpy.typing import NDArray

    from .bolt_pages import Page

__all__ = ["PLUGIN_PAGE", "plugin_nodes", "plugin_relationships", "unpacked"]

PLUGIN_PAGE = 1 << 18
"""Ids per page: the answer has some 3 MB, and the server needs 12 MB to build it."""

_NARROW = 4
_WIDE = 8


def plugin_nodes() -> Call[NodeBatch]:
    """Requests all nodes of a page."""
    return Call("CALL gpugda.nodes($first, $last)", _range, _nodes)


def plugin_relationships() -> Call[RelationshipBatch]:
    """Requests all relationships of a page."""
    return Call("CALL gpugda.relationships($first, $last)", _range, _relationships)


def unpacked(packed: bytes, count: int) -> NDArray[Any]:
    """Unsigned numbers of four bytes, or signed ones of eight; a view of the bytes.

    Raises:
        ValueError: There are more or fewer numbers than ``count``.
    """
    if len(packed) == count * _NARROW:
        return np.frombuffer(packed, "<u4")
    if len(packed) != count * _WIDE:
        raise ValueError(f"{len(packed)} bytes for {count} numbers")
    return np.frombuffer(packed, "<i8")


def _range(page: Page) -> Mapping[str, Any]:
    assert isinstance(page, IdRange)
    return page.parameters


def _nodes(page: Page, records: list[neo4j.Record]) -> NodeBatch:
    (row,) = records
    count = int(row["count"])
    return NodeBatch(
        count=count,
        ids=pa.array(_ids(page, row["ids"], count)),
        label_codes=np.frombuffer(row["codes"], "<u2", count).astype(np.int32),
        label_sets=tuple(tuple(labels) for labels in row["labelSets"]),
        properties={},
        origin=f"nodes of the database, {page.described}",
    )


def _relationships(page: Page, records: list[neo4j.Record]) -> RelationshipBatch:
    (row,) = records
    count = int(row["count"])
    return RelationshipBatch(
        count=count,
        source_ids=pa.array(unpacked(row["sources"], count)),
        target_ids=pa.array(unpacked(row["targets"], count)),
        type_codes=np.frombuffer(row["codes"], "<u2", count),
        type_names=tuple(row["types"]),
        origin=f"relationships of the database, {page.described}",
        relationship_ids=_ids(page, row["ids"], count),
    )


def _ids(page: Page, packed: bytes, count: int) -> NDArray[np.int64]:
    assert isinstance(page, IdRange)
    if not packed and count:
        return np.arange(page.first, page.last + 1, dtype=np.int64)
    return unpacked(packed, count).astype(np.int64) + page.first
