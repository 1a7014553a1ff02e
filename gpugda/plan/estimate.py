"""What a plan is expected to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpugda.plan.plan import Plan, StepKind

__all__ = ["Estimate", "estimate"]

_INDEX_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a query is expected to take; from statistics, so only the order of magnitude counts.

    Args:
        rows: Embeddings of the query graph, before RETURN groups, orders or cuts them; of a query
            that the device could not answer, rows of the result as the database expects them. Not
            a number where nobody knows.
        bytes: Memory of the largest table of partial embeddings.
        seconds: Time of the engine that would answer; None of a plan alone, which knows no device.
    """

    rows: float
    bytes: int
    seconds: float | None = None


def estimate(plan: Plan, seconds: float | None = None) -> Estimate:
    """Rows and bytes that running the plan is expected to take; the time is the caller's."""
    if plan.bound.no_rows is not None:
        return Estimate(0.0, 0, seconds)
    nodes: set[int] = set()
    relationships: set[int] = set()
    rows = peak = 0.0
    for step in plan.steps:
        if step.kind in (StepKind.NODES, StepKind.EXTEND):
            nodes.add(step.position)
            relationships.update(step.along)
        else:
            relationships.add(step.position)
            ends = plan.bound.relationships[step.position]
            nodes |= {ends.source, ends.target}
        rows = step.cardinality
        peak = max(peak, rows * (len(nodes) + len(relationships)) * _INDEX_BYTES)
    return Estimate(rows, round(peak), seconds)
