"""The directory of kept entries: of all runs, or only of runs that keep entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.device.launch.kept_entries import KeptBits, KeptRuns, RunKernels, Runs
from gpugda.match.extend.segments.listed_rows import ListedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.csr import Csr
    from gpugda.device.launch.kept_entries import Chunk, EntryTest, KeptEntries, KeptKernels
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["FullDirectory", "RunDirectory", "StreamedDirectory", "directory_of"]

_BYTES = 4


class RunDirectory(Protocol):
    """The directory of one direction, while its entries pass in chunks.

    Attributes:
        chunk_bytes: Maximum directory bytes per entry of a chunk.
        entry_bytes: Maximum directory bytes per kept entry.
        fixed_bytes: Further bytes of the kept directory.
        listed: The list of the rows that are kept, once `target` was called; None if all are.
    """

    chunk_bytes: int
    entry_bytes: int
    fixed_bytes: int
    listed: DeviceArray | None

    def cut(self, size: int) -> bool:
        """Allocates arrays for the directory parts of chunks of ``size`` entries.

        Returns False if there is no room for them.
        """

    def arrays(self) -> Sequence[DeviceArray | None]:
        """The arrays that `cut` allocated."""

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """Arrays for the starts and runs of ``capacity`` entries."""

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """Starts to send a chunk's part of the directory. Returns the events to wait for."""

    def seen(self, number: int) -> Runs:
        """The runs that have entries in a chunk."""

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """Writes the directory of the entries that are kept of a chunk."""

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """The starts of the runs without those that keep no entry, if many keep none."""


def directory_of(
    run: Run,
    csr: Csr,
    kernels: KeptKernels,
    arguments: Sequence[Any],
    candidates: Candidates,
    tests: Sequence[EntryTest],
) -> RunDirectory:
    """The directory of one direction.

    Args:
        run: The query's run.
        csr: The rows on the host.
        kernels: Kernels of the device.
        arguments: The direction's part of ``GRAPH_PARAMETERS`` on the device.
        candidates: Candidates of the query nodes.
        tests: What entries are tested for.
    """
    _, offsets, types, all_starts = arguments
    if len(run.graph.graph.types) <= 1:
        return ListedRows(run, csr, all_starts, candidates, tests)
    if all_starts is None:
        return StreamedDirectory(run, csr)
    runs = Runs(all_starts, len(csr.run_starts) - 1, offsets, types, csr.node_count)
    return FullDirectory(run, csr.run_starts, kernels, runs)


class FullDirectory:
    """A directory in which all runs stay: only their starts are rewritten.

    Args:
        run: The query's run.
        starts: Starts of the runs, on the host.
        kernels: Kernels of the device.
        runs: All runs.
    """

    chunk_bytes = entry_bytes = 0
    listed: DeviceArray | None = None

    def __init__(self, run: Run, starts: Any, kernels: KeptKernels, runs: Runs) -> None:
        self._workspace, self._starts, self._kernels, self._runs = (
            run.workspace,
            starts,
            kernels,
            runs,
        )
        self.fixed_bytes = _BYTES * len(starts)
        self._total = int(starts[-1])

    def cut(self, size: int) -> bool:
        """See `RunDirectory.cut`: nothing is sent."""
        del size
        return True

    def arrays(self) -> Sequence[DeviceArray | None]:
        """See `RunDirectory.arrays`."""
        return ()

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """See `RunDirectory.target`."""
        del chunks, capacity
        return self._workspace.allocate(len(self._starts), np.uint32, "starts of runs"), None

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """See `RunDirectory.send`."""
        del number, uploads
        return []

    def seen(self, number: int) -> Runs:
        """See `RunDirectory.seen`: all runs."""
        del number
        return self._runs

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """See `RunDirectory.without_empty`: all runs stay."""
        return starts

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """See `RunDirectory.write`."""
        window = self._window(chunk.first, chunk.count)
        self._kernels.start(self._runs, window, chunk, found, target)

    def _window(self, first: int, count: int) -> tuple[int, int]:
        """The runs that start in a chunk; for the last chunk, also those after it."""
        low = int(np.searchsorted(self._starts, np.uint32(first)))
        if first + count == self._total:
            return low, len(self._starts)
        return low, int(np.searchsorted(self._starts, np.uint32(first + count)))


