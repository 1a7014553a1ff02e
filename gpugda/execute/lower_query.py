"""Lowers a query of one pattern and one projection; the join does the least that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.execute.needs import names_read
from gpugda.execute.operators.aggregate import Aggregate
from gpugda.execute.operators.match import Match
from gpugda.execute.operators.project import Project
from gpugda.execute.operators.slice import Slice
from gpugda.execute.operators.sort import Sort
from gpugda.execute.row_bounds import RowBounds
from gpugda.query.shapes import all_names

if TYPE_CHECKING:
    from gpugda.execute.operator import Operator
    from gpugda.query.query_graph import Query

__all__ = ["lower_query"]


def lower_query(query: Query) -> Operator:
    """Match, then the aggregate, slice, project, distinct and sort that the query has.

    Rows outside SKIP and LIMIT are not projected, unless projected columns select them.
    """
    bounds = None
    if query.skip is not None or query.limit is not None:
        bounds = RowBounds(query.skip, query.limit)
    late = bounds is None or not (query.distinct or query.order_by)
    graph = query.graph
    own = {node.name for node in graph.nodes} | {each.name for each in graph.relationships}
    wanted = tuple(sorted(names_read(query) & own))
    made: Operator = Match(None, graph, (), wanted, query.text, asked=query)
    if query.aggregating:
        made = Aggregate(made, query.grouping, query.aggregates, always=not query.grouping)
    if bounds is not None and late:
        made = Slice(made, bounds)
    hidden = all_names(key.expression for key in query.order_by)
    made = Project(made, query.columns, hidden=hidden)
    if query.distinct:
        from gpugda.execute.operators.distinct import Distinct

        made = Distinct(made, None if query.order_by else bounds)
    if query.order_by:
        made = Sort(made, query.order_by, bounds)
    return made if bounds is None or late else Slice(made, bounds)
