"""Describes for people what the join did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpugda_strategies.gsi.steps import JoinKind

from gpugda.match.report import made_text, node_text, relationship_text, tests_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.gsi.steps import NodeStep

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import StrategyReport
    from gpugda.plan.plan import BoundQuery

__all__ = ["StepCounters", "describe_steps", "step_lines"]


class StepCounters(Protocol):
    """An object that counts the rows and windows of each step."""

    rows: list[int]
    windows: list[int]


def describe_steps(
    report: StrategyReport,
    graph: DataGraph,
    bound: BoundQuery,
    steps: Sequence[NodeStep],
    windows: StepCounters,
) -> None:
    """Adds one line per step: the operation, and the number of rows."""
    for line in step_lines(graph, bound, steps, windows):
        report.steps.append(line)


def step_lines(
    graph: DataGraph, bound: BoundQuery, steps: Sequence[NodeStep], windows: StepCounters
) -> list[str]:
    """The lines that `describe_steps` adds."""
    made = zip(steps, windows.rows, windows.windows, strict=True)
    return [made_text(_what(step, graph, bound), rows, chunks) for step, rows, chunks in made]


def _what(step: NodeStep, graph: DataGraph, bound: BoundQuery) -> str:
    if step.kind is JoinKind.PRUNE:
        return f"prune{tests_text(len(step.tests))}"
    if step.kind in (JoinKind.NODES, JoinKind.SEED):
        return f"{step.kind} {node_text(bound, step.position)}"
    along = " and ".join(
        relationship_text(graph.types, bound, bound.relationships[link.relationship])
        for link in step.links
    )
    return f"{step.kind} {along}{tests_text(len(step.tests))}"
