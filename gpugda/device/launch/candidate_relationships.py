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

_FILE = "candidate_relationships.cl"


@dataclass(frozen=True, slots=True)
class Section:
    """The table of one query relationship among all of them.

    Args:
        first_row: Place of its first row among the rows of all sections.
        row_count: Its rows: the candidates of the end by which it is looked up.
        first_node: Place of the first of these candidates among the collected ones.
        adjacency: Place of the query relationship, seen from that end, in the words of the query.
    """

    first_row: int
    row_count: int
    first_node: int
    adjacency: int


def write_sections(sections: Sequence[Section]) -> NDArray[np.uint64]:
    """Sections as kernels read them."""
    words = [(each.first_row, each.first_node, each.adjacency) for each in sections]
    words.append((sum(each.row_count for each in sections), 0, 0))
    return np.array(words, dtype=np.uint64).reshape(-1)


class CandidateRelationships:
    """Counts and writes the candidate relationships of all sections at once."""

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
        """Writes into ``counts`` (``uint32``, one per row of all sections) the entries of each row.

        Args:
            arrays: Of the query.
            nodes: The collected candidates of all query nodes.
            candidates: The matrix of candidates.
            sections: See `write_sections`.
            counts: The result; its length is the number of rows.
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
            arrays: Of the query.
            nodes: As for counting.
            candidates: As for counting.
            sections: As for counting.
            offsets: ``uint64[rows+1]``, prefix sums of the counts.
            end_nodes: ``uint32``, as long as the total.
            relationships: Likewise.
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
