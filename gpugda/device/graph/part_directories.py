"""Where the runs of a direction begin, of which parts are on the device: its directory.

It is there as a whole, or each part comes with its own piece of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.device.graph.directory import RUN_OFFSETS, RUN_STARTS, RUN_TYPES
from gpugda.device.graph.segments import most_runs
from gpugda.device.launch.segments import SegmentKernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.segments import Part, Ranges, Segments
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["Directory", "PartDirectory", "Region", "WholeDirectory", "directory_bytes"]

_FIRST = 0
_START_BYTES = 4
_NOTHING = np.zeros(5, dtype=np.uint32)
"""A range without runs and entries."""


@dataclass(slots=True, eq=False)
class Region:
    """A place for a part.

    Args:
        number: Of the region.
        part: What is there, or on its way.
        nodes: Its first node, and the one after the last.
        ranges: Its runs and entries.
        place: Of its first entry.
        events: What its upload is waited for by.
        run_count: Of those that have entries there, where runs come with parts.
        is_shifted: Do its starts of runs say where entries are on the device?
    """

    number: int
    part: Part | None = None
    nodes: tuple[int, int] = (0, 0)
    ranges: Ranges | None = None
    place: int = 0
    events: list[Any] = field(default_factory=list)
    run_count: int = 0
    is_shifted: bool = False

    @property
    def end(self) -> int:
        """Of its entries: the place after the last one."""
        return self.place + (0 if self.ranges is None else self.ranges.count)


class Directory(Protocol):
    """Of one direction, as kernels see it."""

    @property
    def arguments(self) -> dict[int, DeviceArray]:
        """What kernels are given, by place among the arrays of a direction."""

    @property
    def sent_bytes(self) -> int:
        """Of all parts, beside their entries."""

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """Begins to send what a region's part needs. Returns what is waited for."""

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """Lets kernels see these regions, rising by nodes, whose parts have come.

        ``alone``: are these nodes all that is looked at? Else those elsewhere must seem to have
        nothing, which takes time for each node of the data graph.
        """


class WholeDirectory:
    """All starts of runs are on the device, and are written anew for the parts that are there.

    Args:
        workspace: Owns the new ones.
        kernels: Of the device.
        starts: ``uint32``, where runs begin in the data graph.
    """

    sent_bytes = 0

    def __init__(self, workspace: Workspace, kernels: SegmentKernels, starts: DeviceArray) -> None:
        self._workspace, self._kernels, self._starts = workspace, kernels, starts
        self._shifted = workspace.allocate(starts.count, np.uint32, "starts of runs")
        self.arguments = {RUN_STARTS: self._shifted}

    @staticmethod
    def nbytes(starts: int) -> int:
        """What is needed for so many starts of runs."""
        return _START_BYTES * starts

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """See `Directory.fill`: nothing."""
        del region, uploads
        return []

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """See `Directory.show`."""
        words = [_range_words(each) for each in regions]
        _shift(self._workspace, self._kernels, self._starts, words, self._shifted, alone=alone)


