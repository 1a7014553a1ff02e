"""Small data graphs for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.data_graph import DataGraph
from gpugda.data.values.columns import column_from_values
from gpugda.ports import IdentifierPrefixes

NodeSpec = tuple[str | Sequence[str], Mapping[str, Any]]
RelationshipSpec = tuple[int, str, int, Mapping[str, Any]]


@dataclass(frozen=True)
class ListedBatches:
    """Batches from lists."""

    nodes: Iterable[NodeBatch]
    relationships: Iterable[RelationshipBatch]
    element_ids: IdentifierPrefixes | None = None
    properties_complete: bool = True


def make_graph(
    nodes: Sequence[NodeSpec],
    relationships: Sequence[RelationshipSpec] = (),
    element_id_prefix: str = "",
) -> DataGraph:
    """A data graph from lists; node i of the list has the index i.

    nodes: (labels, properties), labels as a sequence of names or as text such as "A:B" (or "").
    relationships: (index of the start node, type, index of the end node, properties). Their indexes
    in the graph follow (start, type, end, position), with types in order of first appearance.
    """
    batches = ListedBatches([node_batch(nodes)], [relationship_batch(relationships)])
    return build_data_graph(batches, element_id_prefix=element_id_prefix)


def dense_graph(nodes: int) -> DataGraph:
    """Each node has a relationship to every node, including itself."""
    return make_graph(
        [("", {})] * nodes, [(a, "R", b, {}) for a in range(nodes) for b in range(nodes)]
    )


def design_graph() -> DataGraph:
    """Nodes a and b; of type R a loop at a, a→b twice, b→a; of type S a→b."""
    return make_graph(
        [("N", {"name": "a"}), ("N", {"name": "b"})],
        [
            (0, "R", 0, {}),
            (0, "R", 1, {}),
            (0, "R", 1, {}),
            (1, "R", 0, {}),
            (0, "S", 1, {}),
        ],
    )


def node_batch(nodes: Sequence[NodeSpec], first_id: int = 0, **settings: Any) -> NodeBatch:
    """A batch of these nodes, with the ids first_id, first_id + 1, …."""
    sets = [_labels(labels) for labels, _ in nodes]
    distinct = tuple(dict.fromkeys(sets))
    ids = pa.array(range(first_id, first_id + len(nodes)), type=pa.int64())
    return NodeBatch(
        count=len(nodes),
        ids=settings.pop("ids", ids),
        label_codes=np.array([distinct.index(each) for each in sets], dtype=np.int32),
        label_sets=distinct,
        properties=_columns([properties for _, properties in nodes]),
        **settings,
    )


def relationship_batch(
    relationships: Sequence[RelationshipSpec], **settings: Any
) -> RelationshipBatch:
    """A batch of these relationships between ids."""
    names = tuple(dict.fromkeys(kind for _, kind, _, _ in relationships))
    codes = [names.index(kind) for _, kind, _, _ in relationships]
    return RelationshipBatch(
        count=len(relationships),
        source_ids=_ids([source for source, _, _, _ in relationships]),
        target_ids=_ids([target for _, _, target, _ in relationships]),
        type_codes=np.array(codes, dtype=np.int32),
        type_names=names,
        properties=_columns([properties for _, _, _, properties in relationships]),
        **settings,
    )


def _labels(labels: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(labels, str):
        return tuple(name for name in labels.split(":") if name)
    return tuple(labels)


def _ids(ids: Sequence[Any]) -> pa.Array:
    return pa.array(ids) if ids else pa.array([], type=pa.int64())


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: column_from_values([row.get(key) for row in rows]) for key in keys}


def small_tables() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Three people who know each other in a ring, as tables for `gpugda.graph`."""
    nodes = {"id": [1, 2, 3], "labels": ["Person"] * 3, "name": ["Ann", "Bo", "Cy"]}
    relationships = {"source": [1, 2, 3], "target": [2, 3, 1], "type": ["KNOWS"] * 3}
    return nodes, relationships
