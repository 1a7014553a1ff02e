"""What operators that match a pattern have in common: its plan, made once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from gpugda.execute.operator import Operator
from gpugda.plan.bind import bind
from gpugda.plan.matching_order import make_plan

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import Plan
    from gpugda.query.query_graph import Query, QueryGraph

__all__ = ["PatternOperator", "pattern_text"]


class PatternOperator(Operator):
    """An operator with a pattern that the device matches."""

    _plan: tuple[DataGraph, str, Plan] | None = None

    @property
    @abstractmethod
    def query(self) -> Query:
        """The pattern as a query."""

    def plan_on(self, graph: DataGraph, strategy: str) -> Plan:
        """How the pattern is matched; kept for the next run on the same graph."""
        if self._plan is None or self._plan[0] is not graph or self._plan[1] != strategy:
            plan = make_plan(bind(self.query, graph), graph.statistics, strategy)
            self._plan = (graph, strategy, plan)
        return self._plan[2]


def pattern_text(graph: QueryGraph) -> str:
    """MATCH and WHERE in one line."""
    lines = graph.to_cypher().splitlines()
    return " ".join(line for line in lines if not line.startswith("RETURN"))
