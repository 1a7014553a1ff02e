"""The strategy ``gsi``: filters by node signatures, then joins node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from gpugda_strategies.gsi.cursor import NodeCursor, lists_of, type_frequency
from gpugda_strategies.gsi.filter import filter_by_signatures
from gpugda_strategies.gsi.options import GsiOptions
from gpugda_strategies.gsi.order import node_order, order_of_cycles
from gpugda_strategies.gsi.steps import compile_steps
from gpugda_strategies.gsi.store import GraphStore
from gpugda_strategies.gsi.windows import NodeWindows
from gpugda_strategies.launch.gsi_join import GsiJoin
from gpugda_strategies.launch.gsi_signatures import SignatureKernels

from gpugda.caching import LruCache
from gpugda.match.matcher import Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.report import describe_candidates
from gpugda.plan.join.matching_order import node_steps

if TYPE_CHECKING:
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, PlanStep

__all__ = ["GsiStrategy"]

_Order: TypeAlias = "tuple[BoundQuery, list[tuple[int, bool]] | None]"
_ORDERS_KEPT = 64


class GsiStrategy(Matcher):
    """Node signatures, lists per type found in one transaction, and Prealloc-Combine.

    Args:
        device_graph: The data graph on its device.
        memory_limit: As for every strategy.
        refinement: Has no effect: signatures are tested once.
        options: Techniques to use; the answer is the same with all.
    """

    name = "gsi"
    method = "filters by node signatures, then joins node by node into places allocated before"

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan`: one query node at a time, by the score from estimates."""
        order = order_of_cycles(pattern, [each.cardinality for each in pattern.nodes])
        order = order or node_order(
            pattern,
            lambda node: pattern.nodes[node].cardinality,
            lambda each: each.cardinality,
        )
        return node_steps(pattern, [node for node, _ in order])

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
        options: GsiOptions | None = None,
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._options = options or GsiOptions()
        self._joins = GsiJoin(self._context)
        self._signatures = SignatureKernels(self._context)
        self._store = GraphStore(device_graph, self._options)
        self._orders = LruCache[tuple[int, ...], _Order](_ORDERS_KEPT)

    def _workspace(self) -> Workspace:
        return self._store.counted(super()._workspace())

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> NodeCursor | None:
        """See `Matcher.start`."""
        with run.stage("filter"):
            candidates = filter_by_signatures(
                run, pattern, masks, self._store, self._signatures, self._options
            )
        if candidates is None:
            return None
        describe_candidates(run.report, pattern, candidates)
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        frequency = type_frequency(pattern, self._graph)
        counts = [candidates.count(each.position) for each in pattern.nodes]
        order = self._order_of_cycles(pattern, counts) if self._options.closing_order else None
        order = order or node_order(pattern, candidates.count, frequency)
        steps = compile_steps(pattern, self._graph.graph, order, rows, frequency)
        with run.stage("lists"):
            lists = lists_of(run, steps, masks, self._store)
        windows = NodeWindows(run, steps, candidates, lists, self._joins, self._options)
        return NodeCursor(pattern, steps, windows)

    def _order_of_cycles(
        self, pattern: BoundQuery, counts: list[int]
    ) -> list[tuple[int, bool]] | None:
        """The order of a pattern with cycles, kept for its next run with as many candidates."""
        key = (id(pattern), *counts)
        # The pattern is kept, too: another one must not get its id.
        return self._orders.get(key, lambda: (pattern, order_of_cycles(pattern, counts)))[1]
