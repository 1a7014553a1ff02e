"""Orientation by degree: each relationship runs from the node of lower to that of higher degree.

Undirected patterns have the same embeddings in the oriented graph. An undirected clique occurs in
it as an acyclic chain with short outgoing rows: at most ``sqrt(2 m)`` neighbours in a graph of m
relationships without parallel ones (Chiba and Nishizeki, 1985).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.data_graph import DataGraph
from gpugda.data.sorting import Unsorted, outgoing_csr, reversed_csr
from gpugda.data.statistics.counting import (
    LabelSets,
    gather_statistics,
)
from gpugda.data.values.property_store import PropertyStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["oriented"]


def oriented(graph: DataGraph) -> DataGraph:
    """Orients each relationship towards the node of higher degree; on ties, of higher index.

    Nodes keep their indexes, labels and property columns. Relationships get other indexes and have
    no properties.
    """
    starts, ends, types = graph.start_nodes(), graph.outgoing.neighbours, graph.relationship_types()
    turned = _is_turned(graph, starts, ends)
    sources, targets = np.where(turned, ends, starts), np.where(turned, starts, ends)
    given = Unsorted(graph.node_count, len(graph.types), sources, types, targets)
    outgoing, _ = outgoing_csr(given, with_order=False)
    incoming = reversed_csr(outgoing, len(graph.types))
    statistics = gather_statistics(_label_sets(graph), len(graph.types), outgoing, incoming, {}, {})
    return DataGraph(
        node_count=graph.node_count,
        relationship_count=graph.relationship_count,
        labels=graph.labels,
        types=graph.types,
        label_offsets=graph.label_offsets,
        label_ids=graph.label_ids,
        outgoing=outgoing,
        incoming=incoming,
        node_properties=graph.node_properties,
        relationship_properties=PropertyStore({}, complete=False),
        statistics=replace(statistics, distinct_counts=graph.statistics.distinct_counts),
        element_id_prefix=graph.element_id_prefix,
        external_ids=graph.external_ids,
        is_degree_oriented=True,
    )


def _label_sets(graph: DataGraph) -> LabelSets:
    codes, names = graph.label_codes()
    ids = {name: number for number, name in enumerate(graph.labels.names)}
    return LabelSets(codes, [[ids[name] for name in each] for each in names], len(ids))


def _is_turned(
    graph: DataGraph, starts: NDArray[np.uint32], ends: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    degrees = graph.outgoing.degrees() + graph.incoming.degrees()
    of_starts, of_ends = degrees[starts], degrees[ends]
    turned: NDArray[np.bool_] = of_starts > of_ends
    turned |= (of_starts == of_ends) & (starts > ends)
    return turned
