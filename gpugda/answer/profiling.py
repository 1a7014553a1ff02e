"""Profile of a query's operators, from its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.operator_tree import OperatorNode

if TYPE_CHECKING:
    from gpugda.result.result import Result

__all__ = ["profile_of"]


def profile_of(result: Result) -> OperatorNode:
    """Returns the operator tree, last operator first: estimated and actual rows, seconds, bytes.

    If an engine other than the device answered, the tree is a single operator.
    """
    summary = result.summary
    operators = summary.operators
    if operators is not None:
        return operators
    seconds = sum(time for stage, time in summary.timings.items() if stage != "total")
    return OperatorNode(" ".join(summary.query.split()), None, summary.rows, seconds)
