"""Arguments for kernels that read a graph some of whose arrays are made only when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import MemoryBudget

__all__ = ["LazyArguments"]


class LazyArguments:
    """All arguments for ``GRAPH_PARAMETERS``, made when they are iterated over.

    After a change, the entries and their relationship indexes take longest to make, then the starts
    of runs. Callers that know which of them a kernel reads request only these with `of`.

    Args:
        graph: The data graph on the device.
        budget: Budget of the current run, which new arrays are counted against.
    """

    __slots__ = ("_graph", "budget")

    def __init__(self, graph: DeviceGraph, budget: MemoryBudget) -> None:
        self._graph, self.budget = graph, budget

    def __iter__(self) -> Iterator[Any]:
        return iter(self._graph.csr_arguments(self.budget))

    def of(
        self, *, outgoing: bool, incoming: bool, numbers: bool = False, lengths: bool = False
    ) -> list[Any]:
        """The arguments for the rows of the given directions; None for all others.

        Args:
            outgoing: True for outgoing rows: their starts and entries.
            incoming: True for incoming rows.
            numbers: True to add the relationship indexes of incoming entries, if there are any.
            lengths: True to leave the entries out.

        Raises:
            MemoryLimitError: They do not fit the budget or the device.
        """
        return self._graph.part_arguments(
            self.budget, outgoing=outgoing, incoming=incoming, numbers=numbers, lengths=lengths
        )
