"""Base class of operators that match a pattern: caches the plan."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from gpugda.errors import MemoryLimitError
from gpugda.execute.operator import Operator
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.plan_basis import PlanBasis
from gpugda.plan.tree_text import pattern_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan
    from gpugda.query.query_graph import Query, QueryGraph

__all__ = ["PatternOperator", "naming_pattern"]

_LONGEST_PATTERN: Final = 200
"""Characters of a pattern in an error."""


class Planned(NamedTuple):
    """A plan, the graph that it was last used for, held weakly, and what it rests on."""

    graph: weakref.ref[DataGraph]
    strategy: str
    plan: Plan
    basis: PlanBasis


class PatternOperator(Operator):
    """An operator whose pattern is matched on the device."""

    _planned: Planned | None = None

    @property
    @abstractmethod
    def query(self) -> Query:
        """The pattern as a query."""

    @abstractmethod
    def need(self, bound: BoundQuery) -> Need:
        """What the strategy must compute, given the predicates left for the rows."""

    def distinct_variables(self) -> frozenset[str]:
        """The single node or directed relationship that makes up a pattern without input rows.

        Nodes at a relationship may repeat over rows.
        """
        graph = self.query.graph
        parts = (len(graph.nodes), len(graph.relationships))
        if self.children or parts not in ((1, 0), (2, 1)):
            return frozenset()
        return frozenset(
            each.name
            for each in graph.relationships or graph.nodes
            if getattr(each, "directed", True)
        )

    def plan_on(self, graph: DataGraph, strategy: str) -> Plan:
        """The plan of the pattern, kept for the next run on this graph or on a later state.

        Queries on different states may run at the same time, so the kept plan is read once.
        """
        kept = self._planned
        if kept is not None and kept.strategy == strategy:
            if kept.graph() is graph:
                return kept.plan
            if kept.basis.holds_for(graph):
                plan = kept.plan.for_later_state()
                self._planned = Planned(weakref.ref(graph), strategy, plan, kept.basis)
                return plan
        bound = bind(self.query, graph)
        plan = plan_pattern(bound, graph.statistics, strategy, self.need(bound))
        self._planned = Planned(weakref.ref(graph), strategy, plan, PlanBasis.of(graph))
        return plan


@contextmanager
def naming_pattern(graph: QueryGraph, context: ExecutionContext) -> Iterator[None]:
    """Makes memory errors of a block name the pattern, unless it is the whole query."""
    try:
        yield
    except MemoryLimitError as error:
        if context.one_pattern:
            raise
        text = pattern_text(graph)
        if len(text) > _LONGEST_PATTERN:
            text = f"{text[:_LONGEST_PATTERN]} …"
        raise MemoryLimitError(f"{error} (for {text} alone)") from error
