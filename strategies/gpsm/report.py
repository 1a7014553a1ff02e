"""Describes for people what the strategy did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.report import made_text, node_text, relationship_text, tests_text
from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.gpsm.join import JoinWindows
    from gpugda_strategies.gpsm.steps import JoinStep

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import StrategyReport
    from gpugda.plan.plan import BoundQuery

__all__ = ["describe_steps"]


def describe_steps(
    report: StrategyReport,
    graph: DataGraph,
    bound: BoundQuery,
    steps: Sequence[JoinStep],
    windows: JoinWindows,
) -> None:
    """Adds one line per step of the join: the operation, and the number of rows."""
    for step, rows, chunks in zip(steps, windows.rows, windows.windows, strict=True):
        report.steps.append(made_text(_what(step, graph, bound), rows, chunks))


def _what(step: JoinStep, graph: DataGraph, bound: BoundQuery) -> str:
    if step.kind is None:
        return f"prune by {len(step.tests)} tests"
    if step.kind is StepKind.NODES:
        return f"{step.kind} {node_text(bound, step.position)}"
    along = relationship_text(graph.types, bound, bound.relationships[step.position])
    return f"{step.kind} {along}{tests_text(len(step.tests))}"
