"""The directory of a direction in a graph with one type, of which parts are on the device.

Each row is a run. Kernels find the rows of a part in a window of row offsets, whose values they
turn into positions on the device (see ``csr.h``): offsets are neither copied nor rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.graph.directory import RUN_OFFSETS, RUN_STARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.regions import Region
    from gpugda.device.graph.segments import Segments
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["RowWindows", "max_nodes"]

_BYTES = 4
_WINDOWS = 0
"""Says in ``csr.h`` that windows follow."""
_WINDOW_WORDS, _MAX_WINDOWS = 6, 2
_NONE = 0xFFFFFFFF
_NOTHING = [0] * _WINDOW_WORDS


class RowWindows:
    """Windows of the rows that are on the device.

    Args:
        workspace: Owner of the arrays.
        graph: The data graph on its device.
        csr: The rows on the host.
        offsets: ``uint32[n+1]``, the row offsets on the device; None if parts bring theirs.
        regions: The number of regions.
        segments: The segments of the rows.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        csr: Csr,
        offsets: DeviceArray | None,
        regions: int,
        segments: Segments,
    ) -> None:
        self._workspace, self._graph, self._csr = workspace, graph, csr
        self._size = max_nodes(segments) + 1
        self._sends = offsets is None
        self._windows = workspace.allocate(
            2 + _MAX_WINDOWS * _WINDOW_WORDS, np.uint32, "windows of rows"
        )
        if offsets is None:
            offsets = workspace.allocate(regions * self._size, np.uint32, "starts of rows")
        self._offsets = offsets
        self.arguments = {RUN_OFFSETS: self._windows, RUN_STARTS: offsets}

    @staticmethod
    def nbytes(regions: int, segments: Segments) -> int:
        """Bytes of the arrays if parts bring their row offsets."""
        return _BYTES * regions * (max_nodes(segments) + 1)

    @property
    def sent_bytes(self) -> int:
        """See `Directory.sent_bytes`."""
        return _BYTES * (self._csr.node_count + 1) if self._sends else 0

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """See `Directory.fill`."""
        if not self._sends:
            return []
        first, last = region.nodes
        offsets = self._graph.page_locked.part(self._csr.row_offsets, first, last + 1)
        return [uploads.begin(self._offsets, region.number * self._size, offsets)]

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """See `Directory.show`; other rows always appear empty, which takes no time."""
        del alone
        split = regions[1].nodes[0] if len(regions) > 1 else _NONE
        words = [_WINDOWS, split]
        for each in regions:
            words += self._window(each)
        words += _NOTHING * (_MAX_WINDOWS - len(regions))
        self._workspace.write(self._windows, np.array(words, dtype=np.uint32))

    def release(self) -> None:
        """See `Directory.release`."""
        self._workspace.release(self._windows, self._offsets if self._sends else None)

    def _window(self, region: Region) -> list[int]:
        assert region.ranges is not None
        first, last = region.nodes
        low, high = _span(region.ranges.entries)
        place = region.number * self._size if self._sends else first
        return [first, last - first, place, low, high, (region.place - low) & _NONE]


def _span(entries: NDArray[np.int64]) -> tuple[int, int]:
    """First entry and end of a part, whose rows are adjacent."""
    return int(entries[0, 0]), int(entries[-1, 1])


def max_nodes(segments: Segments) -> int:
    """Maximum number of nodes of a segment."""
    return int(np.diff(segments.bounds.astype(np.int64)).max(initial=0))
