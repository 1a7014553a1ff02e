"""Rows of undirected symmetric patterns, found in one order of their nodes in the oriented graph.

The other orders hold the same nodes in other columns: they are neither matched nor fetched.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.errors import MemoryLimitError
from gpugda.execute.patterns.matching import select
from gpugda.execute.patterns.oriented_form import (
    disable_orienting,
    oriented_query_of,
    plan_upwards,
    upwards_graph,
)
from gpugda.match.engine import Engine
from gpugda.match.report import oriented_text

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Rows
    from gpugda.plan.pattern.orient import OrientedQuery
    from gpugda.plan.plan import Plan

__all__ = ["computed_first", "concatenated", "in_all_orders", "rows_oriented"]


def rows_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    need: Rows,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Generator[Embeddings, None, bool]:
    """Yields all rows, found in the oriented graph. Returns False if that does not apply.

    Args: as `count_oriented`, and

        need: The columns read; all rows are needed.

    Raises:
        Any error of the strategy's ``embeddings``.
    """
    if not isinstance(strategy, Engine):
        return False
    query = oriented_query_of(plan, graph, need)
    if query is None:
        return False
    upwards = upwards_graph(graph, report, deadline)
    if upwards is None:
        return False
    wanted = _with_sets(need, query)
    made = plan_upwards(upwards, plan, query, wanted)
    if made is None:
        return False
    with strategy.on(upwards) as beside:
        if beside is None:
            return False
        selected = select(made, upwards, beside, parameters, report, deadline)
        if selected is None:
            return True
        report.steps.append(oriented_text(plan.bound, query))
        chunks = beside.embeddings(selected.plan, selected.masks, wanted, report, deadline)
        return (yield from _in_all_orders(chunks, plan, query, need))


def computed_first(chunks: Generator[Embeddings, None, bool]) -> Generator[Embeddings] | None:
    """The rows, after the first batch was computed; None if the generator returned False."""
    try:
        first = [next(chunks)]
    except StopIteration as ended:
        if not ended.value:
            return None
        first = []

    def all_of() -> Generator[Embeddings]:
        with closing(chunks):
            yield from first
            yield from chunks

    return all_of()


def _in_all_orders(
    chunks: Generator[Embeddings], plan: Plan, query: OrientedQuery, need: Rows
) -> Generator[Embeddings, None, bool]:
    """Yields rows in all orders. Returns False if memory did not suffice."""
    is_begun = False
    with closing(chunks):
        while True:
            try:
                chunk = next(chunks, None)
            except MemoryLimitError:
                if is_begun:
                    raise
                disable_orienting(plan)
                return False
            if chunk is None:
                return True
            is_begun = True
            yield from in_all_orders(chunk, query.sets, need.nodes)


def _with_sets(need: Rows, query: OrientedQuery) -> Rows:
    """The need with all nodes of each symmetric set of which one is read."""
    read = [nodes for nodes in query.sets if need.nodes.intersection(nodes)]
    return replace(need, nodes=need.nodes.union(*read))


def in_all_orders(
    chunk: Embeddings, sets: Sequence[tuple[int, ...]], read: Collection[int]
) -> Iterator[Embeddings]:
    """Yields the rows with the nodes of each set in all orders.

    Args:
        chunk: Embeddings with all nodes of each set of which one is read.
        sets: Positions of interchangeable query nodes.
        read: Positions of the nodes that the rows need.
    """
    all_read = set(read).issuperset(node for nodes in sets for node in nodes)
    for orders in product(*(permutations(nodes) for nodes in sets)):
        columns = {node: node for node in read}
        for nodes, order in zip(sets, orders, strict=True):
            columns |= dict(zip(nodes, order, strict=True))
        nodes_of = {node: chunk.nodes[columns[node]] for node in read}
        yield replace(chunk, nodes=nodes_of, distinct=chunk.distinct and all_read)


def concatenated(chunks: Iterator[Embeddings]) -> Embeddings:
    """Concatenates embeddings with the same node columns, at least one."""
    first, *others = chunks
    all_of = [first, *others]
    nodes = {each: np.concatenate([one.nodes[each] for one in all_of]) for each in first.nodes}
    weights = [one.weights for one in all_of if one.weights is not None]
    return replace(
        first,
        row_count=sum(one.row_count for one in all_of),
        nodes=nodes,
        weights=np.concatenate(weights) if weights else None,
    )
