"""Sizes the segments of a data graph for the memory that is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gpugda.device.graph.part_directories import directory_bytes
from gpugda.device.graph.segment_views import MAX_PARTS, SegmentViews
from gpugda.device.graph.segments import cut_segments, whole_segment
from gpugda.device.launch.extend import LinkFlags
from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda.device.graph.segments import Segments
    from gpugda.device.launch.extend import Link
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import InterchangeableLeaves
    from gpugda.thresholds import SegmentLimits

__all__ = [
    "SegmentNeeds",
    "knows_relationships",
    "leaves_room",
    "make_views",
    "max_segment_entries",
    "needs_of_steps",
]

_BYTES = 4
_POSITIONS = (1 << 32) - 16
"""Positions of entries have 32 bits; as many of runs, of which each place has one more."""
_SMALL_ARRAYS = 48
"""Number of small arrays that round up to a minimum size, or are reused although too long."""
_MOST_SEGMENTS = 1 << 10
"""Maximum number of segments if larger ones do not fit; passes over pairs grow by its square."""
_SMALLER = 0.8
_MAX_NODES = 2
"""Maximum nodes of a segment, as a multiple of the mean number for its entries."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentNeeds:
    """What the segments of a data graph must hold, and what is needed beside them.

    Args:
        places: Number of places for segments per direction (``outgoing``, ``incoming``) that is
            read.
        limits: Limits of the segments.
        least: Bytes that are needed beside them.
        messages: Further bytes that are needed, of which no step's rows take a share.
        knows_relationships: True if the relationship index of each entry is needed.
        sorted_by: Number of segments by which rows are sorted.
        row_bytes: Expected bytes of the rows that need pairs of segments.
        fewest_places: The places without those for segments that are sent in advance.
    """

    places: Mapping[str, int]
    limits: SegmentLimits
    least: int
    messages: int
    knows_relationships: bool
    sorted_by: int
    row_bytes: float
    fewest_places: Mapping[str, int]

    def tighter(self) -> Iterator[SegmentNeeds]:
        """Yields the same needs in ever less memory, which take more time."""
        yield self
        if self.fewest_places != self.places:
            yield replace(self, places=self.fewest_places)
        most = max(self.limits.max_segments, _MOST_SEGMENTS)
        limits = replace(self.limits, max_segments=most)
        yield replace(self, places=self.fewest_places, limits=limits)


