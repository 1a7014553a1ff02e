"""Rows of undirected patterns with symmetries: found in one order, in the oriented graph.

Those of other orders have the same nodes in other columns: they are not looked for, nor fetched.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from gpugda.errors import MemoryLimitError
from gpugda.execute.matching import select
from gpugda.execute.oriented_form import give_up, kind_of, plan_upwards, times_of, upwards_graph
from gpugda.match.report import oriented_text
from gpugda.plan.rules.orient import OrientedQuery

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Rows
    from gpugda.plan.plan import Plan

__all__ = ["rows_oriented"]


def rows_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    need: Rows,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Generator[Embeddings, None, bool]:
    """All rows by way of the oriented graph. Returns whether that was the way.

    Args: as of `count_oriented`, and

        need: What is read of the rows, all of which are asked for.

    Raises:
        As the strategy's ``embeddings``.
    """
    query = kind_of(plan, graph, need) if strategy.orients else None
    if not isinstance(query, OrientedQuery):
        return False
    upwards = upwards_graph(plan, graph, report, deadline)
    if upwards is None:
        return False
    wanted = _with_sets(need, query)
    made = plan_upwards(upwards, plan, query, wanted)
    if made.declined:
        return False
    with strategy.on(upwards) as beside:
        if beside is None:
            return False
        selected = select(made, upwards, beside, parameters, report, deadline)
        if selected is None:
            return True
        report.steps.append(oriented_text(plan.bound, query, as_rows=True))
        chunks = beside.embeddings(selected.plan, selected.masks, wanted, report, deadline)
        return (yield from _timed(chunks, plan, query, need))


def _timed(
    chunks: Generator[Embeddings], plan: Plan, query: OrientedQuery, need: Rows
) -> Generator[Embeddings, None, bool]:
    """Rows in all orders, and how long it took to find them. Returns whether they had room."""
    seconds, is_begun = 0.0, False
    with closing(chunks):
        while True:
            started = time.perf_counter()
            try:
                chunk = next(chunks, None)
            except MemoryLimitError:
                if is_begun:
                    raise
                give_up(plan)
                return False
            seconds += time.perf_counter() - started
            if chunk is None:
                times_of(plan).note(seconds, is_oriented=True)
                return True
            is_begun = True
            yield from _in_all_orders(chunk, query, need)


def _with_sets(need: Rows, query: OrientedQuery) -> Rows:
    """With all nodes of a set where one of them is read."""
    read = [nodes for nodes in query.sets if need.nodes.intersection(nodes)]
    return replace(need, nodes=need.nodes.union(*read))


def _in_all_orders(chunk: Embeddings, query: OrientedQuery, need: Rows) -> Iterator[Embeddings]:
    """Rows of a chunk, with the nodes of each set in all orders."""
    all_read = need.nodes.issuperset(node for nodes in query.sets for node in nodes)
    for orders in product(*(permutations(nodes) for nodes in query.sets)):
        columns = {node: node for node in need.nodes}
        for nodes, order in zip(query.sets, orders, strict=True):
            columns |= dict(zip(nodes, order, strict=True))
        nodes_of = {node: chunk.nodes[columns[node]] for node in need.nodes}
        yield replace(chunk, nodes=nodes_of, distinct=chunk.distinct and all_read)