class PartDirectory:
    """Runs come with their parts; of each node it is known which runs are there.

    Runs of the second region lie behind those of the first one, as entries do: what is behind the
    last run of the first region is where the second one's entries begin, whatever these are.

    Args:
        workspace: Owns the arrays.
        graph: On its device, where the first run of each node is known.
        csr: The rows on the host.
        offsets: ``uint32[n+1]``, the first run of each node in the data graph, on the device.
        regions: How many there are.
        most_runs: Of a part.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        csr: Csr,
        offsets: DeviceArray,
        regions: int,
        most_runs: int,
    ) -> None:
        self._workspace, self._graph, self._csr = workspace, graph, csr
        self._kernels = SegmentKernels(graph.context)
        self._offsets = offsets
        self._size = most_runs + 1
        count = regions * self._size + 1
        self._shifted = workspace.allocate(offsets.count, np.uint32, "runs of nodes")
        self._types = workspace.allocate(count, csr.run_types.dtype, "types of runs")
        self._starts = workspace.allocate(count, np.uint32, "starts of runs")
        self.arguments = {
            RUN_OFFSETS: self._shifted,
            RUN_TYPES: self._types,
            RUN_STARTS: self._starts,
        }

    @staticmethod
    def nbytes(csr: Csr, regions: int, most_runs: int) -> int:
        """What the arrays take."""
        each = _START_BYTES + csr.parts.run_types.dtype.itemsize
        return each * (regions * (most_runs + 1) + 1) + _START_BYTES * (csr.node_count + 1)

    @property
    def sent_bytes(self) -> int:
        """See `Directory.sent_bytes`."""
        types = self._csr.parts.run_types
        return len(types) * (types.dtype.itemsize + _START_BYTES)

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """See `Directory.fill`; the first start is written when the part is shown."""
        types, starts = self._runs(region)
        region.run_count, region.is_shifted = len(types), False
        place = self._place(region)
        events = []
        if len(types):
            events.append(uploads.begin(self._types, place, types))
        if len(types) > 1:
            events.append(uploads.begin(self._starts, place + 1, starts))
        return events

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """See `Directory.show`."""
        for each in regions:
            if not each.is_shifted:
                first = self._first_entry(each)
                runs = self._place(each), each.run_count
                self._kernels.shift_runs(self._starts, runs, first, (each.place, each.end))
                each.is_shifted = True
        words = [self._node_words(each) for each in regions]
        _shift(self._workspace, self._kernels, self._offsets, words, self._shifted, alone=alone)

    def _place(self, region: Region) -> int:
        """Of a region's first run."""
        place = region.number * self._size
        return self._size - region.run_count if region.number == _FIRST else place

    def _runs(self, region: Region) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The types of a part's runs, and where all but the first begin in the data graph."""
        assert region.ranges is not None
        runs, entries = region.ranges.runs, region.ranges.entries
        csr, page_locked = self._csr, self._graph.page_locked
        if not region.ranges.is_piece:
            first, last = runs[0].tolist()
            types = page_locked.of(csr.run_types)[first:last]
            return types, page_locked.of(csr.run_starts)[first + 1 : last]
        # Of a row in pieces, each of which has entries of some of its runs.
        lengths = entries[:, 1] - entries[:, 0]
        kept = lengths > 0
        return csr.run_types[runs[kept, 0]], np.cumsum(lengths[kept])[:-1].astype(np.uint32)

    def _first_entry(self, region: Region) -> int:
        ranges = region.ranges
        assert ranges is not None
        return 0 if ranges.is_piece else int(ranges.entries[0, 0])

    def _node_words(self, region: Region) -> NDArray[np.uint32]:
        """As ``segments.cl`` reads them, of nodes and their runs in place of runs and entries."""
        first, last = region.nodes
        run = int(self._csr.run_offsets[first])
        words = [first, last, run, run + region.run_count, self._place(region)]
        return np.array(words, dtype=np.uint32)


def directory_bytes(
    graph: DeviceGraph, places: Mapping[str, int], segments: Segments | None
) -> int:
    """What views take beside the entries of parts.

    Args:
        graph: The data graph.
        places: For parts of each direction.
        segments: Where runs come with parts; None where all are on the device.
    """
    total = 0
    for name, regions in places.items():
        if segments is None:
            total += WholeDirectory.nbytes(len(graph.starts_of(name)))
        else:
            csr = graph.direction(name)
            total += PartDirectory.nbytes(csr, regions, most_runs(csr, segments))
    return total


def _range_words(region: Region) -> NDArray[np.uint32]:
    """As ``segments.cl`` reads them."""
    ranges = region.ranges
    assert ranges is not None
    lengths = ranges.entries[:, 1] - ranges.entries[:, 0]
    places = region.place + np.cumsum(lengths) - lengths
    words = np.column_stack([ranges.runs, ranges.entries, places])
    return words.astype(np.uint32).ravel()


def _shift(
    workspace: Workspace,
    kernels: SegmentKernels,
    starts: DeviceArray,
    ranges: Sequence[NDArray[np.uint32]],
    shifted: DeviceArray,
    *,
    alone: bool,
) -> None:
    """Writes where what begins there is on the device, of which these ranges are.

    ``alone``: only of the runs that some range spans; of others what was written before is left.
    """
    words = np.concatenate(ranges)
    if not len(words):
        words = _NOTHING
    array = workspace.upload(words, "ranges of entries")
    windows = [(int(each[0]), int(each[-4]) + 1) for each in ranges if len(each)]
    for window in windows if alone else [None]:
        kernels.shift_starts(starts, array, len(words) // len(_NOTHING), shifted, window)
    workspace.release(array)
