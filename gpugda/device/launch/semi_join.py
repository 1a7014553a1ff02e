"""Removes candidates that a link does not connect; launcher of ``semi_join.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["SemiJoinKernels"]

_FILE = "semi_join.cl"
_OUTGOING, _INCOMING = 1, 2
"""Directions as in ``query_graph.h``."""


class SemiJoinKernels:
    """Semi-joins of candidates."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._semi_join = get_kernel(context, _FILE, "semi_join", f"{GRAPH}bIIIIbb")
        self._keep = get_kernel(context, _FILE, "keep_marked", "IIbb")

    def semi_join(
        self,
        graph: Sequence[Any],
        tests: DeviceArray,
        number: int,
        directions: tuple[bool, bool],
        node_count: int,
        candidates: DeviceArray,
        marks: DeviceArray,
    ) -> None:
        """Removes candidates at the bound end of a link that have no candidate at its other end.

        Marks the candidates at the other end that have one at the bound end; `keep_marked` removes
        all others there.

        Args:
            graph: Arguments for ``GRAPH_PARAMETERS``; the directions followed must be there.
            tests: From `entry_words`.
            number: The link's number among the tests.
            directions: Whether outgoing and whether incoming entries are followed.
            node_count: The number of nodes of the graph.
            candidates: ``uint32[rows * words]``, the candidate matrix.
            marks: ``uint32[words]``, initially 0.
        """
        words = marks.count
        followed = _OUTGOING * directions[0] | _INCOMING * directions[1]
        is_cpu = self._context.profile.group_size == 1
        items = words if is_cpu else 32 * words
        self._semi_join(
            items, *graph, tests, number, followed, words, node_count, candidates, marks
        )

    def keep_marked(self, row: int, candidates: DeviceArray, marks: DeviceArray) -> None:
        """Removes the candidates of a row that are not marked, and all marks."""
        self._keep(marks.count, row, marks.count, candidates, marks)
