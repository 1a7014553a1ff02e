"""The directory of a direction: where the runs of the parts on the device begin.

The directory is either complete on the device, or each part brings its own piece of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.device.graph.directory import RUN_OFFSETS, RUN_STARTS, RUN_TYPES
from gpugda.device.graph.row_windows import RowWindows
from gpugda.device.graph.segments import max_runs
from gpugda.device.launch.segments import SegmentKernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.regions import Region
    from gpugda.device.graph.segments import Segments
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["Directory", "PartDirectory", "WholeDirectory", "directory_bytes"]

_FIRST = 0
_START_BYTES = 4
_NOTHING = np.zeros(5, dtype=np.uint32)
"""A range without runs and entries."""


class Directory(Protocol):
    """Directory of one direction, as kernels see it."""

    @property
    def arguments(self) -> dict[int, DeviceArray]:
        """Arrays for the kernels, by position among the arrays of a direction."""

    @property
    def sent_bytes(self) -> int:
        """Bytes that all parts send in addition to their entries."""

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """Starts to send what a region's part needs. Returns the events to wait for."""

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """Makes these regions, ascending by nodes, visible to kernels; their parts have arrived.

        ``alone``: True if kernels read no other nodes. Otherwise the rows of all other nodes must
        appear empty, which takes time for each node of the data graph.
        """

    def release(self) -> None:
        """Releases its arrays."""


class WholeDirectory:
    """All starts of runs are on the device, and are rewritten for the parts that are there.

    Args:
        workspace: Owner of the rewritten starts.
        kernels: Kernels of the device.
        starts: ``uint32``, the starts of runs in the data graph.
    """

    sent_bytes = 0

    def __init__(self, workspace: Workspace, kernels: SegmentKernels, starts: DeviceArray) -> None:
        self._workspace, self._kernels, self._starts = workspace, kernels, starts
        self._shifted = workspace.allocate(starts.count, np.uint32, "starts of runs")
        self.arguments = {RUN_STARTS: self._shifted}

    @staticmethod
    def nbytes(starts: int) -> int:
        """Bytes for this many starts of runs."""
        return _START_BYTES * starts

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """Sends nothing, see `Directory.fill`."""
        del region, uploads
        return []

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """See `Directory.show`."""
        words = [_range_words(each) for each in regions]
        _shift(self._workspace, self._kernels, self._starts, words, self._shifted, alone=alone)

    def release(self) -> None:
        """See `Directory.release`."""
        self._workspace.release(self._shifted)


class PartDirectory:
    """Parts bring their runs; the device only knows which runs each node has.

    Runs of the second region follow those of the first, as their entries do: the end of the first
    region's last run is the start of the second region's entries, whatever these are.

    Args:
        workspace: Owner of the arrays.
        graph: The data graph on its device, where the first run of each node is known.
        csr: The rows on the host.
        offsets: ``uint32[n+1]``, the first run of each node in the data graph, on the device.
        regions: The number of regions.
        max_runs: Maximum number of runs of a part.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        csr: Csr,
        offsets: DeviceArray,
        regions: int,
        max_runs: int,
    ) -> None:
        self._workspace, self._graph, self._csr = workspace, graph, csr
        self._kernels = SegmentKernels(graph.context)
        self._offsets = offsets
        self._size = max_runs + 1
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
    def nbytes(csr: Csr, regions: int, max_runs: int) -> int:
        """Bytes of the arrays."""
        each = _START_BYTES + csr.parts.run_types.dtype.itemsize
        return each * (regions * (max_runs + 1) + 1) + _START_BYTES * (csr.node_count + 1)

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

    def release(self) -> None:
        """See `Directory.release`."""
        self._workspace.release(*self.arguments.values())

    def _place(self, region: Region) -> int:
        """Position of a region's first run."""
        place = region.number * self._size
        return self._size - region.run_count if region.number == _FIRST else place

    def _runs(self, region: Region) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The types of a part's runs, and the data graph's starts of all but the first run."""
        assert region.ranges is not None
        runs, entries = region.ranges.runs, region.ranges.entries
        csr, page_locked = self._csr, self._graph.page_locked
        if not region.ranges.is_piece:
            first, last = runs[0].tolist()
            types = page_locked.part(csr.run_types, first, last)
            return types, page_locked.part(csr.run_starts, first + 1, last)
        # A piece of a row has entries of some of the row's runs only.
        lengths = entries[:, 1] - entries[:, 0]
        kept = lengths > 0
        return csr.run_types[runs[kept, 0]], np.cumsum(lengths[kept])[:-1].astype(np.uint32)

    def _first_entry(self, region: Region) -> int:
        ranges = region.ranges
        assert ranges is not None
        return 0 if ranges.is_piece else int(ranges.entries[0, 0])

    def _node_words(self, region: Region) -> NDArray[np.uint32]:
        """Five words for ``segments.cl``: nodes and their runs in place of runs and entries."""
        first, last = region.nodes
        run = int(self._csr.run_offsets[first])
        words = [first, last, run, run + region.run_count, self._place(region)]
        return np.array(words, dtype=np.uint32)


def directory_bytes(
    graph: DeviceGraph, places: Mapping[str, int], segments: Segments | None
) -> int:
    """Bytes that views take in addition to the entries of parts.

    Args:
        graph: The data graph.
        places: The number of regions per direction.
        segments: The segments if parts bring their runs; None if all runs are on the device.
    """
    total, is_one_type = 0, len(graph.graph.types) <= 1
    for name, regions in places.items():
        if is_one_type:
            total += 0 if segments is None else RowWindows.nbytes(regions, segments)
        elif segments is None:
            total += WholeDirectory.nbytes(len(graph.starts_of(name)))
        else:
            csr = graph.direction(name)
            total += PartDirectory.nbytes(csr, regions, max_runs(csr, segments))
    return total


def _range_words(region: Region) -> NDArray[np.uint32]:
    """Words that describe a region's ranges, as ``segments.cl`` reads them."""
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
    """Writes the positions on the device of runs (or of nodes' runs) that lie in these ranges.

    ``alone``: True to write only the positions that some range spans; others keep their old values.
    """
    words = np.concatenate(ranges)
    if not len(words):
        words = _NOTHING
    array = workspace.upload(words, "ranges of entries")
    windows = [(int(each[0]), int(each[-4]) + 1) for each in ranges if len(each)]
    for window in windows if alone else [None]:
        kernels.shift_starts(starts, array, len(words) // len(_NOTHING), shifted, window)
    workspace.release(array)
