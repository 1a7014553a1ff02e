"""Breadth-first search from many nodes at once; launcher of ``path_levels.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["EVERY", "SEARCHES_A_WORD", "LongerPaths", "PathKernels", "PathRows", "StepArrays"]

SEARCHES_A_WORD = 32
EVERY = 2**32 - 1
"""No limit on the steps that lead to a node."""

_FILE = "path_levels.cl"


@value(frozen=True, slots=True, eq=False)
class StepArrays:
    """The steps by which a search may reach each node.

    Args:
        offsets: ``uint32[n+1]``, offsets of the entries of each node.
        neighbours: ``uint32`` per entry, the node where the step begins.
        relationships: ``uint32`` per entry.
    """

    offsets: DeviceArray
    neighbours: DeviceArray
    relationships: DeviceArray


@value(frozen=True, slots=True, eq=False)
class PathRows:
    """Paths traced back: the node where each is now, and its search; both ``uint32``."""

    nodes: DeviceArray
    searches: DeviceArray


@value(frozen=True, slots=True, eq=False)
class LongerPaths:
    """Paths that are one relationship longer.

    Args:
        rows: The paths.
        parents: ``int64``, number of the path that each extends.
        taken: ``uint32``, the added relationship.
    """

    rows: PathRows
    parents: NDArray[np.int64]
    taken: DeviceArray


class PathKernels:
    """Kernels on levels: ``words`` words per node, `SEARCHES_A_WORD` searches in each."""

    def __init__(self, context: DeviceContext) -> None:
        self._begin = get_kernel(context, _FILE, "set_sources", "bQIb")
        self._grow = get_kernel(context, _FILE, "grow_level", "bbQQIbbbb")
        self._met = get_kernel(context, _FILE, "find_reached", "bIbbQb")
        self._count = get_kernel(context, _FILE, "count_steps_back", "bbbIbbQIb")
        self._write = get_kernel(context, _FILE, "write_steps_back", "bbbbIbbQQbbbb")

    def begin(self, sources: DeviceArray, words: int, level: DeviceArray) -> None:
        """Sets bit i at the i-th source."""
        self._begin(sources.count, sources, sources.count, words, level)

    def grow(
        self,
        steps: StepArrays,
        nodes: tuple[int, int],
        words: int,
        levels: tuple[DeviceArray, DeviceArray, DeviceArray],
        grown: DeviceArray,
    ) -> None:
        """Computes the next level for a range of nodes.

        Args:
            steps: The steps to follow.
            nodes: The first node and the one after the last.
            words: Words per node.
            levels: The newest level; all nodes reached so far, updated; the next level.
            grown: Its first word is set to 1 if any node is reached.
        """
        first, last = nodes
        count = last - first
        arrays = steps.offsets, steps.neighbours
        self._grow(count * words, *arrays, first, count, words, *levels, grown)

    def met(self, level: DeviceArray, words: int, pairs: PathRows, met: DeviceArray) -> None:
        """Writes for each pair 1 if the level contains its search at its node, else 0."""
        count = pairs.nodes.count
        self._met(count, level, words, pairs.nodes, pairs.searches, count, met)

    def count_back(
        self,
        steps: StepArrays,
        before: DeviceArray,
        words: int,
        rows: PathRows,
        counts: DeviceArray,
        most: int,
    ) -> None:
        """Writes the number of steps to each path's node from the level before, up to ``most``."""
        count = rows.nodes.count
        self._count(
            count,
            steps.offsets,
            steps.neighbours,
            before,
            words,
            rows.nodes,
            rows.searches,
            count,
            min(most, EVERY),
            counts,
        )

    def write_back(
        self,
        steps: StepArrays,
        before: DeviceArray,
        words: int,
        rows: PathRows,
        window: tuple[int, int],
        sums: DeviceArray,
        longer: LongerPaths,
    ) -> None:
        """Writes these paths with one more relationship.

        Args:
            steps: As in `count_back`.
            before: As in `count_back`.
            words: As in `count_back`.
            rows: As in `count_back`.
            window: The first path and the one after the last.
            sums: Prefix sums of the counts of `count_back`.
            longer: Output; its device arrays are in the order of ``parents``.
        """
        first, last = window
        self._write(
            last - first,
            steps.offsets,
            steps.neighbours,
            steps.relationships,
            before,
            words,
            rows.nodes,
            rows.searches,
            first,
            last - first,
            sums,
            longer.rows.nodes,
            longer.rows.searches,
            longer.taken,
        )
