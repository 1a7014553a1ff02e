"""Parts of a data graph's rows on the device: the view of the graph that kernels see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.graph.directory import (
    NEIGHBOURS,
    RUN_STARTS,
    arrays_of,
    numbers_of,
)
from gpugda.device.graph.part_directories import WholeDirectory
from gpugda.device.graph.regions import Region
from gpugda.device.graph.row_windows import RowWindows
from gpugda.device.graph.run_windows import RunWindows
from gpugda.device.graph.segments import Part, ranges_of
from gpugda.device.launch.segments import SegmentKernels

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.part_directories import Directory
    from gpugda.device.graph.placement import Placement
    from gpugda.device.graph.segments import Ranges, Segments
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["MAX_PARTS", "MAX_PLACES", "SegmentViews", "Wanted"]

MAX_PARTS = 2
"""Maximum number of parts of one direction that are visible at one time."""
MAX_PLACES = MAX_PARTS + 1
"""Regions for these parts, and one for the part that comes next."""
_NAMES = ("outgoing", "incoming")
_FIRST, _MIDDLE = range(MAX_PARTS)
_MAX_UPLOADS = 8
"""Maximum number of uploads for a part's entries; the host merges a row in more pieces into one."""


class Wanted(NamedTuple):
    """The parts that must be visible together; of one direction at most `MAX_PARTS`."""

    outgoing: tuple[Part, ...] = ()
    incoming: tuple[Part, ...] = ()


