"""Estimate of the segments of a data graph that are sent to the device when a query runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from gpugda.plan.plan import StepKind
from gpugda.plan.readable import bytes_text
from gpugda.thresholds import SegmentLimits
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.plan.plan import Plan, PlanStep

__all__ = ["ListStreaming", "StoredGraph", "Streaming", "streaming"]

_ENTRY_BYTES: Final = 4
_DIRECTIONS: Final = 2
_KEPT_BYTES: Final = 10
"""Bytes per kept entry: its neighbour, its relationship index, and overhead."""
_SHARE_FOR_KEPT: Final = 0.85
_MANY_ROWS: Final = 16
_VALUE_BYTES: Final = 4
_SORTED: Final = 2
"""Rows are on the device twice while they are sorted by a segment."""
_SHARE_FOR_TABLE: Final = 0.2
"""Share of the memory beside segments for a table of sorted rows."""
_LINKS: Final = 2
"""Links that a step follows at a time; others are closed by separate steps."""


@value(frozen=True, slots=True)
class Streaming:
    """Estimated transfers; counts without rows send less.

    Args:
        graph_bytes: Size of the data graph.
        limit: Memory limit for graph and query on the device, in bytes.
        segments: Number of segments per direction.
        sent_bytes: Total bytes sent, with repetitions.
        kept: Estimated number of entries kept on the device after one pass over the graph; None if
            they do not fit, or if few rows need few segments.
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
        return f"once, to keep about {self.kept:,.0f} entries between candidates"


