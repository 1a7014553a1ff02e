"""The directory of a direction: where the runs of the parts on the device begin.

The directory is either complete on the device, or each part brings its own piece of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.device.graph.directory import RUN_STARTS
from gpugda.device.graph.row_windows import RowWindows
from gpugda.device.graph.run_windows import RunWindows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.regions import Region
    from gpugda.device.graph.segments import Segments
    from gpugda.device.launch.segments import SegmentKernels
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["Directory", "WholeDirectory", "directory_bytes"]

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
            total += RunWindows.nbytes(graph.direction(name), regions, segments)
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
    """Writes the positions on the device of runs that lie in these ranges.

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
