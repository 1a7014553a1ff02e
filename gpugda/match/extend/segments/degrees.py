"""Degree messages of a data graph that is on the device in parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.device.graph.segment_views import Wanted
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.extend.segments.views import make_views
from gpugda.plan.row_tests import type_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import DegreeMessage, Eliminate
    from gpugda.thresholds import SegmentLimits

__all__ = ["count_in_parts", "has_nothing_in_common", "sees_parts"]


def has_nothing_in_common(message: DegreeMessage, plan: Eliminate, graph: DataGraph) -> bool:
    """Are the groups those of one node, on which they could only share a loop that is not there?"""
    ways = [(group.outgoing, group.incoming) for group in message.groups]
    if len({group.anchor for group in message.groups}) > 1 or len(ways) < 2:
        return False
    first = message.groups[0].relationships[0]
    types = type_ids(plan.core.relationships[first], graph)
    loops = graph.statistics.loop_counts
    is_opposite = sorted(ways) == [(False, True), (True, False)]
    return is_opposite and not any(loops[each] for each in types)


def sees_parts(plan: Eliminate, graph: DataGraph) -> bool:
    """Can it be made of a data graph that is seen in parts?

    Not where a row's own relationships are looked at again: what two groups of leaves have in
    common, or how many nodes fit to several of a row at once.
    """
    paired = [each for each in plan.degrees if len(each.groups) > 1]
    if plan.rows or not all(has_nothing_in_common(each, plan, graph) for each in paired):
        return False
    return all(sees_parts(table.plan, graph) for table in plan.tables)


def count_in_parts(
    run: Run,
    arrays: FilterArrays,
    limits: SegmentLimits,
    used: Mapping[str, bool],
    count: Callable[..., None],
    *,
    masked: bool,
) -> None:
    """Adds up what each part of the data graph has; nodes elsewhere have nothing there.

    Args:
        run: Of the query.
        arrays: Of the query.
        limits: How large parts are.
        used: Which directions are counted.
        count: Counts what is seen by arrays, and ``adds`` it.
        masked: Do predicates leave only some relationships?
    """
    directions = [name for name, is_used in used.items() if is_used]
    views = make_views(run, directions, limits, SMALLEST_BYTES, knows_relationships=masked)
    segments, seen = views.segments, replace(arrays, graph=views.arguments)
    parts = [part for each in range(segments.count) for part in segments.parts(each)]
    wanted = [Wanted(*((part,) if used[name] else () for name in used)) for part in parts]
    for number, each in enumerate(wanted):
        run.check_deadline()
        views.acquire(each, wanted[number + 1] if number + 1 < len(wanted) else None)
        count(seen, adds=number > 0)
    run.report.sent_bytes = views.uploads.sent
    views.release()