@value(frozen=True, slots=True)
class ListStreaming(Streaming):
    """Transfers for triangles of any nodes that a GPU counts in lists of upper neighbours.

    Args: like `Streaming`, and

        making_bytes: Bytes sent once to build the lists; 0 if they exist.
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


@value(frozen=True, slots=True)
class StoredGraph:
    """Size of a data graph on the device.

    Args:
        nodes: Number of nodes.
        relationships: Number of relationships.
        nbytes: Total size in bytes.
        type_counts: Relationships per type; empty if unknown.
        runs: Number of runs of one type, over both directions; 0 for a graph of one type.
        run_bytes: Bytes per run: its type and its start.
        directory_bytes: Bytes of the offsets of all nodes and runs, with a second copy for parts if
            there are several types.
    """

    nodes: int
    relationships: int
    nbytes: int
    type_counts: tuple[int, ...] = ()
    runs: int = 0
    run_bytes: int = 0
    directory_bytes: int = 0

    def streams_runs(self, limit: int) -> bool:
        """True if the directory of runs, or of the rows of one type, is sent with the entries."""
        share = SegmentLimits().directory_share(is_one_type=not self.runs)
        return self.directory_bytes > share * limit

    def staying_bytes(self, limit: int) -> float:
        """Bytes that stay on the device: the directory, unless parts bring it."""
        return 0.0 if self.streams_runs(limit) else self.directory_bytes

    def kept_start_bytes(self, limit: int) -> float:
        """Bytes that say where kept entries start: rows of one type are listed.

        With several types all runs stay, or, where parts bring them, there are run offsets, twice
        while entries are selected.
        """
        if not self.runs:
            return float(_DIRECTIONS * self.nodes)
        if self.streams_runs(limit):
            return 2.0 * _DIRECTIONS * _ENTRY_BYTES * self.nodes
        return self.staying_bytes(limit) / 2

    def entry_bytes(self, limit: int) -> float:
        """Bytes sent per entry, including its share of a run or a row."""
        if not self.streams_runs(limit):
            return _ENTRY_BYTES
        of_rows = _ENTRY_BYTES * (1 + self.nodes / max(1, self.relationships))
        return of_rows + self.run_bytes * self.runs / max(1, _DIRECTIONS * self.relationships)

    def of_types(self, types: tuple[int, ...] | None) -> float:
        """Number of relationships of some types; None for any type."""
        if types is None or not self.type_counts:
            return self.relationships
        return sum(self.type_counts[each] for each in types)


def streaming(
    plan: Plan, graph: StoredGraph, limit: int, *, is_gpu: bool = False
) -> Streaming | None:
    """The transfers of a plan's steps; None if the graph fits or the plan does not stream.

    Args:
        plan: A plan of a strategy that streams the graph in segments.
        graph: Size of the data graph.
        limit: Memory limit for graph and query, in bytes.
        is_gpu: True if the device has a place for the next segment, and compares no relationships
            in steps with two links, as GPUs do.
    """
    if graph.nbytes <= limit or plan.bound.no_rows is not None or plan.declined:
        return None
    direction, links = graph.entry_bytes(limit) * graph.relationships, _links(plan)
    directions = len({outgoing for _, outgoing in links})
    share, tables = _share(plan, graph, limit)
    is_large = not is_gpu and _paired_bytes(plan) is not None
    segments = _segments(plan, graph, limit, share, is_large=is_large)
    # Numbers of outgoing relationships often just count up, and are not sent.
    of_pairs = direction + is_large * _ENTRY_BYTES * graph.relationships / _DIRECTIONS
    sent, rows = 0.0, 0.0
    for step in plan.steps:
        pairs = len(_along(step)) > 1
        passes = _passes(plan, step, rows, segments, tables / segments if pairs else 1.0)
        sent += (of_pairs if pairs else direction) * passes
        rows = step.cardinality
    kept = _kept_entries(plan, graph, limit, links)
    if kept is None:
        return Streaming(graph.nbytes, limit, segments, sent)
    return Streaming(graph.nbytes, limit, segments, min(sent, directions * direction), kept)


def _links(plan: Plan) -> set[tuple[int, bool]]:
    """(relationship, outgoing) for every link that a step follows; undirected ones twice."""
    found = set[tuple[int, bool]]()
    for step in plan.steps:
        for number in _along(step):
            each = plan.bound.relationships[number]
            found.add((number, each.source != step.position))
            if not each.directed:
                found.add((number, each.source == step.position))
    return found


def _along(step: PlanStep) -> tuple[int, ...]:
    if step.kind not in (StepKind.EXTEND, StepKind.COMBINE):
        return ()
    return step.along or (step.position,)


def _share(plan: Plan, graph: StoredGraph, limit: int) -> tuple[float, float]:
    """Share of the memory for segments, and the number of tables of rows for all pairs of them."""
    limits, rows = SegmentLimits(), _paired_bytes(plan)
    if rows is None:
        return limits.share_for_parts, 0.0
    room = max(1.0, limit - graph.staying_bytes(limit))
    share = limits.share_of_pairs(rows / room)
    return share, _SORTED * rows / (_SHARE_FOR_TABLE * (1.0 - share) * room)


def _segments(plan: Plan, graph: StoredGraph, limit: int, share: float, *, is_large: bool) -> int:
    """Number of segments per direction, with the places that a run would use.

    ``is_large``: True if entries have the indexes of their relationships, and no place is spared
    for the next segment.
    """
    room = max(1.0, limit - graph.staying_bytes(limit))
    places = sum(_places(plan, outgoing, int(not is_large)) for outgoing in (True, False))
    entry = graph.entry_bytes(limit) + is_large * _ENTRY_BYTES
    size = share * room / (max(1, places) * entry)
    return max(1, min(SegmentLimits().max_segments, math.ceil(graph.relationships / size)))


def _paired_bytes(plan: Plan) -> float | None:
    """Expected bytes of the rows that steps with two links take; None if there is no such step."""
    most, rows, width = None, 0.0, 0
    for step in plan.steps:
        if len(_along(step)) > 1:
            most = max(most or 0.0, _VALUE_BYTES * width * rows)
        rows, width = step.cardinality, width + 1
    return most


def _places(plan: Plan, outgoing: bool, spare: int) -> int:
    """Number of places for segments of a direction; ``spare``: for the next one."""
    most = 0
    for step in plan.steps:
        used = [_follows(plan, step, number, outgoing) for number in _along(step)[:_LINKS]]
        if used:
            most = max(most, sum(used) + spare * used[-1])
    return most


def _follows(plan: Plan, step: PlanStep, number: int, outgoing: bool) -> bool:
    """True if a step follows a link in this direction."""
    each = plan.bound.relationships[number]
    return not each.directed or (each.source != step.position) == outgoing


def _kept_entries(
    plan: Plan, graph: StoredGraph, limit: int, links: set[tuple[int, bool]]
) -> float | None:
    """Estimated entries between candidates, if spread evenly; None if they do not fit.

    Also None if few rows need few segments.
    """
    rows = [each.cardinality for each in plan.steps[:-1]]
    if max(rows, default=0.0) < _MANY_ROWS:
        return None
    shares = [each.cardinality / max(1, graph.nodes) for each in plan.bound.nodes]
    kept = 0.0
    for number, _ in links:
        each = plan.bound.relationships[number]
        kept += graph.of_types(each.types) * shares[each.source] * shares[each.target]
    entry, starts = _KEPT_BYTES, graph.kept_start_bytes(limit)
    if graph.runs and graph.streams_runs(limit):
        entry += graph.run_bytes
    staying = starts if graph.runs and not graph.streams_runs(limit) else graph.staying_bytes(limit)
    has_room = kept * entry + starts <= (limit - staying) * _SHARE_FOR_KEPT
    return kept if has_room and kept else None


def _passes(plan: Plan, step: PlanStep, rows: float, segments: int, tables: float) -> float:
    """How often a step sends a whole direction; few rows need only a share of the segments.

    ``tables``: number of tables per segment of the first link.
    """
    along = _along(step)
    directions = [1 if plan.bound.relationships[each].directed else 2 for each in along]
    # With two links, the second link's segments are sent for each table of each of the first's.
    times = [1.0, float(segments) * math.ceil(max(1.0, tables)), *[1.0] * len(along)]
    share = min(1.0, rows / segments)
    return (
        sum(
            direction_count * time for direction_count, time in zip(directions, times, strict=False)
        )
        * share
    )
