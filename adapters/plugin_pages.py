"""Decodes nodes and relationships that gpugda's plugin packs, a page of ids at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.batches import NodeBatch, RelationshipBatch, id_array
from gpugda.data.values.arrow_numbers import arrow_numbers

from .bolt_pages import IdRange
from .bolt_reading import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import neo4j
    from numpy.typing import NDArray

    from .bolt_pages import Page

__all__ = ["PLUGIN_ROUND", "plugin_nodes", "plugin_page", "plugin_relationships", "unpacked"]

PLUGIN_ROUND = 1 << 24
"""Ids requested before the next ones are: the server reads unused ids at 3 ns each."""
_LARGEST_PAGE = 1 << 21
"""Ids per page: the answer has 20 MB, which the server makes in rows of 65,536 ids."""
_SMALLEST_PAGE = 1 << 16

_NARROW = 4
_WIDE = 8


def plugin_page(count: int, sessions: int) -> int:
    """Ids per page, for as many pages as sessions if they are few; a request costs milliseconds."""
    share = -(-count // (sessions * _SMALLEST_PAGE)) * _SMALLEST_PAGE
    return min(max(share, _SMALLEST_PAGE), _LARGEST_PAGE)


def plugin_nodes() -> Call[NodeBatch]:
    """Requests all nodes of a page."""
    return Call("CALL gpugda.nodes($first, $last)", _range, _nodes, each=True)


def plugin_relationships() -> Call[RelationshipBatch]:
    """Requests all relationships of a page."""
    return Call("CALL gpugda.relationships($first, $last)", _range, _relationships, each=True)


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
        ids=arrow_numbers(id_array(_ids(row))),
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
        source_ids=arrow_numbers(unpacked(row["sources"], count)),
        target_ids=arrow_numbers(unpacked(row["targets"], count)),
        type_codes=np.frombuffer(row["codes"], "<u2", count),
        type_names=tuple(row["types"]),
        origin=f"relationships of the database, {page.described}",
        relationship_ids=_ids(row),
    )


def _ids(row: neo4j.Record) -> NDArray[np.int64] | range:
    first, count, packed = int(row["first"]), int(row["count"]), row["ids"]
    if not packed:
        return range(first, first + count)
    return unpacked(packed, count).astype(np.int64) + first