class StreamedDirectory:
    """A directory whose runs are sent with the entries; runs that keep no entry are dropped.

    Args:
        run: The query's run.
        csr: The rows on the host, of a graph with several types.
    """

    listed: DeviceArray | None = None

    def __init__(self, run: Run, csr: Csr) -> None:
        self._run, self._csr = run, csr
        self._kernels = RunKernels(run.graph.context)
        self._types_dtype = csr.run_types.dtype
        self.entry_bytes = _BYTES + self._types_dtype.itemsize
        self.chunk_bytes = self.entry_bytes
        self.fixed_bytes = _BYTES * (csr.node_count + 1)

    def cut(self, size: int) -> bool:
        """See `RunDirectory.cut`."""
        starts, workspace = self._csr.run_starts, self._run.workspace
        firsts = np.arange(0, self._csr.relationship_count, size, dtype=np.uint32)
        # No run is empty. The first run of a chunk may start before the chunk.
        self._begins = np.searchsorted(starts, firsts)
        self._begins = np.append(self._begins, len(starts) - 1)
        self._lows = np.searchsorted(starts, firsts, side="right") - 1
        most = int((self._begins[1:] - self._lows).max(initial=0))
        self._size = most + 1
        self._offsets = workspace.upload(self._csr.run_offsets, "runs of nodes")
        self._starts = workspace.allocate(2 * self._size, np.uint32, "runs of a chunk")
        self._types = workspace.allocate(2 * self._size, self._types_dtype, "runs of a chunk")
        self._bits = workspace.allocate(-(-self._size // 32), np.uint32, "kept runs of a chunk")
        return True

    def arrays(self) -> Sequence[DeviceArray | None]:
        """See `RunDirectory.arrays`."""
        return self._offsets, self._starts, self._types, self._bits

    def target(self, chunks: int, capacity: int) -> tuple[DeviceArray, KeptRuns | None]:
        """See `RunDirectory.target`: each chunk may add one run without entries."""
        workspace, most = self._run.workspace, capacity + chunks
        most = min(most, len(self._csr.run_types))
        starts = workspace.allocate(most + 1, np.uint32, "kept runs")
        kept = workspace.upload(np.zeros(chunks + 1, dtype=np.uint64), "kept runs")
        types = workspace.allocate(most, self._types_dtype, "kept runs")
        offsets = workspace.allocate(self._offsets.count, np.uint32, "runs of nodes")
        return starts, KeptRuns(kept, most, types, offsets)

    def send(self, number: int, uploads: Uploads) -> list[Any]:
        """See `RunDirectory.send`."""
        low, high = int(self._lows[number]), int(self._begins[number + 1])
        place, page_locked = number % 2 * self._size, self._run.graph.page_locked
        return [
            uploads.begin(
                self._starts, place, page_locked.part(self._csr.run_starts, low, high + 1)
            ),
            uploads.begin(self._types, place, page_locked.part(self._csr.run_types, low, high)),
        ]

    def seen(self, number: int) -> Runs:
        """See `RunDirectory.seen`."""
        return self._runs(number, int(self._lows[number]))

    def without_empty(self, starts: DeviceArray) -> DeviceArray:
        """See `RunDirectory.without_empty`: runs without entries were not written."""
        return starts

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """See `RunDirectory.write`."""
        first, last = (int(each) for each in self._begins[chunk.number : chunk.number + 2])
        runs = self._runs(chunk.number, first)
        self._kernels.find(runs, chunk, found, self._bits)
        sums = self._run.kernels.prefix_sum.run(
            self._run.workspace, self._bits, 0, max(1, -(-runs.count // 32)), of_bits=True
        )
        offsets = self._csr.run_offsets
        nodes = [int(np.searchsorted(offsets, np.uint32(each))) for each in (first, last)]
        if chunk.number == len(self._lows) - 1:
            nodes[1] = len(offsets)
        window = (nodes[0], nodes[1])
        self._kernels.write(runs, chunk, found, KeptBits(self._bits, sums), target, window)
        self._run.workspace.release(sums)

    def _runs(self, number: int, first: int) -> Runs:
        """The runs of a chunk, starting with run ``first``."""
        low, high = int(self._lows[number]), int(self._begins[number + 1])
        place = number % 2 * self._size + first - low
        nodes = self._csr.node_count
        return Runs(self._starts, high - first, self._offsets, self._types, nodes, place, first)
