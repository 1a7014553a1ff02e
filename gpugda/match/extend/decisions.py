"""Decisions about a query: for its next run, and those that outlive a snapshot of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.match.extend.earlier_candidates import KnownCandidates
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import CountPlan
    from gpugda.plan.plan_feedback import PlanFeedback

    StepsKey = tuple[Rows, frozenset[int], bool, int]

__all__ = ["Decisions", "Found", "Orders"]


class Orders(NamedTuple):
    """Join orders by the query nodes left out, and the cost of joining all query nodes.

    The cost is only meaningful if the order that leaves out none is known.
    """

    nodes: Mapping[frozenset[int], list[int]]
    cost: float


class Found(NamedTuple):
    """Plans, orders and steps of a query, see `KeptQuery`."""

    plans: dict[object, CountPlan]
    orders: dict[frozenset[int], list[int]]
    steps: dict[StepsKey, tuple[tuple[ExtendStep, ...], StepWords]]


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions about a query that outlive a snapshot; they hold no arrays of it.

    Args:
        plans: As in `KeptQuery`.
        orders: As in `KeptQuery`.
        join_seconds: As in `KeptQuery`.
        leaves: As in `KeptQuery`.
        feedback: Its judgement is complete, or there is nothing to judge.
        candidates: Those of that snapshot, on the host; None if not kept.
        counts: Number of candidates per query node when the plans were chosen.
    """

    plans: Mapping[object, CountPlan]
    orders: Orders
    join_seconds: float | None
    leaves: frozenset[int] | None
    feedback: PlanFeedback[Found]
    candidates: KnownCandidates | None
    counts: tuple[int, ...]