def needs_of_steps(
    run: Run,
    steps: Sequence[ExtendStep],
    limits: SegmentLimits,
    least: int,
    others: Sequence[InterchangeableLeaves] = (),
    *,
    messages: int = 0,
    masked: bool = False,
    row_bytes: float = 0.0,
) -> SegmentNeeds:
    """The needs of all joins of a plan, which read the segments one after the other.

    Args:
        run: The query's run.
        steps: Steps of all joins.
        limits: Limits of the segments.
        least: Bytes that a join needs beside the segments.
        others: Groups of leaves whose entries are read outside the steps.
        messages: Bytes of the messages that rows are multiplied with.
        masked: True if predicates restrict these groups' relationships.
        row_bytes: Expected bytes of the rows that need pairs of segments.
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
    # Small segments suffice for few rows, unless steps need pairs of them.
    spare = int(sorted_by < MAX_PARTS or run.graph.context.profile.prefetches_segments)
    places, fewest = (
        {name: _places(name, steps, others, each) for name in directions} for each in (spare, 0)
    )
    return SegmentNeeds(places, limits, least, messages, knows, sorted_by, row_bytes, fewest)


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


def make_views(run: Run, needs: SegmentNeeds) -> SegmentViews:
    """Views of the data graph, for which a share of the free memory is allocated.

    Raises:
        MemoryLimitError: The smallest segments do not fit.
    """
    graph, workspace = run.graph, run.workspace
    run.placement.arguments(workspace.budget)  # uploads what nothing else may have needed
    workspace.make_room(int(workspace.available * needs.limits.share_for_parts))
    least: list[tuple[int, int]] = []
    for tried in needs.tighter():
        room = _SegmentSizes(run, tried)
        segments = room.cut()
        least.append((room.needed(segments), segments.longest))
        if least[-1][0] <= workspace.available:
            break
    else:
        raise _too_small(run, *min(least))
    return SegmentViews(
        workspace,
        graph,
        run.placement,
        segments,
        tried.places,
        knows_relationships=needs.knows_relationships,
        places=tried.places,
    )


def leaves_room(run: Run, needs: SegmentNeeds) -> bool:
    """True if the smallest segments fit beside everything else, once nothing else is kept."""
    run.placement.arguments(run.workspace.budget)
    needed = min(_SegmentSizes(run, each).least() for each in needs.tighter())
    run.workspace.make_room(needed)
    return needed <= run.workspace.available


def max_segment_entries(places: Mapping[str, int], max_allocation_bytes: int) -> int:
    """Maximum entries of a segment: all places of a direction are in one array.

    Args:
        places: Number of places per direction.
        max_allocation_bytes: Maximum bytes of an array.
    """
    most = min(_POSITIONS, max_allocation_bytes // _BYTES)
    return most // max(places.values(), default=1)


@dataclass(frozen=True, slots=True, eq=False)
class _SegmentSizes:
    """Computes the size of segments."""

    run: Run
    needs: SegmentNeeds

    def cut(self) -> Segments:
        """Segments of the largest size that fits; if none fits, of the smallest."""
        free, limits, needs = self.run.workspace.available, self.needs.limits, self.needs
        has_directory = self.run.placement.has_directory
        beside = self._directory_bytes(None) if has_directory else needs.messages
        keys = self._key_bytes(limits.max_segments)
        share = limits.share_for_parts
        if needs.sorted_by > 1:
            share = limits.share_of_pairs(needs.row_bytes / max(1, free - beside))
        size = min((free - beside) * share, free - beside - keys - self._small_bytes - needs.least)
        longest = self.run.graph.context.info.max_allocation_bytes
        most = min(int(size) // self._bytes_per_entry, max_segment_entries(needs.places, longest))
        fewest = self._fewest_entries
        if limits.max_entries is not None:
            most = min(most, limits.max_entries)
        while most > fewest:
            segments = self._segments(most)
            if self._replaced_bytes(segments) <= size and self.needed(segments) <= free:
                return segments
            # The number of runs that come with the entries is not known before.
            most = int(most * _SMALLER)
        return self.smallest()

    def smallest(self) -> Segments:
        """Segments of the smallest size; each run of a query asks whether these fit."""
        key = "segments", self._fewest_entries, tuple(self.needs.places)
        cut = partial(self._segments, self._fewest_entries)
        return self.run.graph.derived.get((*key, self.run.placement.has_directory), cut)

    def least(self) -> int:
        """As `needed`, of the smallest segments if no node has more parallel relationships."""
        if not self.run.placement.has_directory:
            return self.needed(self.smallest())
        entries = self._bytes_per_entry * self._fewest_entries
        beside = self._directory_bytes(None) + self._key_bytes(self.needs.limits.max_segments)
        return beside + entries + self._small_bytes + self.needs.least

    def needed(self, segments: Segments) -> int:
        """Bytes of the segments and of everything else that must be on the device."""
        beside = self._directory_bytes(segments) + self._key_bytes(segments.count)
        return beside + self._entry_bytes(segments) + self._small_bytes + self.needs.least

    @property
    def _fewest_entries(self) -> int:
        relationships = self.run.graph.graph.relationship_count
        return max(1, -(-relationships // self.needs.limits.max_segments))

    @property
    def _bytes_per_entry(self) -> int:
        """Bytes of an entry in all places."""
        each = _BYTES * (2 if self.needs.knows_relationships else 1)
        return each * max(1, sum(self.needs.places.values()))

    @property
    def _small_bytes(self) -> int:
        return SMALLEST_BYTES * _SMALL_ARRAYS

    def _key_bytes(self, segments: int) -> int:
        return _BYTES * segments * (2 * self.needs.sorted_by + 1)

    def _entry_bytes(self, segments: Segments) -> int:
        return self._bytes_per_entry * segments.longest

    def _directory_bytes(self, segments: Segments | None) -> int:
        """Bytes of what is needed beside entries."""
        with_parts = None if self.run.placement.has_directory else segments
        found = directory_bytes(self.run.graph, self.needs.places, with_parts)
        return found + self.needs.messages

    def _replaced_bytes(self, segments: Segments) -> int:
        """Bytes of what is replaced with each segment."""
        if self.run.placement.has_directory:
            return self._entry_bytes(segments)
        return self._entry_bytes(segments) + self._directory_bytes(segments) - self.needs.messages

    def _segments(self, most: int) -> Segments:
        graph = self.run.graph.graph
        if not self.needs.places:  # no entries are read
            return whole_segment(graph.node_count)
        directions = [self.run.graph.direction(name) for name in self.needs.places]
        if self.run.placement.has_directory:
            return cut_segments(directions, most)
        # What comes for each node is limited, too, where many nodes have no relationships.
        share = most / max(1, graph.relationship_count)
        return cut_segments(directions, most, 1 + int(_MAX_NODES * share * graph.node_count))


def _places(
    name: str, steps: Sequence[ExtendStep], others: Sequence[InterchangeableLeaves], spare: int
) -> int:
    """Number of places for segments of a direction that a step reads together, or prefetches.

    In a step with two links, the first link's segment stays while the second link's pass.
    ``spare``: number of places for those that are prefetched.
    """
    most = 1 + spare if any(getattr(each, name) for each in others) else 1
    for step in steps:
        used = [bool(getattr(link, name)) for link in step.device_links]
        if used:
            most = max(most, sum(used) + spare * used[-1])
    return most


def _too_small(run: Run, needed: int, longest: int) -> MemoryLimitError:
    budget, free = run.workspace.budget, run.workspace.available
    return MemoryLimitError(
        f"the data graph is larger than the memory limit of {budget.limit_bytes:,} bytes, and its "
        f"smallest parts, of up to {longest:,} relationships, need {needed:,} bytes, of which "
        f"{free:,} are left"
    )
