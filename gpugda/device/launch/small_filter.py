"""Candidates of all query nodes in one launch, on a CPU; launcher of ``small_filter.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["SmallFilter", "SmallOutcome"]

_ALL_ROUNDS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class SmallOutcome:
    """Result of one launch.

    Args:
        counts: Candidates per row. If one is 0, the others are undefined.
        matrix: ``uint32[rows * words]``, one bit per candidate.
        nodes: Node indexes of all candidates, row after row, ascending; None if there are too many.
    """

    counts: list[int]
    matrix: DeviceArray
    nodes: DeviceArray | None


class SmallFilter:
    """Checks, explores, refines, counts and lists candidates by one work item."""

    def __init__(self, context: DeviceContext) -> None:
        self._filter = get_kernel(
            context, "small_filter.cl", "filter_all", f"{GRAPH}bbbbIIIIIIIIbbbb"
        )

    def filter_all(
        self,
        workspace: Workspace,
        arrays: FilterArrays,
        rows: int,
        *,
        explores: bool,
        rounds: int | None,
        max_looks: int,
        max_nodes: int,
    ) -> SmallOutcome | None:
        """Computes the candidates; returns None if it takes more work than expected.

        Args:
            workspace: Owner of the result.
            arrays: Arrays of the query.
            rows: The number of query nodes.
            explores: True to explore neighbours.
            rounds: Number of refinements then; None to repeat until nothing changes.
            max_looks: Maximum number of entries read before giving up.
            max_nodes: Maximum number of candidates that are listed.
        """
        size = rows * arrays.words
        matrix = workspace.allocate(size, np.uint32, "candidates")
        marks = workspace.allocate(size if explores else 1, np.uint32, "marks")
        nodes = workspace.allocate(max_nodes, np.uint32, "listed candidates")
        outcome = workspace.allocate(2 + rows, np.uint32, "counts of candidates")
        self._filter.launch_groups(
            1,
            *arrays.graph,
            arrays.query,
            arrays.label_bits,
            arrays.node_masks,
            arrays.relationship_masks,
            arrays.relationship_words,
            rows,
            arrays.words,
            arrays.node_count,
            int(explores),
            _ALL_ROUNDS if rounds is None else rounds,
            max_looks,
            max_nodes,
            matrix,
            marks,
            nodes,
            outcome,
        )
        is_done, is_listed, *counts = workspace.download(outcome).tolist()
        workspace.release(marks, outcome)
        if not is_listed:
            workspace.release(nodes)
        if not is_done:
            workspace.release(matrix)
            return None
        return SmallOutcome(counts, matrix, nodes if is_listed else None)
