"""What of a data graph is sent to the device in segments when a query runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.plan.plan import StepKind
from gpugda.plan.readable import bytes_text
from gpugda.thresholds import SegmentLimits

if TYPE_CHECKING:
    from gpugda.plan.plan import Plan, PlanStep

__all__ = ["Streaming", "streaming"]

_ENTRY_BYTES: Final = 4
_DIRECTIONS: Final = 2
_PLACES: Final = 2
"""Of parts of one direction: one that is looked at, and one for what comes next."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """What is expected to be sent; counts that need no rows send less.

    Args:
        graph_bytes: What the data graph takes.
        limit: Bytes that graph and query may take on the device.
        segments: In how many parts a direction comes.
        sent_bytes: Of all parts, each as often as it is sent.
    """

    graph_bytes: int
    limit: int
    segments: int
    sent_bytes: float

    def __str__(self) -> str:
        share = self.sent_bytes / max(1, self.graph_bytes)
        return (
            f"the data graph takes {bytes_text(self.graph_bytes)} and the memory_limit is "
            f"{bytes_text(self.limit)}: to join everything, {bytes_text(round(self.sent_bytes))} "
            f"({share:.2g} times the graph) would be sent to the device, in {self.segments:,} "
            "segments a direction"
        )


def streaming(plan: Plan, relationships: int, graph_bytes: int, limit: int) -> Streaming | None:
    """What a plan's steps send; None where the graph fits, or nothing is known of such sending.

    Args:
        plan: Of a strategy that takes the graph in segments.
        relationships: Of the data graph.
        graph_bytes: What it takes on the device.
        limit: What graph and query may take there.
    """
    if graph_bytes <= limit or plan.bound.no_rows is not None or plan.declined:
        return None
    direction = _ENTRY_BYTES * relationships
    room = max(1.0, SegmentLimits().share_for_parts * limit) / (_DIRECTIONS * _PLACES)
    segments = max(1, min(SegmentLimits().most_segments, -int(-direction // room)))
    sent, rows = 0.0, 0.0
    for step in plan.steps:
        sent += direction * _passes(plan, step, rows, segments)
        rows = step.cardinality
    return Streaming(graph_bytes, limit, segments, sent)


def _passes(plan: Plan, step: PlanStep, rows: float, segments: int) -> float:
    """How often a step sends all of a direction: few rows need few of its segments."""
    if step.kind not in (StepKind.EXTEND, StepKind.COMBINE):
        return 0.0
    along = step.along or (step.position,)
    ways = [1 if plan.bound.relationships[each].directed else 2 for each in along]
    # By two links at once: the second one's segments for each of the first one's.
    times = [1.0, float(segments), *[1.0] * len(along)]
    share = min(1.0, rows / segments)
    return sum(way * time for way, time in zip(ways, times, strict=False)) * share
