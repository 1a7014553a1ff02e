"""The tree of operators that a plan will run, and the rows expected of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan.estimate import estimate
from gpugda.plan.operator_tree import OperatorNode
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.plan.plan import Plan

__all__ = ["expected_rows", "measured_operator", "planned_operators"]


def planned_operators(plan: Plan) -> OperatorNode:
    """The tree, the last operator first; one pattern with its projection is one operator."""
    if plan.pipeline is not None:
        return plan.pipeline.tree()
    return OperatorNode(" ".join(plan.bound.query.text.split()), expected_rows(plan))


def measured_operator(
    plan: Plan, rows: int, timings: Mapping[str, float], steps: Sequence[str], device_bytes: int
) -> OperatorNode:
    """That one operator, and what it did.

    Args:
        plan: Of one pattern.
        rows: Rows that it gave.
        timings: Seconds per stage; ``total`` does not count.
        steps: What the device did.
        device_bytes: Bytes that it took there.
    """
    seconds = sum(time for stage, time in timings.items() if stage != "total")
    found = replace(planned_operators(plan), rows=rows, seconds=seconds, steps=tuple(steps))
    return replace(found, device_bytes=device_bytes)


def expected_rows(plan: Plan) -> float | None:
    """Rows of the result of one pattern; None where groups and limits leave them open."""
    query = plan.bound.query
    if query.aggregating and not query.grouping:
        rows = 1.0
    elif query.aggregating or query.distinct:
        return None
    else:
        rows = estimate(plan).rows
    return _cut(rows, query.skip, query.limit)


def _cut(rows: float, skip: ast.Expression | None, limit: ast.Expression | None) -> float | None:
    numbers: list[float] = []
    for bound, otherwise in ((skip, 0.0), (limit, rows)):
        match bound:
            case None:
                numbers.append(otherwise)
            case ast.Literal(value=int(number)):
                numbers.append(float(number))
            case _:
                return None
    return min(max(0.0, rows - numbers[0]), numbers[1])
