"""What each operator of a query did, from its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.operator_tree import OperatorNode

if TYPE_CHECKING:
    from gpugda.result.result import Result

__all__ = ["profile_of"]


def profile_of(result: Result) -> OperatorNode:
    """The tree of operators, the last one first: rows expected and found, seconds and bytes.

    A query of one MATCH and RETURN is one operator, with what the device did for it in lines; so is
    what another engine answered.
    """
    summary = result.summary
    if summary.operators is not None:
        return summary.operators
    seconds = sum(time for stage, time in summary.timings.items() if stage != "total")
    return OperatorNode(" ".join(summary.query.split()), None, summary.rows, seconds)
