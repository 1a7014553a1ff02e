"""Runs the operators of a one-pattern query on given embeddings, without a join."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpugda.data.data_graph import DataGraph
from gpugda.execute.lower import lower_query
from gpugda.execute.operators.match import Match, Planned
from gpugda.execute.pipeline import Pipeline
from gpugda.execute.result_table import ResultTable
from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.need import Groups, Need
from gpugda.plan.join.matching_order import make_plan
from gpugda.plan.plan import BoundQuery
from gpugda.plan.plan_basis import PlanBasis
from gpugda.query.parser import parse
from gpugda.query.query_graph import Query
from gpugda.query.statement import Statement


class GivenEmbeddings:
    """Replaces a strategy: yields chunks of node rows, and records how many were taken."""

    name, compares, walked_pairs = "extend", False, 0

    def __init__(self, chunks: Sequence[Sequence[tuple[int, ...]]]) -> None:
        self.chunks = chunks
        self.taken = 0

    def embeddings(self, plan: Any, masks: Any, need: Need, *_: Any) -> Iterator[Embeddings]:
        for chunk in self.chunks:
            self.taken += 1
            rows = np.array(chunk, dtype=np.uint32).reshape(len(chunk), -1)
            yield Embeddings(len(chunk), {node: rows[:, node].copy() for node in need.nodes}, {})

    def groups(self, plan: Any, masks: Any, need: Groups, *rest: Any) -> Iterator[Embeddings]:
        return self.embeddings(plan, masks, need.rows, *rest)

    def count(self, *_: Any) -> int:
        return sum(map(len, self.chunks))


def projected(
    asked: Query,
    graph: DataGraph,
    matcher: GivenEmbeddings,
    parameters: Mapping[str, Any],
    rest: BoundQuery | None = None,
) -> ResultTable:
    """The answer. ``rest`` states the conditions that remain to be checked per row."""
    columns = tuple(column.name for column in asked.columns)
    statement = Statement(asked.text, parse("RETURN 1"))
    pipeline = Pipeline(statement, lower_query(asked), columns, asked)
    if rest is not None:
        operator = pipeline.root
        while not isinstance(operator, Match):
            (operator,) = operator.children
        plan = make_plan(rest, graph.statistics, "extend")
        operator._planned = Planned(weakref.ref(graph), "extend", plan, PlanBasis.of(graph))
    return pipeline.run(graph, matcher, parameters, StrategyReport())  # type: ignore[arg-type]
