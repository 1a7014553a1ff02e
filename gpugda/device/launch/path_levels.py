"""Breadth first from many nodes at once; launcher of ``path_levels.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["EVERY", "SEARCHES_A_WORD", "Longer", "PathKernels", "PathRows", "StepArrays"]

SEARCHES_A_WORD = 32
EVERY = 2**32 - 1
"""Of the steps that lead to a node."""

_FILE = "path_levels.cl"


@dataclass(frozen=True, slots=True, eq=False)
class StepArrays:
    """The steps by which a search may come to each node.

    Args:
        offsets: ``uint32[n+1]``, of the entries of each node.
        neighbours: ``uint32`` per entry, the node where the step begins.
        relationships: ``uint32`` per entry.
    """

    offsets: DeviceArray
    neighbours: DeviceArray
    relationships: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class PathRows:
    """Paths that are read back: the node where each is now, and its search; all ``uint32``."""

    nodes: DeviceArray
    searches: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class Longer:
    """Paths with one relationship more.

    Args:
        rows: Where they are.
        parents: ``int64``, number of the path that each comes of.
        taken: ``uint32``, the relationship.
    """

    rows: PathRows
    parents: NDArray[np.int64]
    taken: DeviceArray


class PathKernels:
    """A level has ``words`` words a node, `SEARCHES_A_WORD` searches in each."""

    def __init__(self, context: DeviceContext) -> None:
        self._begin = get_kernel(context, _FILE, "set_sources", "bQIb")
        self._grow = get_kernel(context, _FILE, "grow_level", "bbQQIbbbb")
        self._met = get_kernel(context, _FILE, "find_met", "bIbbQb")
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
        """The next level, at some nodes.

        Args:
            steps: What is followed.
            nodes: The first one and the one after the last.
            words: Per node.
            levels: The newest level; what was reached until now, added to; the next level.
            grown: Its first word becomes 1 where anything is reached.
        """
        first, last = nodes
        count = last - first
        arrays = steps.offsets, steps.neighbours
        self._grow(count * words, *arrays, first, count, words, *levels, grown)

    def met(self, level: DeviceArray, words: int, pairs: PathRows, met: DeviceArray) -> None:
        """Writes for each pair 1 where the level has its search at its node, else 0."""
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
        """Writes how many steps lead to each path's node from the level before; at most so many."""
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
        longer: Longer,
    ) -> None:
        """Writes these paths with one relationship more.

        Args:
            steps: As of `count_back`.
            before: Likewise.
            words: Likewise.
            rows: Likewise.
            window: The first path and the one after the last.
            sums: Prefix sums of what `count_back` wrote.
            longer: Its arrays on the device are written, in the order of ``parents``.
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
