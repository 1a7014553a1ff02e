"""Checks labels and property columns of an opened data graph, and recounts its statistics.

Kernels rely on these numbers, and joins on the statistics of parallel relationships. A checksum
detects damage, but not files that another program wrote incorrectly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.patched import whole
from gpugda.data.statistics.counting import LabelSets, gather_statistics
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary, encode_objects
from gpugda.snapshot.object_text import check_object
from gpugda.snapshot.row_checks import check_below, check_rising

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.graph_statistics import GraphStatistics
    from gpugda.data.values.column import Column
    from gpugda.snapshot.manifest import Manifest

__all__ = ["check_labels", "check_values", "counted_statistics"]


def check_labels(graph: DataGraph) -> None:
    """Checks that every node's labels exist and are distinct.

    Raises:
        ValueError: They are not.
    """
    offsets, label_ids = whole(graph.label_offsets), whole(graph.label_ids)
    check_rising(offsets, "label_offsets")
    check_below(label_ids, len(graph.labels), "label_ids")
    lengths = np.diff(offsets)
    several = np.repeat(lengths > 1, lengths)
    nodes = np.repeat(np.arange(graph.node_count, dtype=np.uint64), lengths)[several]
    pairs = nodes * np.uint64(len(graph.labels)) + label_ids[several]
    pairs.sort()
    if (pairs[1:] == pairs[:-1]).any():
        raise ValueError("label_ids: a node has a duplicate label")


def check_values(graph: DataGraph) -> None:
    """Checks that every property column holds values of its kind.

    Raises:
        ValueError: A column does not.
    """
    for store in (graph.node_properties, graph.relationship_properties):
        _check_columns(store.columns)


def counted_statistics(graph: DataGraph, manifest: Manifest) -> GraphStatistics:
    """The statistics of a graph that passed the other checks, recounted from its arrays."""
    codes, sets = graph.label_codes()
    ids = [tuple(graph.labels.get(name) or 0 for name in names) for names in sets]
    counted = gather_statistics(
        LabelSets(codes, ids, len(graph.labels)),
        len(graph.types),
        graph.outgoing,
        graph.incoming,
        graph.node_properties.columns,
        graph.relationship_properties.columns,
    )
    if manifest.nodes_read is None and manifest.relationships_read is None:
        return counted
    return counted.pending(manifest.nodes_read, manifest.relationships_read)


def _check_columns(columns: Mapping[str, Column]) -> None:
    for key, column in columns.items():
        name = f"property {key!r}"
        for flags in (column.valid, column.values):
            if flags is not None and flags.dtype == np.bool_:
                check_below(flags.view(np.uint8), 2, name)
        if column.dictionary is None:
            continue
        # A column of nulls may have an empty dictionary and the code 0.
        check_below(column.values, max(1, len(column.dictionary)), name)
        if len(column.dictionary) == 0 and (column.valid is None or column.valid.any()):
            raise ValueError(f"{name} has codes without a dictionary")
        _check_dictionary(column, name)


def _check_dictionary(column: Column, name: str) -> None:
    if isinstance(column.dictionary, StringDictionary):
        array = column.dictionary.array
        if not pc.all(pc.less(array[:-1], array[1:]), min_count=0).as_py():
            raise ValueError(f"{name}: its texts are not sorted and distinct")
    elif isinstance(column.dictionary, ObjectDictionary):
        entries = list(column.dictionary.entries)
        for entry in entries:
            check_object(entry)
        if len(encode_objects(entries)[1]) != len(entries):
            raise ValueError(f"{name}: a value occurs twice")
