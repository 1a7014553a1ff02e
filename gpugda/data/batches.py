"""Columnar batches of nodes and relationships: the interface between adapters and core."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from gpugda.data.values.columns import Column

__all__ = ["NodeBatch", "RelationshipBatch", "id_array"]


@value(frozen=True, slots=True, eq=False)
class NodeBatch:
    """A batch of nodes.

    Args:
        count: The number of nodes.
        ids: External ids, one per node: an Arrow array of integers or text without nulls; None if
            the source has no ids (then relationships cannot refer to these nodes).
        id_space: Namespace of the ids: ids are unique within it, and relationships name it.
        label_codes: ``int32`` per node: position in ``label_sets``.
        label_sets: Distinct label sets; labels in the order written, without duplicates.
        properties: Column per property key, each as long as ``ids``. Null: no such property.
        origin: File or table, for error messages.
        rows: 1-based row (line) of each node in the origin, or the row of the first one, for error
            messages.
        row_word: The origin's word for a row: ``row``, ``line``.
    """

    count: int
    ids: pa.Array | None
    label_codes: NDArray[np.int32]
    label_sets: tuple[tuple[str, ...], ...]
    properties: Mapping[str, Column]
    id_space: str = ""
    origin: str = "nodes"
    rows: int | NDArray[np.int64] = 1
    row_word: str = "row"


@value(frozen=True, slots=True, eq=False)
class RelationshipBatch:
    """A batch of relationships.

    Args:
        count: The number of relationships.
        source_ids: External id of each start node, in the space ``source_space``.
        target_ids: External id of each end node, in the space ``target_space``.
        type_codes: ``int32`` or ``uint16`` per relationship: position in ``type_names``.
        type_names: Distinct types.
        properties: Column per property key.
        origin: File or table, for error messages.
        rows: 1-based row (line) of each relationship in the origin, or the row of the first one.
        row_word: The origin's word for a row.
        relationship_ids: Ids of the relationships, ``int64`` or consecutive; None unless the source
            is a server.
    """

    count: int
    source_ids: pa.Array
    target_ids: pa.Array
    type_codes: NDArray[np.int32] | NDArray[np.uint16]
    type_names: tuple[str, ...]
    properties: Mapping[str, Column] = field(default_factory=dict[str, Any])
    source_space: str = ""
    target_space: str = ""
    origin: str = "relationships"
    rows: int | NDArray[np.int64] = 1
    row_word: str = "row"
    relationship_ids: NDArray[np.int64] | range | None = None


def id_array(ids: NDArray[np.int64] | range) -> NDArray[np.int64]:
    """The ids as an array."""
    return np.arange(ids.start, ids.stop, dtype=np.int64) if isinstance(ids, range) else ids
