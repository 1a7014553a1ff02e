"""Parts of a data graph's rows on the device: what kernels see of it at one time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.graph.directory import run_starts
from gpugda.device.graph.segments import Part, ranges_of
from gpugda.device.launch.segments import SegmentKernels

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.segments import Ranges, Segments
    from gpugda.device.memory.buffers import DeviceArray, MemoryBudget, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["MOST_PARTS", "MOST_PLACES", "SegmentViews", "Wanted", "starts_bytes"]

MOST_PARTS = 2
"""Of one direction at one time."""
MOST_PLACES = MOST_PARTS + 1
"""For these, and one for what comes next."""
_NAMES = ("outgoing", "incoming")
_FIRST, _MIDDLE = range(MOST_PARTS)


class Wanted(NamedTuple):
    """The parts that must be there together; of one direction at most `MOST_PARTS`."""

    outgoing: tuple[Part, ...] = ()
    incoming: tuple[Part, ...] = ()


@dataclass(slots=True, eq=False)
class _Region:
    """A place for a part. ``events``: what its upload is waited for by."""

    part: Part | None = None
    ranges: Ranges | None = None
    place: int = 0
    events: list[Any] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.place + (0 if self.ranges is None else self.ranges.count)


_NOTHING = np.zeros(5, dtype=np.uint32)
"""A range without runs and entries."""


class _Direction:
    """The parts of one direction, and where its runs begin among them.

    Parts whose runs follow each other lie one behind the other, for a run ends where the next one
    begins: the lower one at the end of the first region, the other one in the second.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        name: str,
        segments: Segments,
        starts: DeviceArray,
        *,
        knows_relationships: bool,
        places: int,
    ) -> None:
        self._workspace = workspace
        self._graph = graph
        self._csr = graph.direction(name)
        self._one_type = len(graph.graph.types) <= 1
        self._segments = segments
        self._kernels = SegmentKernels(graph.context)
        self._starts = starts
        size = places * segments.longest
        self.neighbours = workspace.allocate(max(1, size), np.uint32, "segments")
        self.relationships: DeviceArray | None = None
        if knows_relationships:
            self.relationships = workspace.allocate(max(1, size), np.uint32, "segments")
        self.starts = workspace.allocate(starts.count, np.uint32, "starts of runs")
        self._regions = [_Region() for _ in range(places)]
        self._shown: tuple[Part, ...] | None = None

    @property
    def sent_bytes(self) -> int:
        """Of all parts; relationships that only need counting up are not sent."""
        numbers = self._csr.relationship_indexes
        known = 0 if self.relationships is None or numbers is None else numbers.nbytes
        return self._csr.neighbours.nbytes + known

    def load(self, parts: Sequence[Part], uploads: Uploads, kept: Collection[Part] = ()) -> None:
        """Begins to send those of the parts that are not there; ``kept`` are still needed."""
        if len(parts) == MOST_PARTS and self._must_join(*sorted(parts)):
            lower, upper = sorted(parts)
            if self._places_of(lower, upper) is None:
                self._fill(_FIRST, lower, uploads)
                self._fill(_MIDDLE, upper, uploads)
            return
        needed = {*parts, *kept}
        for part in parts:
            if self._region_of(part) is None:
                free = [n for n, each in enumerate(self._regions) if each.part not in needed]
                # What is neither needed now nor next: the last region, which joins nothing.
                self._fill(max(free), part, uploads)

    def can_load(self, parts: Sequence[Part], shown: Sequence[Part]) -> bool:
        """Is there place for parts while others are worked on?"""
        if len(parts) == MOST_PARTS and self._must_join(*sorted(parts)):
            return False
        return len({*parts, *shown}) <= len(self._regions)

    def show(self, parts: tuple[Part, ...], uploads: Uploads) -> None:
        """Lets kernels see these parts, which were loaded."""
        if parts == self._shown:
            return
        regions = [self._found(each) for each in sorted(parts)]
        for region in regions:
            uploads.wait_on_device(region.events)
        words = np.concatenate([_range_words(each) for each in regions])
        if not len(words):
            words = _NOTHING
        ranges = self._workspace.upload(words, "ranges of entries")
        count = len(words) // len(_NOTHING)
        self._kernels.shift_starts(self._starts, ranges, count, self.starts)
        self._workspace.release(ranges)
        self._shown = parts

    def parts(self) -> list[Part]:
        """What is on the device."""
        return [each.part for each in self._regions if each.part is not None]

    def release(self) -> None:
        """Gives the places back."""
        self._workspace.release(self.neighbours, self.relationships, self.starts)

    def _must_join(self, lower: Part, upper: Part) -> bool:
        """Does the last run of the one end where the first run of the other begins?"""
        bounds = self._segments.bounds
        last, first = bounds[lower.segment + 1], bounds[upper.segment]
        if self._one_type:
            return bool(last == first)
        return bool(self._csr.run_offsets[last] == self._csr.run_offsets[first])

    def _places_of(self, lower: Part, upper: Part) -> tuple[int, int] | None:
        """Where two parts lie one behind the other."""
        one, two = self._region_of(lower), self._region_of(upper)
        if one is None or two is None:
            return None
        return (one, two) if self._regions[one].end == self._regions[two].place else None

    def _region_of(self, part: Part) -> int | None:
        for number, region in enumerate(self._regions):
            if region.part == part:
                return number
        return None

    def _found(self, part: Part) -> _Region:
        number = self._region_of(part)
        assert number is not None
        return self._regions[number]

    def _fill(self, number: int, part: Part, uploads: Uploads) -> None:
        for other in self._regions:
            if other.part == part:
                other.part = None
        longest, region = self._segments.longest, self._regions[number]
        ranges = ranges_of(self._csr, self._segments, part, one_type=self._one_type)
        region.part, region.ranges = part, ranges
        region.place = number * longest
        if number == _FIRST:
            region.place = longest - ranges.count
        region.events = self._sent(region, ranges, uploads)
        self._shown = None

    def _sent(self, region: _Region, ranges: Ranges, uploads: Uploads) -> list[Any]:
        events, place, page_locked = [], region.place, self._graph.page_locked
        for first, last in ranges.entries.tolist():
            if last == first:
                continue
            entries = page_locked.of(self._csr.neighbours)[first:last]
            events.append(uploads.begin(self.neighbours, place, entries))
            if self.relationships is not None:
                if self._csr.relationship_indexes is None:
                    count = last - first
                    self._kernels.number_entries(first, count, place, self.relationships)
                else:
                    numbers = page_locked.of(self._csr.relationship_indexes)[first:last]
                    events.append(uploads.begin(self.relationships, place, numbers))
            place += last - first
        return events


