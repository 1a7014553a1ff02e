"""Columnar batches of nodes and relationships: the border between adapters and core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from gpugda.data.columns import Column

__all__ = ["NodeBatch", "RelationshipBatch"]


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Nodes that came together.

    Args:
        ids: External ids, one a node: an Arrow array of integers or text without nulls; None where
            the source has none (then no relationship can name these nodes).
        id_space: Ids are unique within a space, and relationships name the space.
        label_codes: ``int32`` per node: position in ``label_sets``.
        label_sets: Distinct sets of labels, each in the order written, without repeats.
        properties: Column per property key, each as long as ``ids``. A null is no property.
        origin: File or table, for error messages.
        rows: 1-based row (line) of each node in the origin, or the row of the first one, for error
            messages.
        row_word: What a row of the origin is called there: ``row``, ``line``.
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


@dataclass(frozen=True, slots=True, eq=False)
class RelationshipBatch:
    """Relationships that came together.

    Args:
        source_ids: External id of each start node, in the space ``source_space``.
        target_ids: External id of each end node, in the space ``target_space``.
        type_codes: ``int32`` or ``uint16`` per relationship: position in ``type_names``.
        type_names: Distinct types.
        properties: Column per property key.
        origin: File or table, for error messages.
        rows: 1-based row (line) of each relationship in the origin, or the row of the first one.
        row_word: What a row of the origin is called there.
        relationship_ids: ``int64`` ids of their own, where the source is a server.
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
    relationship_ids: NDArray[np.int64] | None = None
