"""Where the relationships of a data graph are while a query runs: what matchers ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import MemoryBudget

__all__ = ["Placement", "SegmentedPlacement", "WholePlacement"]


class Placement(Protocol):
    """Stands between matchers and the entries of the data graph's rows."""

    @property
    def is_whole(self) -> bool:
        """Are all entries on the device? Else they come in parts, see `SegmentViews`."""

    @property
    def has_directory(self) -> bool:
        """Does the device know where all runs begin? Else that comes with the parts, too."""

    def arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """What is there all the time, for ``GRAPH_PARAMETERS``: all rows, or their lengths alone.

        Without a directory: how many runs nodes have, which says nothing of lengths. All None
        unless relationships are ``needed``.

        Raises:
            MemoryLimitError: It fits the budget or the device no more.
        """


class WholePlacement:
    """All entries are on the device.

    Args:
        graph: On its device.
    """

    is_whole = has_directory = True

    def __init__(self, graph: DeviceGraph) -> None:
        self._graph = graph

    def arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """See `Placement.arguments`."""
        return self._graph.csr_arguments(budget, needed=needed)


class SegmentedPlacement:
    """Entries stay on the host and are sent when needed.

    Args:
        graph: On its device.
        has_directory: Does the device know where all runs begin?
    """

    is_whole = False

    def __init__(self, graph: DeviceGraph, *, has_directory: bool = True) -> None:
        self._graph = graph
        self.has_directory = has_directory

    def arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """See `Placement.arguments`."""
        if self.has_directory:
            return self._graph.directory_arguments(budget, needed=needed)
        return self._graph.offset_arguments(budget, needed=needed)