class _Direction:
    """The parts of one direction, and the starts of its runs in them.

    If all starts of runs are on the device, a run ends where the next one begins, so parts with
    consecutive runs must be adjacent: the lower one at the end of the first region, the other one
    at the start of the second.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        name: str,
        segments: Segments,
        directory: Sequence[DeviceArray | None],
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
        size = places * segments.longest
        self.neighbours = workspace.allocate(max(1, size), np.uint32, "segments")
        self.relationships: DeviceArray | None = None
        if knows_relationships:
            self.relationships = workspace.allocate(max(1, size), np.uint32, "segments")
        self.directory: Directory
        starts = directory[RUN_STARTS]
        if self._one_type:
            self.directory = RowWindows(workspace, graph, self._csr, starts, places, segments)
        elif starts is not None:
            self.directory = WholeDirectory(workspace, self._kernels, starts)
        else:
            self.directory = RunWindows(workspace, graph, self._csr, places, segments)
        self._joins = starts is not None and not self._one_type
        self._regions = [Region(number) for number in range(places)]
        self._shown: tuple[tuple[Part, ...], bool] | None = None

    @property
    def sent_bytes(self) -> int:
        """Bytes of all parts; relationship indexes that just count up are not sent."""
        numbers = self._csr.relationship_indexes
        known = 0 if self.relationships is None or numbers is None else numbers.nbytes
        return self._csr.neighbours.nbytes + known + self.directory.sent_bytes

    def load(self, parts: Sequence[Part], uploads: Uploads, kept: Collection[Part] = ()) -> None:
        """Starts to send the parts that are missing; parts in ``kept`` must not be overwritten."""
        if len(parts) == MAX_PARTS and self._must_join(*sorted(parts)):
            lower, upper = sorted(parts)
            if (self._region_of(lower), self._region_of(upper)) != (_FIRST, _MIDDLE):
                self._fill(_FIRST, lower, uploads)
                self._fill(_MIDDLE, upper, uploads)
            return
        needed = {*parts, *kept}
        for part in parts:
            if self._region_of(part) is None:
                free = [n for n, each in enumerate(self._regions) if each.part not in needed]
                # Neither needed now nor next. The last region is preferred, as it is never joined.
                self._fill(max(free), part, uploads)

    def can_load(self, parts: Sequence[Part], shown: Sequence[Part]) -> bool:
        """True if parts fit while other parts are in use."""
        if len(parts) == MAX_PARTS and self._must_join(*sorted(parts)):
            return False
        return len({*parts, *shown}) <= len(self._regions)

    def show(self, parts: tuple[Part, ...], uploads: Uploads, *, alone: bool) -> None:
        """Makes these parts visible to kernels; ``alone``: see `SegmentViews.acquire`."""
        if self._shown in ((parts, False), (parts, alone)):
            return
        regions = [self._found(each) for each in sorted(parts)]
        for region in regions:
            uploads.wait_on_device(region.events)
        self.directory.show(regions, alone=alone)
        self._shown = parts, alone

    def parts(self) -> list[Part]:
        """The parts on the device."""
        return [each.part for each in self._regions if each.part is not None]

    def release(self) -> None:
        """Releases the arrays."""
        self._workspace.release(self.neighbours, self.relationships)
        self.directory.release()

    def _must_join(self, lower: Part, upper: Part) -> bool:
        """True if the last run of ``lower`` ends where the first run of ``upper`` begins."""
        if not self._joins:
            return False  # each part has its own window
        bounds = self._segments.bounds
        last, first = bounds[lower.segment + 1], bounds[upper.segment]
        return bool(self._csr.run_offsets[last] == self._csr.run_offsets[first])

    def _region_of(self, part: Part) -> int | None:
        for number, region in enumerate(self._regions):
            if region.part == part:
                return number
        return None

    def _found(self, part: Part) -> Region:
        number = self._region_of(part)
        assert number is not None
        return self._regions[number]

    def _fill(self, number: int, part: Part, uploads: Uploads) -> None:
        for other in self._regions:
            if other.part == part:
                other.part = None
        longest, region = self._segments.longest, self._regions[number]
        ranges = ranges_of(self._csr, self._segments, part, one_type=self._one_type)
        bounds = self._segments.bounds[part.segment : part.segment + 2]
        region.part, region.ranges = part, ranges
        region.nodes = int(bounds[0]), int(bounds[1])
        region.place = number * longest
        if number == _FIRST and self._joins:
            region.place = longest - ranges.count
        region.events = self._sent(region, ranges, uploads)
        region.events += self.directory.fill(region, uploads)
        self._shown = None

    def _sent(self, region: Region, ranges: Ranges, uploads: Uploads) -> list[Any]:
        if len(ranges.entries) > _MAX_UPLOADS:
            return self._sent_together(region.place, ranges.numbers(), uploads)
        events, place, page_locked = [], region.place, self._graph.page_locked
        for first, last in ranges.entries.tolist():
            if last == first:
                continue
            entries = page_locked.part(self._csr.neighbours, first, last)
            events.append(uploads.begin(self.neighbours, place, entries))
            if self.relationships is not None:
                if self._csr.relationship_indexes is None:
                    count = last - first
                    self._kernels.number_entries(first, count, place, self.relationships)
                else:
                    numbers = page_locked.part(self._csr.relationship_indexes, first, last)
                    events.append(uploads.begin(self.relationships, place, numbers))
            place += last - first
        return events

    def _sent_together(self, place: int, entries: NDArray[np.int64], uploads: Uploads) -> list[Any]:
        """Sends entries that are not contiguous."""
        if not len(entries):
            return []
        events = [uploads.begin(self.neighbours, place, self._csr.neighbours[entries])]
        if self.relationships is not None:
            indexes = self._csr.relationship_indexes
            numbers = entries.astype(np.uint32) if indexes is None else indexes[entries]
            events.append(uploads.begin(self.relationships, place, numbers))
        return events


class SegmentViews:
    """The view of a segmented data graph that kernels see. Under the context's lock, for one run.

    Args:
        workspace: Owner of the arrays for parts.
        graph: The data graph on its device, without entries.
        placement: Placement of the graph; it tells how much of its directory is on the device.
        segments: The segments of its rows.
        directions: The directions that kernels read.
        knows_relationships: True if relationship indexes of entries are needed.
        places: The number of regions per direction: the parts that are visible together, and one
            more if others are sent meanwhile; None for `MAX_PLACES`.

    Attributes:
        arguments: Arguments for ``GRAPH_PARAMETERS``, always the same list.
        segments: As above.
        uploads: The queue that sends the parts.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        placement: Placement,
        segments: Segments,
        directions: Collection[str],
        *,
        knows_relationships: bool,
        places: Mapping[str, int] | None = None,
    ) -> None:
        self.segments = segments
        self.uploads = workspace.uploads()
        self.arguments = placement.arguments(workspace.budget)
        self._directions: dict[str, _Direction] = {}
        for name in directions:
            own = arrays_of(_NAMES.index(name))
            made = _Direction(
                workspace,
                graph,
                name,
                segments,
                self.arguments[own],
                knows_relationships=knows_relationships,
                places=MAX_PLACES if places is None else places[name],
            )
            self.arguments[own.start + NEIGHBOURS] = made.neighbours
            for place, array in made.directory.arguments.items():
                self.arguments[own.start + place] = array
            self.arguments[numbers_of(_NAMES.index(name))] = made.relationships
            self._directions[name] = made
        self._now: Wanted | None = None

    def acquire(
        self, wanted: Wanted, following: Wanted | None = None, *, alone: bool = False
    ) -> None:
        """Makes these parts visible to kernels and starts to send those that follow.

        ``alone``: True if kernels read no rows of other nodes. Otherwise those rows appear empty.
        """
        for name, direction in self._directions.items():
            parts: tuple[Part, ...] = getattr(wanted, name)
            if parts:
                direction.load(parts, self.uploads)
                direction.show(parts, self.uploads, alone=alone)
            coming = () if following is None else getattr(following, name)
            if coming and direction.can_load(coming, parts):
                direction.load(coming, self.uploads, kept=parts)

    @property
    def nbytes(self) -> int:
        """Bytes sent if all parts are sent once."""
        return sum(each.sent_bytes for each in self._directions.values())

    def held(self) -> set[int]:
        """The segments that are on the device already."""
        return {each.segment for one in self._directions.values() for each in one.parts()}

    def release(self) -> None:
        """Releases all arrays; kernels no longer read them."""
        self.uploads.finish()
        for direction in self._directions.values():
            direction.release()
