"""Weights of data nodes for programs of sparse vectors; launcher of ``vector_weights.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.query_words import NONE
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["VectorWeightKernels"]

_FILE = "vector_weights.cl"
_GROUPS_PER_UNIT = 16


class VectorWeightKernels:
    """Multiplies weights of nodes with what a tree at them counts.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._pull = get_kernel(context, _FILE, "pull_weights", f"{RANKED}IIIIIb")
        self._loops = get_kernel(context, _FILE, "loop_weights", "bIIIb")

    def pull(
        self,
        lists: RankedLists,
        sides: int,
        more: int,
        places: tuple[int | None, int],
        weights: DeviceArray,
    ) -> None:
        """Multiplies the weights of each node with a sum over its neighbours.

        Args:
            lists: Lists of the type of all relationships.
            sides: The lists that are read: 1 outgoing, 2 incoming, 3 both.
            more: Further powers of the numbers of relationships, see the kernel.
            places: Number of the weights that are summed, None for 1; number of the product.
            weights: ``uint64[weights][nodes]``.
        """
        source, target = places
        groups = self._context.info.compute_units * _GROUPS_PER_UNIT
        what = (lists.nodes, sides, more, NONE if source is None else source, target)
        self._pull.launch_groups(groups, *lists.arguments, *what, weights)

    def loops(
        self, loops: DeviceArray, nodes: int, power: int, target: int, weights: DeviceArray
    ) -> None:
        """Multiplies the weights of each node with a power of the number of its self-loops."""
        self._loops(nodes, loops, nodes, power, target, weights)
