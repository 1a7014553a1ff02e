"""Arguments for kernels that look at a graph some of whose arrays are made when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import MemoryBudget

__all__ = ["LateArguments"]


class LateArguments:
    """All arguments for ``GRAPH_PARAMETERS``, made when somebody goes through them.

    After a change, making the entries and their relationship indexes is what takes longest, then
    where rows begin: who knows which of them a kernel reads asks for these.

    Args:
        graph: The data graph on the device.
        budget: What new arrays are counted against; of the run that is at it.
    """

    __slots__ = ("_graph", "budget")

    def __init__(self, graph: DeviceGraph, budget: MemoryBudget) -> None:
        self._graph, self.budget = graph, budget

    def __iter__(self) -> Iterator[Any]:
        return iter(self._graph.csr_arguments(self.budget))

    def of(
        self, *, outgoing: bool, incoming: bool, numbers: bool = False, lengths: bool = False
    ) -> list[Any]:
        """The rows of some directions; None for all else.

        Args:
            outgoing: Outgoing rows: where they begin, and their entries.
            incoming: Incoming ones.
            numbers: With the relationship that each entry of these is, where they are there.
            lengths: Without any entries.

        Raises:
            MemoryLimitError: They fit the budget or the device no more.
        """
        return self._graph.part_arguments(
            self.budget, outgoing=outgoing, incoming=incoming, numbers=numbers, lengths=lengths
        )
