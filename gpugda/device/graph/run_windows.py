"""The directory of a direction in a graph with several types, of which parts are on the device.

Parts bring the types and starts of their runs, and the run offsets of their nodes. Kernels find the
runs of a node in a window of run offsets (see ``csr.h``), so that nothing grows with all nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.graph.directory import RUN_OFFSETS, RUN_STARTS
from gpugda.device.graph.row_windows import max_nodes
from gpugda.device.graph.segments import max_runs
from gpugda.device.launch.segments import SegmentKernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.regions import Region
    from gpugda.device.graph.segments import Segments
    from gpugda.device.memory.buffers import Workspace
    from gpugda.device.memory.uploads import Uploads

__all__ = ["RunWindows"]

_BYTES = 4
_TYPED_WINDOWS = 2
"""Says in ``csr.h`` that windows of runs follow."""
_WINDOW_WORDS, _MAX_WINDOWS = 4, 2
_HEADER_WORDS = 3 + _MAX_WINDOWS * _WINDOW_WORDS
_NONE = 0xFFFFFFFF
_NOTHING = [0] * _WINDOW_WORDS


class RunWindows:
    """Windows of the runs that are on the device.

    The words that kernels read begin with the windows; then each region has a place for the run
    offsets of its nodes, and then each has one for the types of its runs.

    Args:
        workspace: Owner of the arrays.
        graph: The data graph on its device.
        csr: The rows on the host.
        regions: The number of regions.
        segments: The segments of the rows.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: DeviceGraph,
        csr: Csr,
        regions: int,
        segments: Segments,
    ) -> None:
        self._workspace, self._graph, self._csr = workspace, graph, csr
        self._kernels = SegmentKernels(graph.context)
        self._offsets_size, self._runs_size = max_nodes(segments) + 1, max_runs(csr, segments) + 1
        self._types_place = _HEADER_WORDS + regions * self._offsets_size
        # In the dtype of the types, which are sent from where they are.
        self._dtype = csr.parts.run_types.dtype
        self._per_word = _BYTES // self._dtype.itemsize
        runs = regions * self._runs_size
        self._words = workspace.allocate(
            self._per_word * self._types_place + runs, self._dtype, "windows of runs"
        )
        self._starts = workspace.allocate(runs, np.uint32, "starts of runs")
        self.arguments = {RUN_OFFSETS: self._words, RUN_STARTS: self._starts}

    @staticmethod
    def nbytes(csr: Csr, regions: int, segments: Segments) -> int:
        """Bytes of the arrays."""
        run_bytes = _BYTES + csr.parts.run_types.dtype.itemsize
        of_nodes = _BYTES * (max_nodes(segments) + 1)
        return regions * (of_nodes + run_bytes * (max_runs(csr, segments) + 1))

    @property
    def sent_bytes(self) -> int:
        """See `Directory.sent_bytes`."""
        types = self._csr.parts.run_types
        of_nodes = _BYTES * (self._csr.node_count + 1)
        return of_nodes + len(types) * (types.dtype.itemsize + _BYTES)

    def fill(self, region: Region, uploads: Uploads) -> list[Any]:
        """See `Directory.fill`; the first start is written when the part is shown."""
        offsets, types, starts = self._runs(region)
        region.run_count, region.is_shifted = len(types), False
        words, place = self._words, region.number * self._runs_size
        at_offsets = self._per_word * self._offsets_place(region)
        events = [uploads.begin(words, at_offsets, offsets.view(self._dtype))]
        if len(types):
            at_types = self._per_word * self._types_place + place
            events.append(uploads.begin(words, at_types, types))
        if len(types) > 1:
            events.append(uploads.begin(self._starts, place + 1, starts))
        return events

    def show(self, regions: Sequence[Region], *, alone: bool) -> None:
        """See `Directory.show`; other rows always appear empty, which takes no time."""
        del alone
        for each in regions:
            if not each.is_shifted:
                runs = each.number * self._runs_size, each.run_count
                entries = each.place, each.end
                self._kernels.shift_runs(self._starts, runs, self._first_entry(each), entries)
                each.is_shifted = True
        split = regions[1].nodes[0] if len(regions) > 1 else _NONE
        words = [_TYPED_WINDOWS, split, self._types_place]
        for each in regions:
            words += self._window(each)
        words += _NOTHING * (_MAX_WINDOWS - len(regions))
        self._workspace.write(self._words, np.array(words, dtype=np.uint32).view(self._dtype))

    def release(self) -> None:
        """See `Directory.release`."""
        self._workspace.release(self._words, self._starts)

    def _offsets_place(self, region: Region) -> int:
        return _HEADER_WORDS + region.number * self._offsets_size

    def _runs(self, region: Region) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.uint32]]:
        """A part's run offsets, its types of runs, and the starts of all but the first run."""
        assert region.ranges is not None
        runs, entries = region.ranges.runs, region.ranges.entries
        csr, page_locked = self._csr, self._graph.page_locked
        if not region.ranges.is_piece:
            first, last = runs[0].tolist()
            node, end = region.nodes
            offsets = page_locked.part(csr.run_offsets, node, end + 1)
            types = page_locked.part(csr.run_types, first, last)
            return offsets, types, page_locked.part(csr.run_starts, first + 1, last)
        # A piece of a row has entries of some of the row's runs only.
        lengths = entries[:, 1] - entries[:, 0]
        kept = lengths > 0
        offsets = np.array([0, np.count_nonzero(kept)], dtype=np.uint32)
        starts = np.cumsum(lengths[kept])[:-1].astype(np.uint32)
        return offsets, csr.run_types[runs[kept, 0]], starts

    def _first_entry(self, region: Region) -> int:
        ranges = region.ranges
        assert ranges is not None
        return 0 if ranges.is_piece else int(ranges.entries[0, 0])

    def _window(self, region: Region) -> list[int]:
        assert region.ranges is not None
        first, last = region.nodes
        run = 0 if region.ranges.is_piece else int(region.ranges.runs[0, 0])
        shift = (region.number * self._runs_size - run) & _NONE
        return [first, last - first, self._offsets_place(region), shift]
