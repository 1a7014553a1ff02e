"""Builds rows of both directions from relationships on the device; launcher of ``csr_rows.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.data.sorting import RowFacts
from gpugda.device.launch.prefix_sum import PrefixSum
from gpugda.device.launch.radix_sort import RadixSort
from gpugda.device.program import Kernel, get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["CsrRows", "Directory", "Relationships"]

_FILE: Final = "csr_rows.cl"
_WORD_BITS: Final = 32


class Relationships(NamedTuple):
    """Relationships in order of arrival, on the device.

    Args:
        starts: ``uint32``, start nodes.
        types: ``uint16``; None if there is only one type.
        ends: ``uint32``, end nodes.
    """

    starts: DeviceArray
    types: DeviceArray | None
    ends: DeviceArray


class Directory(NamedTuple):
    """Row and run offsets, as in a `Csr`."""

    row_offsets: DeviceArray
    run_offsets: DeviceArray
    run_types: DeviceArray
    run_starts: DeviceArray


class CsrRows:
    """Sorts relationships into rows, first by start node and then by end node.

    Args:
        context: The device.
        node_count: The number of nodes.
        node_bits: Bits of a node index.
        type_bits: Bits of a type id; 2 * node_bits + type_bits is 64 at most.
    """

    def __init__(
        self, context: DeviceContext, node_count: int, node_bits: int, type_bits: int
    ) -> None:
        self._node_count, self._node_bits, self._type_bits = node_count, node_bits, type_bits
        self._sort, self._sums = RadixSort(context), PrefixSum(context)

        def kernel(name: str, parameters: str) -> Kernel:
            return get_kernel(context, _FILE, name, parameters)

        self._pack_outgoing = kernel("pack_outgoing", "bbbQIIbb")
        self._pack_incoming = kernel("pack_incoming", "QIIbbbb")
        self._mark_runs = kernel("mark_runs", "bQIQb")
        self._write_runs = kernel("write_runs", "bQIIQbbbbb")
        self._write_rows = kernel("write_rows", "bbQQbb")
        self._take_starts = kernel("take_starts", "bbQb")
        self._check_pairs = kernel("check_pairs", "bQIIbb")
        self._pack_pairs = kernel("pack_pairs", "bQIIb")

    def outgoing(
        self, workspace: Workspace, relationships: Relationships, *, with_order: bool
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """Sorts relationships by (start, type, end, arrival); releases them.

        Returns:
            Start, type and end packed into ``uint64``; and the arrival position of each, or None.
        """
        count = relationships.starts.count
        numbers = workspace.allocate(count, np.uint64, "relationships")
        places = workspace.allocate(count, np.uint32, "relationships") if with_order else None
        self._pack_outgoing(
            count, *relationships, count, self._type_bits, self._node_bits, numbers, places
        )
        workspace.release(*relationships)
        return self._sort.run(workspace, numbers, places, 2 * self._node_bits + self._type_bits)

    def facts(self, workspace: Workspace, numbers: DeviceArray, type_count: int) -> RowFacts:
        """Finds loops and parallel relationships in the sorted numbers."""
        loops, parallel = self._seen(workspace, numbers, self._type_bits, type_count)
        has_parallel = any(parallel)
        if type_count > 1 and not has_parallel:
            pairs = workspace.allocate(numbers.count, np.uint64, "pairs of nodes")
            bits = self._type_bits, self._node_bits
            self._pack_pairs(numbers.count, numbers, numbers.count, *bits, pairs)
            pairs, _ = self._sort.run(workspace, pairs, None, 2 * self._node_bits)
            has_parallel = any(self._seen(workspace, pairs, 0, 1)[1])
            workspace.release(pairs)
        return RowFacts(loops, parallel, has_parallel)

    def _seen(
        self, workspace: Workspace, numbers: DeviceArray, type_bits: int, type_count: int
    ) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """Loops per type, and for each type whether two of its numbers are equal."""
        loops, parallel = (workspace.allocate(type_count, np.uint32, "facts") for _ in range(2))
        for each in (loops, parallel):
            workspace.fill(each, 0)
        bits = type_bits, self._node_bits
        self._check_pairs(numbers.count, numbers, numbers.count, *bits, loops, parallel)
        counts = workspace.download(loops, 0, type_count).tolist()
        seen = workspace.download(parallel, 0, type_count).astype(np.bool_).tolist()
        workspace.release(loops, parallel)
        return tuple(counts), tuple(seen)

    def outgoing_directory(self, workspace: Workspace, numbers: DeviceArray) -> Directory:
        """The directory of the outgoing rows, from the sorted numbers."""
        return self._directory(workspace, numbers, self._node_bits)

    def turned(
        self, workspace: Workspace, numbers: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
        """End and type of the sorted numbers (overwritten); relationship indexes; starts; ends.

        All are in the order of the numbers.
        """
        count = numbers.count
        places, starts, ends = (
            workspace.allocate(count, np.uint32, "relationships") for _ in range(3)
        )
        self._pack_incoming(
            count, count, self._type_bits, self._node_bits, numbers, places, starts, ends
        )
        return numbers, places, starts, ends

    def incoming(
        self,
        workspace: Workspace,
        numbers: DeviceArray,
        places: DeviceArray,
        starts: DeviceArray,
    ) -> tuple[Directory, DeviceArray, DeviceArray]:
        """Sorts turned numbers by (end, type, index); returns directory, starts and indexes."""
        count = numbers.count
        sorted_numbers, indexes = self._sort.run(
            workspace, numbers, places, self._node_bits + self._type_bits
        )
        assert indexes is not None
        directory = self._directory(workspace, sorted_numbers, 0)
        workspace.release(sorted_numbers)
        neighbours = workspace.allocate(count, np.uint32, "relationships")
        self._take_starts(count, starts, indexes, count, neighbours)
        workspace.release(starts)
        return directory, neighbours, indexes

    def _directory(self, workspace: Workspace, numbers: DeviceArray, low_bits: int) -> Directory:
        count = numbers.count
        word_count = -(-count // _WORD_BITS)
        words = workspace.allocate(word_count, np.uint32, "runs")
        self._mark_runs(word_count, numbers, count, low_bits, word_count, words)
        before = self._sums.run(workspace, words, 0, word_count, of_bits=True)
        (runs,) = workspace.download_at(before, [word_count])
        run_starts = workspace.allocate(runs + 1, np.uint32, "runs")
        run_types = workspace.allocate(runs, np.uint16, "runs")
        run_nodes = workspace.allocate(runs, np.uint32, "runs")
        entries = (numbers, count, low_bits, self._type_bits, word_count, words, before)
        self._write_runs(word_count, *entries, run_starts, run_types, run_nodes)
        offsets = self._node_count + 1
        run_offsets, row_offsets = (
            workspace.allocate(offsets, np.uint32, "rows") for _ in range(2)
        )
        self._write_rows(offsets, run_nodes, run_starts, runs, offsets, run_offsets, row_offsets)
        workspace.release(words, before, run_nodes)
        return Directory(row_offsets, run_offsets, run_types, run_starts)
