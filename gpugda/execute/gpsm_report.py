"""What the strategy did, in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.plan import StepKind
from gpugda.query.query_parts import is_anonymous
from gpugda.query.render import name_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.identifiers import NameTable
    from gpugda.execute.candidates import Candidates
    from gpugda.execute.embeddings import StrategyReport
    from gpugda.execute.gpsm_join import JoinWindows
    from gpugda.execute.gpsm_relationships import RelationshipTables
    from gpugda.execute.gpsm_steps import JoinStep
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["describe_candidates", "describe_steps", "node_text", "relationship_text", "tests_text"]


def describe_candidates(
    report: StrategyReport,
    bound: BoundQuery,
    candidates: Candidates,
    tables: RelationshipTables | None,
) -> None:
    """Fills in how many candidates were left."""
    report.candidates.update(
        {node.position: candidates.count(node.position) for node in bound.nodes}
    )
    if tables is not None:
        report.candidate_relationships.update(tables.counts)


def describe_steps(
    report: StrategyReport,
    graph: DataGraph,
    bound: BoundQuery,
    steps: Sequence[JoinStep],
    windows: JoinWindows,
) -> None:
    """One line per step of the join: what was done, and how many rows came of it."""
    for number, step in enumerate(steps):
        rows, chunks = windows.rows[number], windows.windows[number]
        line = f"{_what(step, graph, bound)}: {rows:,} rows"
        report.steps.append(line if chunks <= 1 else f"{line} in {chunks:,} chunks")


def _what(step: JoinStep, graph: DataGraph, bound: BoundQuery) -> str:
    if step.kind is None:
        return f"prune by {len(step.tests)} tests"
    if step.kind is StepKind.NODES:
        return f"{step.kind} {node_text(bound, step.position)}"
    along = relationship_text(graph.types, bound, bound.relationships[step.position])
    return f"{step.kind} {along}{tests_text(len(step.tests))}"


def tests_text(count: int) -> str:
    """How many tests a step has, if any."""
    return f" with {count} test{'s' if count > 1 else ''}" if count else ""


def relationship_text(types: NameTable, bound: BoundQuery, each: BoundRelationship) -> str:
    """A query relationship as Cypher writes it."""
    kind = ""
    if each.types is not None:
        kind = ":" + "|".join([name_text(types.names[number]) for number in each.types])
    inside = f"[{_name(each.name)}{kind}]"
    arrow = f"-{inside}->" if each.directed else f"-{inside}-"
    return f"{node_text(bound, each.source)}{arrow}{node_text(bound, each.target)}"


def node_text(bound: BoundQuery, position: int) -> str:
    """A query node as Cypher writes it."""
    return f"({_name(bound.nodes[position].name)})"


def _name(name: str) -> str:
    return "" if is_anonymous(name) else name_text(name)
