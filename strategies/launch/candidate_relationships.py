"""Tables of candidate relationships; launcher of ``candidate_relationships.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["CandidateRelationships", "Section", "write_sections"]

_FILE = "gpugda_strategies/opencl/candidate_relationships.cl"


@dataclass(frozen=True, slots=True)
class Section:
    """The table of one query relationship within the array of all tables.

    Args:
        first_row: Position of its first row among the rows of all sections.
        row_count: The number of its rows: the candidates of the end by which it is looked up.
        first_node: Position of the first of these candidates among the collected ones.
        adjacency: Position of the query relationship, seen from that end, in the query's words.
    """

    first_row: int
    row_count: int
    first_node: int
    adjacency: int


def write_sections(sections: Sequence[Section]) -> NDArray[np.uint64]:
    """Encodes sections as kernels read them."""
    words = [(each.first_row, each.first_node, each.adjacency) for each in sections]
    words.append((sum(each.row_count for each in sections), 0, 0))
    return np.array(words, dtype=np.uint64).reshape(-1)


class CandidateRelationships:
    """Counts and writes the candidate relationships of all sections in one launch."""

    def __init__(self, context: DeviceContext) -> None:
        shared = f"{GRAPH}bbIbbIbIQ"
        self._count = get_kernel(context, _FILE, "count_candidate_relationships", f"{shared}b")
        self._write = get_kernel(context, _FILE, "write_candidate_relationships", f"{shared}bbb")

    def count(
        self,
        arrays: FilterArrays,
        nodes: DeviceArray,
        candidates: DeviceArray,
        sections: DeviceArray,
        counts: DeviceArray,
    ) -> None:
        """Writes the number of entries of each row to ``counts``.

        Args:
            arrays: Arrays of the query.
            nodes: The collected candidates of all query nodes.
            candidates: The candidate matrix.
            sections: See `write_sections`.
            counts: The result, ``uint32``, one per row of all sections.
        """
        self._count(
            counts.count,
            *self._arguments(arrays, nodes, candidates, sections, counts.count),
            counts,
        )

    def write(
        self,
        arrays: FilterArrays,
        nodes: DeviceArray,
        candidates: DeviceArray,
        sections: DeviceArray,
        offsets: DeviceArray,
        end_nodes: DeviceArray,
        relationships: DeviceArray,
    ) -> None:
        """Writes the entries of each row: node at the other end, and relationship index.

        Args:
            arrays: As in `count`.
            nodes: As in `count`.
            candidates: As in `count`.
            sections: As in `count`.
            offsets: ``uint64[rows+1]``, prefix sums of the counts.
            end_nodes: ``uint32``, as long as the total.
            relationships: ``uint32``, as long as the total.
        """
        rows = offsets.count - 1
        self._write(
            rows,
            *self._arguments(arrays, nodes, candidates, sections, rows),
            offsets,
            end_nodes,
            relationships,
        )

    def _arguments(
        self,
        arrays: FilterArrays,
        nodes: DeviceArray,
        candidates: DeviceArray,
        sections: DeviceArray,
        rows: int,
    ) -> tuple[object, ...]:
        return (
            *arrays.graph,
            arrays.query,
            arrays.relationship_masks,
            arrays.relationship_words,
            nodes,
            candidates,
            arrays.words,
            sections,
            sections.count // 3 - 1,
            rows,
        )
