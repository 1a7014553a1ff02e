"""What of a data graph is sent to the device in segments when a query runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.plan.plan import StepKind
from gpugda.plan.readable import bytes_text
from gpugda.thresholds import SegmentLimits

if TYPE_CHECKING:
    from gpugda.plan.plan import Plan, PlanStep

__all__ = ["ListStreaming", "Streaming", "streaming"]

_ENTRY_BYTES: Final = 4
_DIRECTIONS: Final = 2
_KEPT_BYTES: Final = 10
"""Of an entry: its neighbour, which relationship it is, and some more."""
_SHARE_FOR_KEPT: Final = 0.85
_MANY_ROWS: Final = 16
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
        kept: Entries that are expected to be kept on the device after all were sent once; None
            where they have no room, or few rows need few segments.
    """

    graph_bytes: int
    limit: int
    segments: int
    sent_bytes: float
    kept: float | None = None

    def __str__(self) -> str:
        share = self.sent_bytes / max(1, self.graph_bytes)
        return (
            f"the data graph takes {bytes_text(self.graph_bytes)} and the memory_limit is "
            f"{bytes_text(self.limit)}: to join everything, {bytes_text(round(self.sent_bytes))} "
            f"({share:.2g} times the graph) would be sent to the device, {self._how()}"
        )

    def _how(self) -> str:
        if self.kept is None:
            return f"in {self.segments:,} segments a direction"
        return f"once, to keep about {self.kept:,.0f} entries that lead from candidates to others"


@dataclass(frozen=True, slots=True)
class ListStreaming(Streaming):
    """What triangles of any nodes send where a GPU counts them in lists of upper neighbours.

    Args: as of `Streaming`, and

        making_bytes: Sent once, to make the lists; 0 where they are there.
    """

    making_bytes: float = 0.0

    def __str__(self) -> str:
        share = self.sent_bytes / max(1, self.graph_bytes)
        making = ""
        if self.making_bytes:
            making = f", {bytes_text(round(self.making_bytes))} of it once, to make these"
        return (
            f"the data graph takes {bytes_text(self.graph_bytes)} and the memory_limit is "
            f"{bytes_text(self.limit)}: to count triangles, {bytes_text(round(self.sent_bytes))} "
            f"({share:.2g} times the graph) would be sent to the device, in {self.segments:,} "
            f"segments of lists of upper neighbours{making}"
        )


def streaming(
    plan: Plan, nodes: int, relationships: int, graph_bytes: int, limit: int
) -> Streaming | None:
    """What a plan's steps send; None where the graph fits, or nothing is known of such sending.

    Args:
        plan: Of a strategy that takes the graph in segments.
        nodes: Of the data graph.
        relationships: Likewise.
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
    kept = _kept(plan, nodes, relationships)
    directory = _ENTRY_BYTES * _DIRECTIONS * nodes
    if kept * _KEPT_BYTES + directory > (limit - directory) * _SHARE_FOR_KEPT or not kept:
        return Streaming(graph_bytes, limit, segments, sent)
    return Streaming(graph_bytes, limit, segments, min(sent, _DIRECTIONS * direction), kept)


def _kept(plan: Plan, nodes: int, relationships: int) -> float:
    """Entries between candidates, were these spread evenly; 0 where few rows need few segments."""
    rows = [each.cardinality for each in plan.steps[:-1]]
    if max(rows, default=0.0) < _MANY_ROWS:
        return 0.0
    shares = [each.cardinality / max(1, nodes) for each in plan.bound.nodes]
    ends = [(each.source, each.target) for each in plan.bound.relationships]
    return sum(relationships * shares[source] * shares[target] for source, target in ends)


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
