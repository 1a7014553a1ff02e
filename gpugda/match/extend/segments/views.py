"""Sizes the segments of a data graph for the memory that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.graph.part_directories import directory_bytes
from gpugda.device.graph.segment_views import MAX_PLACES, SegmentViews
from gpugda.device.graph.segments import cut_segments
from gpugda.device.launch.extend import LinkFlags
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.extend.memory import SegmentMemoryError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gpugda.device.graph.segments import Segments
    from gpugda.device.launch.extend import Link
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import InterchangeableLeaves
    from gpugda.thresholds import SegmentLimits

__all__ = ["knows_relationships", "make_views", "views_of_steps"]

_BYTES = 4
_SMALL_ARRAYS = 48
"""Number of small arrays that round up to a minimum size, or are reused although too long."""
_SMALLER = 0.8


def views_of_steps(
    run: Run,
    steps: Sequence[ExtendStep],
    limits: SegmentLimits,
    least: int,
    others: Sequence[InterchangeableLeaves] = (),
    *,
    messages: int = 0,
    masked: bool = False,
) -> SegmentViews:
    """The segments that all joins of a plan read, one after the other.

    Args:
        run: The query's run.
        steps: Steps of all joins.
        limits: Limits of the segments.
        least: Bytes that a join needs beside the segments.
        others: Groups of leaves whose entries are read outside the steps.
        messages: Bytes of the messages that rows are multiplied with.
        masked: True if predicates restrict these groups' relationships.

    Raises:
        MemoryLimitError: It names a limit that suffices.
    """
    links = [link for step in steps for link in step.device_links]
    seen: list[Link | InterchangeableLeaves] = [*links, *others]
    directions = [
        name
        for name, is_used in (
            ("outgoing", any(each.outgoing for each in seen)),
            ("incoming", any(each.incoming for each in seen)),
        )
        if is_used
    ]
    knows = knows_relationships(run, steps, masked=masked)
    sorted_by = max((len(step.device_links) for step in steps), default=0)
    sorted_by = max(sorted_by, int(bool(others)))
    places = {name: _places(name, steps, others) for name in directions}
    return make_views(
        run,
        directions,
        limits,
        least,
        knows_relationships=knows,
        sorted_by=sorted_by,
        places=places,
        messages=messages,
    )


def knows_relationships(run: Run, steps: Sequence[ExtendStep], *, masked: bool) -> bool:
    """True if steps need the relationship index of entries.

    ``masked``: True if predicates restrict relationships that are read outside the steps.
    """
    # Row-by-row steps need the index if tests compare relationships.
    by_rows = run.graph.context.profile.intersection == "marks"
    return masked or any(
        (by_rows and len(step.tests) > step.extension.early)
        or link.flags & LinkFlags.NEEDS_RELATIONSHIP
        or link.relationship_column is not None
        for step in steps
        for link in step.device_links
    )


def make_views(
    run: Run,
    directions: Collection[str],
    limits: SegmentLimits,
    least: int,
    *,
    knows_relationships: bool,
    sorted_by: int = 0,
    places: Mapping[str, int] | None = None,
    messages: int = 0,
) -> SegmentViews:
    """Views of some directions, for which a share of the free memory is allocated.

    Args:
        run: The query's run.
        directions: ``outgoing``, ``incoming``.
        limits: Limits of the segments.
        least: Bytes that are needed beside them.
        knows_relationships: True if the relationship index of each entry is needed.
        sorted_by: Number of segments by which rows are sorted.
        places: Number of places for segments per direction; None for `MAX_PLACES`.
        messages: Further bytes that are needed, of which no step's rows take a share.

    Raises:
        MemoryLimitError: It names a limit that suffices.
    """
    graph, workspace = run.graph, run.workspace
    places = dict.fromkeys(directions, MAX_PLACES) if places is None else places
    run.placement.arguments(workspace.budget)  # uploads what nothing else may have needed
    workspace.make_room(int(workspace.available * limits.share_for_parts))
    per_entry = _BYTES * (2 if knows_relationships else 1)
    room = _SegmentSizes(run, places, limits, per_entry, sorted_by, least, messages)
    segments = room.cut()
    if room.needed(segments) > workspace.available:
        raise _too_small(run, room.needed(segments), segments.longest)
    return SegmentViews(
        workspace,
        graph,
        run.placement,
        segments,
        directions,
        knows_relationships=knows_relationships,
        places=places,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _SegmentSizes:
    """Computes the size of segments.

    Args: as `make_views`, and
        per_entry: Bytes of an entry in one place.
    """

    run: Run
    places: Mapping[str, int]
    limits: SegmentLimits
    per_entry: int
    sorted_by: int
    least: int
    messages: int

    def cut(self) -> Segments:
        """Segments of the largest size that fits; if none fits, of the smallest."""
        free, limits = self.run.workspace.available, self.limits
        # If a step needs two segments, larger row windows send the second ones less often.
        share = limits.share_for_pairs if self.sorted_by > 1 else limits.share_for_parts
        fewest = max(1, -(-self.run.graph.graph.relationship_count // limits.max_segments))
        beside = self._directory_bytes(None) if self.run.placement.has_directory else self.messages
        keys = self._key_bytes(limits.max_segments)
        size = min((free - beside) * share, free - beside - keys - self._small_bytes - self.least)
        most = int(size) // max(1, sum(self.places.values()) * self.per_entry)
        if limits.max_entries is not None:
            most = min(most, limits.max_entries)
        while most > fewest:
            segments = self._segments(most)
            if self._replaced_bytes(segments) <= size and self.needed(segments) <= free:
                return segments
            # The number of runs that come with the entries is not known before.
            most = int(most * _SMALLER)
        return self._segments(fewest)

    def needed(self, segments: Segments) -> int:
        """Bytes of the segments and of everything else that must be on the device."""
        beside = self._directory_bytes(segments) + self._key_bytes(segments.count)
        return beside + self._entry_bytes(segments) + self._small_bytes + self.least

    @property
    def _small_bytes(self) -> int:
        return SMALLEST_BYTES * _SMALL_ARRAYS

    def _key_bytes(self, segments: int) -> int:
        return _BYTES * segments * (2 * self.sorted_by + 1)

    def _entry_bytes(self, segments: Segments) -> int:
        return max(1, sum(self.places.values())) * self.per_entry * segments.longest

    def _directory_bytes(self, segments: Segments | None) -> int:
        """Bytes of what is needed beside entries."""
        with_parts = None if self.run.placement.has_directory else segments
        return directory_bytes(self.run.graph, self.places, with_parts) + self.messages

    def _replaced_bytes(self, segments: Segments) -> int:
        """Bytes of what is replaced with each segment."""
        if self.run.placement.has_directory:
            return self._entry_bytes(segments)
        return self._entry_bytes(segments) + self._directory_bytes(segments) - self.messages

    def _segments(self, most: int) -> Segments:
        # Without any direction no entries are read, but segments are needed all the same.
        names = tuple(self.places) or ("outgoing",)
        return cut_segments([self.run.graph.direction(name) for name in names], most)


def _places(name: str, steps: Sequence[ExtendStep], others: Sequence[InterchangeableLeaves]) -> int:
    """Number of places for segments of a direction that a step reads together, or prefetches.

    In a step with two links, the first link's segment stays while the second link's pass.
    """
    most = 2 if any(getattr(each, name) for each in others) else 1
    for step in steps:
        used = [bool(getattr(link, name)) for link in step.device_links]
        if used:
            most = max(most, sum(used) + used[-1])
    return most


def _too_small(run: Run, needed: int, longest: int) -> SegmentMemoryError:
    budget, free = run.workspace.budget, run.workspace.available
    return SegmentMemoryError(
        f"the data graph is larger than the memory limit of {budget.limit_bytes:,} bytes, and its "
        f"smallest parts, of up to {longest:,} relationships, need {needed:,} bytes, of which "
        f"{free:,} are left",
        budget.limit_bytes - free + needed,
    )
