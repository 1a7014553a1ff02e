"""Counts grouped by nodes: from the strategy ``extend`` and from exhaustive search."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bound_queries import NO_MASKS, all_embeddings

from gpugda.data.data_graph import DataGraph
from gpugda.device.context import DeviceContext
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Groups
from gpugda.plan.plan import Plan
from gpugda.thresholds import Thresholds


def groups(
    context: DeviceContext,
    graph: DataGraph,
    plan: Plan,
    nodes: tuple[int, ...],
    masks: Masks = NO_MASKS,
    report: StrategyReport | None = None,
    *,
    counted: bool = True,
    thresholds: Thresholds | None = None,
) -> Counter[Any]:
    """Count of each tuple of nodes; 1 each if ``counted`` is False."""
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=thresholds)
    report = report or StrategyReport()
    wanted = Groups(nodes, counted=counted, streamed=False)
    found: Counter[Any] = Counter()
    for chunk in strategy.groups(plan, masks, wanted, report):
        assert counted or chunk.weights is None
        weights = [1] * chunk.row_count if chunk.weights is None else chunk.weights.tolist()
        for row, weight in zip(
            zip(*(chunk.nodes[each].tolist() for each in nodes), strict=True), weights, strict=True
        ):
            found[row] += weight
    if not counted:
        assert set(found.values()) <= {1}
    return +found


def expected_groups(
    graph: DataGraph, plan: Plan, nodes: tuple[int, ...], masks: Masks = NO_MASKS
) -> Counter[Any]:
    """The same counts by exhaustive search."""
    found: Counter[Any] = Counter()
    for (chosen, _), times in all_embeddings(graph, plan, masks).items():
        found[tuple(chosen[each] for each in nodes)] += times
    return found
