"""Steps over the nodes that have any: what a search keeps per node is as large as what it walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.adjacency import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Compact", "compacted"]

_WORTH_IT: Final = 4
"""So many times as many nodes have no step as have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Compact:
    """Steps between renumbered nodes.

    Args:
        steps: Between the new numbers.
        nodes: ``int64`` per new number: the node.
        numbers: ``int64`` per node: its new number, -1 where it has no step and none leads to it.
    """

    steps: Adjacency
    nodes: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def renumbered(self, steps: Adjacency) -> Adjacency:
        """Other steps between the same nodes."""
        offsets = np.append(steps.offsets[self.nodes], steps.offsets[-1:])
        neighbours = self.numbers[steps.neighbours].astype(np.uint32)
        return Adjacency(offsets, neighbours, steps.relationships)


def compacted(steps: Adjacency) -> Compact | None:
    """The steps between the nodes that they join; None where those are most of all."""
    count = steps.node_count
    if len(steps.neighbours) * _WORTH_IT > count:
        return None
    used = steps.offsets[1:] > steps.offsets[:-1]
    used[steps.neighbours] = True
    nodes = np.flatnonzero(used)
    numbers = np.full(count, -1, dtype=np.int64)
    numbers[nodes] = np.arange(len(nodes))
    found = Compact(steps, nodes, numbers)
    return Compact(found.renumbered(steps), nodes, numbers)
