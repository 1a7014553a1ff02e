"""Selects the runs of kept entries, chunk by chunk; launcher of ``kept_runs.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.kept_entries import Chunk, KeptBits, KeptEntries, Runs
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["RunKernels"]

_FILE = "kept_runs.cl"


class RunKernels:
    """Finds and copies runs."""

    def __init__(self, context: DeviceContext) -> None:
        self._find = get_kernel(context, _FILE, "find_runs", "bQQIIbbb")
        self._write = get_kernel(context, _FILE, "write_runs", "bbQQIIbbbIbbbQbb")
        self._start = get_kernel(context, _FILE, "start_nodes", "bIIIQbbbIb")

    def find(self, runs: Runs, chunk: Chunk, found: KeptBits, bits: DeviceArray) -> None:
        """Writes a bit per run that begins in a chunk (``runs``); at least one word."""
        self._find(
            max(1, -(-runs.count // 32)),
            runs.starts,
            runs.place,
            runs.count,
            chunk.first,
            chunk.count,
            found.bits,
            found.sums,
            bits,
        )

    def write(
        self,
        runs: Runs,
        chunk: Chunk,
        entries: KeptBits,
        found: KeptBits,
        target: KeptEntries,
        nodes: tuple[int, int],
    ) -> None:
        """Copies the runs whose bits are set; call it after the chunk's entries are written.

        Args:
            runs: The runs that begin in the chunk.
            chunk: The chunk whose entries were written.
            entries: The kept ones of these.
            found: The kept ones of the runs.
            target: Output, with arrays for runs.
            nodes: Nodes whose first runs begin in the chunk, or, for the last chunk, at its end:
                the first one and the one after the last.
        """
        kept = target.runs
        assert kept is not None
        self._write(
            max(1, -(-runs.count // 32)),
            runs.starts,
            runs.types,
            runs.place,
            runs.count,
            chunk.first,
            chunk.count,
            entries.bits,
            entries.sums,
            target.kept,
            chunk.number,
            found.bits,
            found.sums,
            kept.kept,
            kept.capacity,
            kept.types,
            target.starts,
        )
        self._start(
            nodes[1] - nodes[0],
            runs.offsets,
            nodes[0],
            nodes[1] - nodes[0],
            runs.first,
            runs.count,
            found.bits,
            found.sums,
            kept.kept,
            chunk.number,
            kept.offsets,
        )
