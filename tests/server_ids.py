"""Small graphs as if loaded from a server: with the server's ids, with or without properties."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from graphs import NodeSpec, RelationshipSpec, node_batch, relationship_batch

from gpugda.data.build import build_data_graph
from gpugda.data.data_graph import DataGraph
from gpugda.ports import GraphBatches, IdentifierPrefixes

PREFIXES = IdentifierPrefixes("4:db:", "5:db:")


class ListedSource:
    """A source for `gpugda.connect`: nodes and relationships in lists, as `make_graph` takes them.

    Args:
        nodes: Node i has the index i.
        relationships: By positions of nodes.
        node_ids: Ascending; None for a graph without server ids.
        relationship_ids: In the order of the list.
        complete: True to include the properties.
    """

    name = "lists"

    def __init__(
        self,
        nodes: Sequence[NodeSpec],
        relationships: Sequence[RelationshipSpec],
        node_ids: Sequence[int] | None = None,
        relationship_ids: Sequence[int] = (),
        *,
        complete: bool = True,
    ) -> None:
        self.nodes, self.relationships = nodes, relationships
        self.node_ids, self.relationship_ids = node_ids, relationship_ids
        self.complete = complete

    @contextmanager
    def read(self, progress: Any) -> Iterator[GraphBatches]:
        yield self.batches()

    def batches(self) -> GraphBatches:
        nodes, relationships = node_batch(self.nodes), relationship_batch(self.relationships)
        if not self.complete:
            nodes = replace(nodes, properties={})
            relationships = replace(relationships, properties={})
        ids = self.node_ids
        if ids is not None:
            nodes = replace(nodes, ids=pa.array(ids, pa.int64()))
            ends = [(ids[source], ids[target]) for source, _, target, _ in self.relationships]
            relationships = replace(
                relationships,
                source_ids=pa.array([source for source, _ in ends], pa.int64()),
                target_ids=pa.array([target for _, target in ends], pa.int64()),
                relationship_ids=np.array(self.relationship_ids, dtype=np.int64),
            )
        prefixes = None if ids is None else PREFIXES
        return GraphBatches([nodes], [relationships], None, prefixes, self.complete)


def server_graph(
    nodes: Sequence[NodeSpec],
    relationships: Sequence[RelationshipSpec],
    node_ids: Sequence[int],
    relationship_ids: Sequence[int],
    *,
    complete: bool = True,
) -> DataGraph:
    """A data graph with these ids."""
    source = ListedSource(nodes, relationships, node_ids, relationship_ids, complete=complete)
    return build_data_graph(source.batches())


def random_node_ids(count: int, seed: int) -> list[int]:
    """Ascending ids, consecutive or far apart."""
    steps = random.Random(seed).choices([1, 1, 2, 3, 1000, 2**34], k=count)
    return [number - 1 for number in accumulate(steps)]


def random_relationship_ids(
    relationships: Sequence[RelationshipSpec], seed: int, *, in_index_order: bool
) -> list[int]:
    """Distinct ids, in the order of relationship indexes or in random order."""
    chooser = random.Random(seed)
    ids = sorted(chooser.sample(range(chooser.choice([30, 2**40])), len(relationships)))
    if not in_index_order:
        chooser.shuffle(ids)
        return ids
    types = list(dict.fromkeys(kind for _, kind, _, _ in relationships))
    keys = [(source, types.index(kind), target) for source, kind, target, _ in relationships]
    found = [0] * len(ids)
    for identifier, place in zip(ids, sorted(range(len(ids)), key=keys.__getitem__), strict=True):
        found[place] = identifier
    return found