def _range_words(region: _Region) -> NDArray[np.uint32]:
    """As ``segments.cl`` reads them."""
    ranges = region.ranges
    assert ranges is not None
    lengths = ranges.entries[:, 1] - ranges.entries[:, 0]
    places = region.place + np.cumsum(lengths) - lengths
    words = np.column_stack([ranges.runs, ranges.entries, places])
    return words.astype(np.uint32).ravel()


class SegmentViews:
    """What kernels see of a segmented data graph. Under the context's lock, for one run.

    Args:
        workspace: Where the parts have their places.
        graph: On its device, without entries.
        segments: How its rows are cut.
        directions: Which are looked at.
        knows_relationships: Must it be known which relationship an entry is?
        places: For parts of each direction: those that are looked at together, and one more where
            others come meanwhile; None for `MOST_PLACES`.
        budget: What the directory is counted against.

    Attributes:
        arguments: For ``GRAPH_PARAMETERS``, the same list all the time.
        segments: As above.
        uploads: Which send the parts.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        segments: Segments,
        directions: Collection[str],
        budget: MemoryBudget,
        *,
        knows_relationships: bool,
        places: Mapping[str, int] | None = None,
    ) -> None:
        self.segments = segments
        self.uploads = workspace.uploads()
        self.arguments = graph.directory_arguments(budget)
        self._directions: dict[str, _Direction] = {}
        for name in directions:
            first = 5 * _NAMES.index(name)
            made = _Direction(
                workspace,
                graph,
                name,
                segments,
                self.arguments[first + 4],
                knows_relationships=knows_relationships,
                places=MOST_PLACES if places is None else places[name],
            )
            self.arguments[first + 1] = made.neighbours
            self.arguments[first + 4] = made.starts
            self.arguments[11 - _NAMES.index(name)] = made.relationships
            self._directions[name] = made
        self._now: Wanted | None = None

    def acquire(self, wanted: Wanted, following: Wanted | None = None) -> None:
        """Lets kernels see these parts; begins to send what is wanted next."""
        for name, direction in self._directions.items():
            parts: tuple[Part, ...] = getattr(wanted, name)
            if parts:
                direction.load(parts, self.uploads)
                direction.show(parts, self.uploads)
            coming = () if following is None else getattr(following, name)
            if coming and direction.can_load(coming, parts):
                direction.load(coming, self.uploads, kept=parts)

    @property
    def nbytes(self) -> int:
        """What is sent where all parts are."""
        return sum(each.sent_bytes for each in self._directions.values())

    def held(self) -> set[int]:
        """The segments that are on the device already."""
        return {each.segment for one in self._directions.values() for each in one.parts()}

    def release(self) -> None:
        """Nobody looks at them any more."""
        self.uploads.finish()
        for direction in self._directions.values():
            direction.release()


def starts_bytes(graph: DeviceGraph, directions: Collection[str]) -> int:
    """What views take beside the parts."""
    types = len(graph.graph.types)
    return sum(4 * len(run_starts(graph.direction(name), types)) for name in directions)
