"""Places for parts of the data graph, as large as the memory that is left allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.graph.part_directories import directory_bytes
from gpugda.device.graph.segment_views import MOST_PLACES, SegmentViews
from gpugda.device.graph.segments import cut_segments
from gpugda.device.launch.extend import LinkFlags
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.match.extend.memory import PartsError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gpugda.device.graph.segments import Segments
    from gpugda.device.launch.extend import Link
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import LikeLeaves
    from gpugda.thresholds import SegmentLimits

__all__ = ["knows_relationships", "make_views", "views_of_steps"]

_BYTES = 4
_SMALL_ARRAYS = 48
"""Those of which some are shorter than any is, or are used again where they are too long."""
_SMALLER = 0.8


def views_of_steps(
    run: Run,
    steps: Sequence[ExtendStep],
    limits: SegmentLimits,
    least: int,
    others: Sequence[LikeLeaves] = (),
    *,
    messages: int = 0,
    masked: bool = False,
) -> SegmentViews:
    """What all joins of a plan look at, one after the other.

    Args:
        run: Of the query.
        steps: Of the joins.
        limits: How large parts are.
        least: Bytes that a join needs beside them.
        others: Groups of leaves whose relationships are looked at apart from steps.
        messages: Bytes of what rows are multiplied with.
        masked: Do predicates leave only some of these?

    Raises:
        MemoryLimitError: It names a limit that suffices.
    """
    links = [link for step in steps for link in step.device_links]
    seen: list[Link | LikeLeaves] = [*links, *others]
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
    """Must steps know which relationships entries are?

    ``masked``: do predicates leave only some of those that are looked at apart from steps?
    """
    # Who goes row by row looks up which ones could be the same, where tests tell them apart.
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
    """Views of some directions, for which a share of the free memory is taken.

    Args:
        run: Of the query.
        directions: ``outgoing``, ``incoming``.
        limits: How large parts are.
        least: Bytes that are needed beside them.
        knows_relationships: Must it be known which relationship an entry is?
        sorted_by: By so many segments rows are sorted.
        places: For parts of each direction; None for `MOST_PLACES`.
        messages: Bytes that are needed, too, of which no step's rows take a share.

    Raises:
        MemoryLimitError: It names a limit that suffices.
    """
    graph, workspace = run.graph, run.workspace
    places = dict.fromkeys(directions, MOST_PLACES) if places is None else places
    run.placement.arguments(workspace.budget)  # which nothing else may have needed
    workspace.make_room(int(workspace.available * limits.share_for_parts))
    per_entry = _BYTES * (2 if knows_relationships else 1)
    room = _Room(run, places, limits, per_entry, sorted_by, least, messages)
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
class _Room:
    """Says how large parts are.

    Args: as of `make_views`, and

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
        """Into parts as large as has room; where none has, into the smallest ones."""
        free, limits = self.run.workspace.available, self.limits
        # Where two parts are needed together, many rows at once send the second ones less often.
        share = limits.share_for_pairs if self.sorted_by > 1 else limits.share_for_parts
        fewest = max(1, -(-self.run.graph.graph.relationship_count // limits.most_segments))
        beside = self._beside(None) if self.run.placement.has_directory else self.messages
        keys = self._keys(limits.most_segments)
        size = min((free - beside) * share, free - beside - keys - self._small - self.least)
        most = int(size) // max(1, sum(self.places.values()) * self.per_entry)
        if limits.most_entries is not None:
            most = min(most, limits.most_entries)
        while most > fewest:
            segments = self._segments(most)
            if self._parts(segments) <= size and self.needed(segments) <= free:
                return segments
            # Runs come with entries: how many is not known before.
            most = int(most * _SMALLER)
        return self._segments(fewest)

    def needed(self, segments: Segments) -> int:
        """Bytes for parts, and for what else must be there."""
        beside = self._beside(segments) + self._keys(segments.count)
        return beside + self._entries(segments) + self._small + self.least

    @property
    def _small(self) -> int:
        return SMALLEST_BYTES * _SMALL_ARRAYS

    def _keys(self, segments: int) -> int:
        return _BYTES * segments * (2 * self.sorted_by + 1)

    def _entries(self, segments: Segments) -> int:
        return max(1, sum(self.places.values())) * self.per_entry * segments.longest

    def _beside(self, segments: Segments | None) -> int:
        """Beside entries."""
        with_parts = None if self.run.placement.has_directory else segments
        return directory_bytes(self.run.graph, self.places, with_parts) + self.messages

    def _parts(self, segments: Segments) -> int:
        """What comes and goes."""
        if self.run.placement.has_directory:
            return self._entries(segments)
        return self._entries(segments) + self._beside(segments) - self.messages

    def _segments(self, most: int) -> Segments:
        # Nobody looks at entries where there is no direction, but there are segments all the same.
        names = tuple(self.places) or ("outgoing",)
        return cut_segments([self.run.graph.direction(name) for name in names], most)


def _places(name: str, steps: Sequence[ExtendStep], others: Sequence[LikeLeaves]) -> int:
    """For parts of a direction that a step looks at together, and for what comes meanwhile.

    Of a step with two links the part of the first one stays while the second one's go by.
    """
    most = 2 if any(getattr(each, name) for each in others) else 1
    for step in steps:
        used = [bool(getattr(link, name)) for link in step.device_links]
        if used:
            most = max(most, sum(used) + used[-1])
    return most


def _too_small(run: Run, needed: int, longest: int) -> PartsError:
    budget, free = run.workspace.budget, run.workspace.available
    return PartsError(
        f"the data graph is larger than the memory limit of {budget.limit_bytes:,} bytes, and its "
        f"smallest parts, of up to {longest:,} relationships, need {needed:,} bytes, of which "
        f"{free:,} are left",
        budget.limit_bytes - free + needed,
    )
