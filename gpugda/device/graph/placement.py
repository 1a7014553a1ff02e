"""Placement of a data graph's relationships during a query: the interface for matchers."""

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
        """True if all entries are on the device; otherwise they come in parts (`SegmentViews`)."""

    @property
    def has_directory(self) -> bool:
        """True if the starts of all runs are on the device; otherwise parts bring these, too."""

    def arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """Permanent arguments for ``GRAPH_PARAMETERS``: all rows, or their lengths alone.

        All None without a directory, and unless relationships are ``needed``.

        Raises:
            MemoryLimitError: They do not fit the budget or the device.
        """


class WholePlacement:
    """All entries are on the device.

    Args:
        graph: The data graph on its device.
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
        graph: The data graph on its device.
        has_directory: True if the starts of all runs are on the device.
    """

    is_whole = False

    def __init__(self, graph: DeviceGraph, *, has_directory: bool = True) -> None:
        self._graph = graph
        self.has_directory = has_directory

    def arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """See `Placement.arguments`."""
        return self._graph.directory_arguments(budget, needed=needed and self.has_directory)
