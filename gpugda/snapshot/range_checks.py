"""Checks that no number of an opened data graph leads outside its arrays.

Kernels trust these numbers. A checksum finds damage, but not what another program wrote wrongly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.column import Column
    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph

__all__ = ["check_ranges"]


def check_ranges(graph: DataGraph) -> None:
    """Reads every array once.

    Raises:
        ValueError: Which array holds a number out of range.
    """
    _check_rising(graph.label_offsets, "label_offsets")
    _check_below(graph.label_ids, len(graph.labels), "label_ids")
    for direction, csr in (("outgoing", graph.outgoing), ("incoming", graph.incoming)):
        _check_rows(csr, direction, len(graph.types))
    _check_codes(graph.node_properties.columns)
    _check_codes(graph.relationship_properties.columns)


def _check_rows(csr: Csr, direction: str, type_count: int) -> None:
    for name in ("row_offsets", "run_offsets", "run_starts"):
        _check_rising(getattr(csr, name), f"{direction}.{name}")
    if not np.array_equal(csr.run_starts[csr.run_offsets], csr.row_offsets):
        raise ValueError(f"{direction}: the runs do not fit the rows")
    _check_below(csr.neighbours, csr.node_count, f"{direction}.neighbours")
    _check_below(csr.run_types, type_count, f"{direction}.run_types")
    if csr.relationship_indexes is not None:
        name = f"{direction}.relationship_indexes"
        _check_below(csr.relationship_indexes, csr.relationship_count, name)


def _check_codes(columns: Mapping[str, Column]) -> None:
    for key, column in columns.items():
        if column.dictionary is not None:
            # An empty dictionary goes with the code 0, of nulls.
            _check_below(column.values, max(1, len(column.dictionary)), f"property {key!r}")


def _check_rising(offsets: NDArray[Any], name: str) -> None:
    if not bool((offsets[1:] >= offsets[:-1]).all()):
        raise ValueError(f"{name} falls")


def _check_below(numbers: NDArray[Any], limit: int, name: str) -> None:
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        raise ValueError(f"{name} holds a number out of range")
