"""What the default strategy offers beyond the interface of all: derived graphs and lists."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Literal

from gpugda.match.matcher import Matcher
from gpugda.match.ranked_graph import RankedGraph
from gpugda.match.second_graph import SecondGraph
from gpugda.match.upward_lists import UpwardGraph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.match.embeddings import Masks, StrategyReport
    from gpugda.match.need import Groups
    from gpugda.plan.plan import Plan

__all__ = ["Engine"]


class Engine(Matcher):
    """A strategy that counts in graphs and lists derived from its data graph, and keeps them.

    Args: as `Matcher`.

    Attributes:
        ranked: The graph's lists sorted by rank, as far as queries have needed them.
        upward: The lists of higher-ranked neighbours, on the host, as far as queries have needed
            them.
    """

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self.ranked, self.upward = RankedGraph(), UpwardGraph()
        self._beside: SecondGraph[Engine] = SecondGraph(
            self, partial(type(self), refinement=refinement)
        )

    def on(self, graph: DataGraph) -> AbstractContextManager[Engine | None]:
        """Yields the same strategy on a derived graph, which stays on the device beside this one.

        Yields None if the device has no room for both graphs.
        """
        return self._beside.used(graph)

    def drop_second_graph(self) -> None:
        """Frees the derived graph on the device as soon as it is unused."""
        self._beside.leave()

    def cached_bytes(self) -> int:
        """See `Matcher.cached_bytes`."""
        return self._beside.nbytes + self.ranked.nbytes

    def drop_cached(self) -> int:
        """See `Matcher.drop_cached`."""
        return self.ranked.drop() + self._beside.give_up()

    @abstractmethod
    def decisions_for(self, graph: DataGraph) -> object:
        """What the strategy for the graph's next state may reuse; None for nothing."""

    @abstractmethod
    def reuse_decisions(self, decided: object) -> None:
        """Takes over what `decisions_for` of an earlier state's strategy returned."""

    @abstractmethod
    def weighted_count(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        factors: Sequence[NDArray[np.uint32]],
        report: StrategyReport,
        deadline: float | None = None,
    ) -> int | None:
        """The sum over `groups` of one node: multiplicity times the product of the node's factors.

        Returns None, without having done anything, if that is no faster than the groups. Takes the
        arguments of `groups`, and ``factors``: arrays of ``uint32`` with one value per node of the
        data graph.
        """
