"""A plan on the OpenCL device: masks, embeddings in chunks, tail."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_deadline
from gpugda.execute.matching import select
from gpugda.execute.needs import need_of
from gpugda.execute.oriented_count import count_oriented, noting_unoriented
from gpugda.execute.tail import Tail
from gpugda.match.need import Count, Groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.result_table import ResultTable
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import Plan

__all__ = ["run_on_device"]


def run_on_device(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None = None,
) -> ResultTable:
    """All rows of a plan. Fills ``report`` with stage times and steps.

    ``deadline`` is a time of ``time.monotonic``.

    Raises:
        CypherTypeError: A value had a type for which an operation is not defined.
        DeviceError: The device failed.
        MemoryLimitError: Not possible within the memory limit.
        ParameterMissingError: A parameter has no value.
        QueryTimeoutError: The deadline passed.
    """
    bound = plan.bound
    query = bound.query
    # Made first: a wrong SKIP or LIMIT is an error whatever the graph holds.
    tail = Tail(query, bound, graph, parameters)
    if tail.reads_no_rows:
        return tail.finish()
    oriented = count_oriented(plan, graph, strategy, parameters, report, deadline)
    if oriented is not None:
        return tail.finish_count(oriented)
    selected = select(plan, graph, strategy, parameters, report, deadline)
    if selected is None:
        return tail.finish()
    masks, rest = selected.masks, selected.rest
    need = need_of(query, rest, tail.enough_rows)
    if isinstance(need, Count):
        with noting_unoriented(plan, graph):
            count = strategy.count(selected.plan, masks, report, deadline)
        return tail.finish_count(count)
    plan = selected.plan
    if rest is not bound:
        tail = Tail(query, rest, graph, parameters)
    in_tail = 0.0
    if isinstance(need, Groups):
        chunks = strategy.groups(plan, masks, need, report, deadline)
    else:
        chunks = strategy.embeddings(plan, masks, need, report, deadline)
    with closing(chunks):  # LIMIT leaves early: the device is free again at once
        for chunk in chunks:
            started = time.perf_counter()
            more = tail.push(chunk)
            in_tail += time.perf_counter() - started
            check_deadline(deadline)
            if not more:
                break
    started = time.perf_counter()
    table = tail.finish()
    in_tail += report.timings.get("tail", 0.0)  # what the strategy has grouped
    report.timings["tail"] = in_tail + time.perf_counter() - started
    check_deadline(deadline)
    return table
