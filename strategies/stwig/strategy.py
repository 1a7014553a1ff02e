"""The strategy ``stwig``: matches two-level trees, then joins them in a pipeline of hash tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gpugda_strategies.gsi.filter import filter_by_signatures
from gpugda_strategies.gsi.options import GsiOptions
from gpugda_strategies.gsi.store import GraphStore
from gpugda_strategies.launch.gsi_join import GsiJoin
from gpugda_strategies.launch.stwig_join import StwigJoin
from gpugda_strategies.stwig.decompose import decompose
from gpugda_strategies.stwig.join_plan import plan_join, shares_of
from gpugda_strategies.stwig.order import join_order
from gpugda_strategies.stwig.pipeline import StwigCursor
from gpugda_strategies.stwig.relations import Matching

from gpugda.match.matcher import Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.report import describe_candidates
from gpugda.plan.join.matching_order import node_steps
from gpugda.plan.row_tests import variable_tests

if TYPE_CHECKING:
    from gpugda_strategies.stwig.relations import Matched

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Masks
    from gpugda.match.matcher import Cursor
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, PlanStep

__all__ = ["StwigStrategy"]

_BYTES_PER_VALUE = 16
"""Bytes per value of a star's match: of its rows, a copy, and their hash table."""


class StwigStrategy(Matcher):
    """STwigs, each matched within the bindings of previous ones, and a right-deep hash join.

    Args:
        device_graph: The data graph on its device.
        memory_limit: As for every strategy.
        refinement: Has no effect: candidates are filtered by labels and predicates only.
    """

    name = "stwig"
    method = "matches trees of two levels, then joins them in one pipeline of hash tables"

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan`: the nodes of one STwig after the other, by estimates."""
        stwigs = decompose(pattern, lambda node: pattern.nodes[node].cardinality)
        return node_steps(pattern, dict.fromkeys(node for each in stwigs for node in each.nodes))

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._options = GsiOptions(signatures=False)
        self._lists = GsiJoin(self._context)
        self._hashes = StwigJoin(self._context)
        self._store = GraphStore(device_graph, self._options)

    def _workspace(self) -> Workspace:
        return self._store.counted(super()._workspace())

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> Cursor | None:
        """See `Matcher.start`."""
        with run.stage("filter"):
            candidates = filter_by_signatures(run, pattern, masks, self._store, None, self._options)
        if candidates is None:
            return None
        describe_candidates(run.report, pattern, candidates)
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        stwigs = decompose(pattern, candidates.count)
        shares, tests = shares_of(stwigs, variable_tests(pattern, run.graph.graph), rows)
        matching = Matching(
            run,
            pattern,
            masks,
            candidates,
            self._store,
            self._lists,
            self._hashes,
            self._options,
        )
        if len(stwigs) == 1:
            with run.stage("lists"):
                return matching.cursor(shares[0])
        matched: list[Matched] = []
        with run.stage("stwigs"):
            for share in shares:
                matched.append(matching.match(share, may_stream=not matched))
                if not matched[-1].row_count:
                    return None
        order = join_order([each.relation for each in matched], matching.candidates.count)
        ordered = [matched[at] for at in order]
        plan = plan_join([each.relation for each in ordered], tests, rows)
        return StwigCursor(run, pattern, [stwigs[at] for at in order], ordered, plan, self._hashes)
