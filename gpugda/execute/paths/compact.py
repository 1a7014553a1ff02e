"""Renumbers the nodes with relationships, so that search state is proportional to these nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.adjacency import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Compact", "compacted"]

_MIN_SPARSITY: Final = 4
"""Compact if the nodes are at least this many times the relationships."""


@dataclass(frozen=True, slots=True, eq=False)
class Compact:
    """Adjacency between renumbered nodes.

    Args:
        steps: Adjacency in the new numbering.
        nodes: ``int64`` per new number: the node.
        numbers: ``int64`` per node: its new number, -1 for a node without any step in or out.
    """

    steps: Adjacency
    nodes: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def renumbered(self, steps: Adjacency) -> Adjacency:
        """Another adjacency of the same nodes, in the new numbering."""
        offsets = np.append(steps.offsets[self.nodes], steps.offsets[-1:])
        neighbours = self.numbers[steps.neighbours].astype(np.uint32)
        return Adjacency(offsets, neighbours, steps.relationships)


def compacted(steps: Adjacency) -> Compact | None:
    """The adjacency of the nodes that have steps; None if compaction does not pay."""
    count = steps.node_count
    if len(steps.neighbours) * _MIN_SPARSITY > count:
        return None
    used = steps.offsets[1:] > steps.offsets[:-1]
    used[steps.neighbours] = True
    nodes = np.flatnonzero(used)
    numbers = np.full(count, -1, dtype=np.int64)
    numbers[nodes] = np.arange(len(nodes))
    found = Compact(steps, nodes, numbers)
    return Compact(found.renumbered(steps), nodes, numbers)
