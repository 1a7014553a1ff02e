"""Estimated rows, memory and time of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.plan.physical import PhysicalPlan
    from gpugda.plan.plan import Plan

__all__ = ["Estimate", "estimate", "estimate_query"]

_INDEX_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated effort of a query, from statistics: only its order of magnitude is reliable.

    Args:
        rows: The most embeddings, paths or rows that an operator finds, before RETURN groups, sorts
            or slices them. For a query that the device cannot answer: result rows as the database
            estimates them. NaN if unknown.
        bytes: Size of the largest table of partial embeddings, in bytes.
        seconds: Time of the chosen engine; None for a pattern alone.
    """

    rows: float
    bytes: int
    seconds: float | None = None


def estimate_query(
    physical: PhysicalPlan, patterns: Iterable[Plan], seconds: float | None
) -> Estimate:
    """The estimate of a query; the caller supplies the time."""
    most = max((estimate(each).bytes for each in patterns), default=0)
    return Estimate(physical.found, most, seconds)


def estimate(plan: Plan) -> Estimate:
    """Estimates the rows and bytes of a pattern."""
    if plan.bound.no_rows is not None:
        return Estimate(0.0, 0)
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
    return Estimate(rows, round(peak))
