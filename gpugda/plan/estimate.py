"""Estimated rows, memory and time of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpugda.plan.plan import Plan, StepKind

__all__ = ["Estimate", "estimate"]

_INDEX_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated effort of a query, from statistics: only its order of magnitude is reliable.

    Args:
        rows: Embeddings of the query graph, before RETURN groups, sorts or slices them. For a query
            that the device cannot answer: result rows as the database estimates them. NaN if
            unknown.
        bytes: Size of the largest table of partial embeddings, in bytes.
        seconds: Time of the chosen engine; None for a plan alone, which has no device.
    """

    rows: float
    bytes: int
    seconds: float | None = None


def estimate(plan: Plan, seconds: float | None = None) -> Estimate:
    """Estimates the rows and bytes of a plan; the caller supplies the time."""
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
