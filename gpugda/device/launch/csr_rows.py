"""Builds rows of both directions from relationships, on the device or on the host's processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.sorting import RowFacts, bits_for, has_fast_sort, range_borders
from gpugda.data.statistics.counting import RunLengths
from gpugda.data.threads import in_threads, pieces_of
from gpugda.device.launch.primitives import PrefixSum, RadixSort
from gpugda.device.memory.host_arrays import launch_on_arrays
from gpugda.device.program import Kernel, get_kernel
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.sorting import Unsorted
    from gpugda.data.statistics.counting import LabelSets
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.types import NameId

__all__ = ["CsrRows", "Directory", "RangeRows", "Relationships", "RowCounts"]


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
            return get_kernel(context, "csr_rows.cl", name, parameters)

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
        word_count = -(-count // 32)
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


_RANGE: Final = 1 << 15
"""Approximate entries of a range, so that it is sorted in the cache of a core."""
_MAX_RANGES: Final = 1 << 10
_RANGES_AT_ONCE: Final = 8
_BLOCKS_PER_UNIT: Final = 4
_ITEMS_PER_UNIT: Final = 2
_WORD_BITS: Final = 64
_ASIDE_BYTES: Final = 1 << 26
"""Memory for sorting, or 8 bytes per entry if that is more."""


class RangeRows:
    """Sorts relationships into rows, first by start node and then by end node.

    Args:
        context: A CPU.
        given: The relationships, in contiguous arrays.
        with_order: True to return the order of arrival.
    """

    def __init__(self, context: DeviceContext, given: Unsorted, *, with_order: bool) -> None:
        self._context, self._given, self._with_order = context, given, with_order
        self.count = len(given.starts)
        self._type_bits, self._node_bits = bits_for(given.type_count), bits_for(given.node_count)
        units = context.info.compute_units
        self._blocks, self._items = _BLOCKS_PER_UNIT * units, _ITEMS_PER_UNIT * units
        self._block_size = -(-self.count // self._blocks)
        self._numbers = np.empty(self.count, dtype=np.uint64)
        self.loops = np.zeros(given.type_count, dtype=np.uint32)
        self.parallel = np.zeros(given.type_count, dtype=np.uint32)

    def outgoing(self) -> tuple[Csr, NDArray[np.uint32] | None]:
        """Rows by start, and the arrival position of each relationship, if requested.

        Raises:
            MemoryLimitError: 64-bit numbers are too short for them, or a range is too long.
        """
        given, bits = self._given, (self._type_bits, self._node_bits)
        ranges = self._ranges(given.starts)
        places, in_number, place_bits = self._places_of(ranges, with_places=self._with_order)
        types = given.types if given.type_count > 1 else None
        self._launch(
            "scatter_starts",
            "bbbQQIIIbbbIIIbb",
            self._blocks,
            given.starts,
            types,
            given.ends,
            *ranges.blocks,
            *bits,
            in_number,
            self._numbers,
            places,
        )
        neighbours = np.empty(self.count, dtype=np.uint32)
        order = np.empty(self.count, dtype=np.uint32) if self._with_order else None
        rows = _Rows(neighbours, None, given.node_count, ranges)
        is_sorted = places is None and self._sorted_by_numpy(ranges)
        self._launch(
            "sort_starts",
            "IbbIIIIIIbbbbbbbbbbb",
            self._items if is_sorted else self._items_of(ranges),
            *ranges.named,
            ranges.row_bits,
            *bits,
            place_bits,
            ranges.most,
            int(is_sorted),
            *self._shared(ranges, is_sorted),
            self._numbers,
            places,
            neighbours,
            order,
            *rows.counted,
            self.loops,
            self.parallel,
        )
        return self._finished(rows), order

    def incoming(self, outgoing: Csr) -> Csr:
        """Rows by end, from the rows by start. Consumes the given arrays, even on failure.

        Raises:
            MemoryLimitError: As in `outgoing`.
        """
        given, bits = self._given, (self._type_bits, self._node_bits)
        ranges = self._ranges(outgoing.neighbours)
        places, in_number, place_bits = self._places_of(ranges, with_places=True)
        seen = (
            outgoing.neighbours,
            outgoing.run_offsets,
            outgoing.run_types,
            outgoing.run_starts,
            given.node_count,
            len(outgoing.run_types),
        )
        self._launch(
            "scatter_ends",
            "bbbbIIQQIIIbbbIIIbb",
            self._blocks,
            *seen,
            *ranges.blocks,
            *bits,
            in_number,
            self._numbers,
            places,
        )
        neighbours, indexes = _spared(given.starts), _spared(given.ends)
        rows = _Rows(neighbours, indexes, given.node_count, ranges)
        is_sorted = places is None and self._sorted_by_numpy(ranges)
        self._launch(
            "sort_ends",
            "IbbIIIIIIbbbbbbbbb",
            self._items if is_sorted else self._items_of(ranges),
            *ranges.named,
            ranges.row_bits,
            *bits,
            place_bits,
            ranges.most,
            int(is_sorted),
            *self._shared(ranges, is_sorted),
            self._numbers,
            places,
            neighbours,
            indexes,
            *rows.counted,
        )
        return self._finished(rows)

    def _ranges(self, nodes: NDArray[np.uint32]) -> _Ranges:
        wanted = min(_MAX_RANGES, max(1, self.count // _RANGE))
        borders = range_borders(nodes, self._given.node_count, wanted)
        bins = borders.of_bins.astype(np.uint16)
        counts = np.empty((wanted, self._blocks), dtype=np.uint32)
        cut = self.count, self._block_size, self._blocks, wanted, borders.shift, bins
        self._launch("count_ranges", "bQQIIIbb", self._blocks, nodes, *cut, counts)
        offsets = np.zeros(counts.size + 1, dtype=np.uint32)
        np.cumsum(counts, out=offsets[1:])
        edges = borders.nodes.astype(np.uint32)
        return _Ranges(
            edges,
            offsets[:: self._blocks].copy(),
            (*cut, edges, offsets),
            bits_for(int(np.diff(edges).max())),
        )

    def _places_of(
        self, ranges: _Ranges, *, with_places: bool
    ) -> tuple[NDArray[np.uint32] | None, int, int]:
        """Array for positions, or None; bits of positions in the numbers; and in the sort keys."""
        bits = ranges.row_bits + self._type_bits + self._node_bits
        all_places = bits_for(self.count) if with_places else 0
        if bits + all_places <= _WORD_BITS:
            return None, all_places, all_places
        in_range = bits_for(ranges.most)
        if bits + in_range > _WORD_BITS:
            raise MemoryLimitError(f"{bits + in_range} bits a relationship do not fit {_WORD_BITS}")
        return np.empty(self.count, dtype=np.uint32), 0, in_range

    def _items_of(self, ranges: _Ranges) -> int:
        """The number of work items that there is memory for."""
        room = max(_ASIDE_BYTES, self._numbers.nbytes)
        items = min(self._items, room // (2 * self._numbers.itemsize * ranges.most))
        if not items:
            raise MemoryLimitError(f"{ranges.most} entries cannot be sorted beside the others")
        return items

    def _shared(
        self, ranges: _Ranges, is_sorted: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The counter of ranges taken, and the memory in which items sort, if they do."""
        room = 0 if is_sorted else 2 * ranges.most * self._items_of(ranges)
        return np.zeros(1, dtype=np.uint32), np.empty(room, dtype=np.uint64)

    def _sorted_by_numpy(self, ranges: _Ranges) -> bool:
        """Sorts each range's entries as numbers, if that is faster than digit by digit."""
        if not has_fast_sort():
            return False
        offsets = ranges.offsets.tolist()

        def sort(some: slice) -> None:
            for low, high in zip(offsets[some], offsets[some.start + 1 :], strict=False):
                self._numbers[low:high].sort()

        in_threads(sort, pieces_of(len(offsets) - 1, _RANGES_AT_ONCE))
        return True

    def _finished(self, rows: _Rows) -> Csr:
        ranges, run_offsets = rows.ranges, rows.run_offsets
        before = np.zeros(len(rows.run_counts) + 1, dtype=np.uint32)
        np.cumsum(rows.run_counts, out=before[1:])
        run_types = np.empty(int(before[-1]), dtype=np.uint16)
        run_starts = np.empty(int(before[-1]) + 1, dtype=np.uint32)
        found = run_offsets, run_types, run_starts
        self._launch(
            "write_runs",
            "Ibbbbbbb",
            len(rows.run_counts),
            *ranges.named,
            self._numbers,
            before,
            *found,
        )
        rows.row_offsets[-1] = run_starts[-1] = self.count
        run_offsets[-1] = before[-1]
        return Csr(
            rows.row_offsets, rows.neighbours, rows.indexes, run_offsets, run_types, run_starts
        )

    def _launch(self, name: str, parameters: str, groups: int, *arguments: Any) -> None:
        launch_on_arrays(self._context, "range_rows.cl", name, parameters, groups, *arguments)


def _spared(array: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A writable array: this one, to reuse its memory, or a new one."""
    return array if array.flags.writeable else np.empty_like(array)


class _Ranges(NamedTuple):
    """Ranges of nodes and the entries of each.

    Args:
        borders: ``uint32``: first node of each, and the number of nodes.
        offsets: ``uint32``: entries before each, and the number of entries.
        blocks: Arguments of the kernels that scatter entries.
        row_bits: Bits of a row's position within its range.
    """

    borders: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    blocks: Sequence[Any]
    row_bits: int

    @property
    def most(self) -> int:
        """Entries of the longest range."""
        return int(np.diff(self.offsets).max())

    @property
    def named(self) -> tuple[int, NDArray[np.uint32], NDArray[np.uint32]]:
        """Arguments of the kernels: number of ranges, their entries and nodes."""
        return len(self.offsets) - 1, self.offsets, self.borders


class _Rows:
    """Output arrays of the rows."""

    def __init__(
        self,
        neighbours: NDArray[np.uint32],
        indexes: NDArray[np.uint32] | None,
        node_count: int,
        ranges: _Ranges,
    ) -> None:
        self.neighbours, self.indexes, self.ranges = neighbours, indexes, ranges
        self.row_offsets, self.run_offsets = (
            np.empty(node_count + 1, dtype=np.uint32) for _ in range(2)
        )
        self.run_counts = np.empty(len(ranges.offsets) - 1, dtype=np.uint32)

    @property
    def counted(self) -> tuple[NDArray[np.uint32], ...]:
        """Arguments of the kernels."""
        return self.row_offsets, self.run_offsets, self.run_counts


_FILE: Final = "row_counts.cl"

_MAX_COUNTS: Final = 1 << 16
"""Maximum size of a table, so that it stays in the cache of a core."""
_MARK_BYTES: Final = 1 << 26
"""Memory for a bit per node and work item, or 4 bytes per relationship if that is more."""


class RowCounts:
    """Counts in the arrays of a `Csr`.

    Args:
        context: A CPU.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._items = _ITEMS_PER_UNIT * context.info.compute_units

    def lengths(
        self, starts: NDArray[np.uint32], kinds: NDArray[NameId] | None, type_count: int
    ) -> RunLengths | None:
        """See `gpugda.data.statistics.counting.RowCounter`.

        Raises:
            DeviceError: A launch failed.
        """
        is_wide = kinds is not None and kinds.dtype != np.uint16
        if is_wide or 4 * type_count > _MAX_COUNTS:
            return None
        tables = np.zeros((self._items, 4, type_count), dtype=np.uint64)
        arguments = starts, kinds, len(starts) - 1, type_count, tables
        launch_on_arrays(self._context, _FILE, "add_lengths", "bbQIb", self._items, *arguments)
        counts, totals, squares = tables[:, 1:].sum(axis=0)
        return RunLengths(
            tables[:, 0].max(axis=0).tolist(),
            counts.tolist(),
            totals.tolist(),
            squares.astype(np.float64).tolist(),
        )

    def labelled(
        self, label_sets: LabelSets, type_count: int, outgoing: Csr
    ) -> NDArray[np.int64] | None:
        """See `gpugda.data.statistics.counting.RowCounter`.

        Raises:
            DeviceError: A launch failed.
        """
        set_count = len(label_sets.sets)
        size = set_count * type_count * set_count
        if outgoing.run_types.dtype != np.uint16 or size > _MAX_COUNTS:
            return None
        tables = np.zeros((self._items, size), dtype=np.uint64)
        launch_on_arrays(
            self._context,
            _FILE,
            "count_labelled",
            "bbbbQbIIbb",
            self._items,
            outgoing.neighbours,
            outgoing.run_offsets,
            outgoing.run_types,
            outgoing.run_starts,
            outgoing.node_count,
            label_sets.codes.astype(np.uint8),  # fits, as the table has set_count squared entries
            type_count,
            set_count,
            np.zeros(1, dtype=np.uint32),
            tables,
        )
        counts: NDArray[np.int64] = tables.sum(axis=0).view(np.int64)
        return counts

    def has_parallel(self, csr: Csr) -> bool:
        """True if a row of several types has two entries with the same neighbour.

        Raises:
            DeviceError: A launch failed.
        """
        words = -(-csr.node_count // 32)
        room = max(_MARK_BYTES, csr.neighbours.nbytes)
        items = max(1, min(self._items, room // (4 * words)))
        found = np.zeros(1, dtype=np.uint32)
        launch_on_arrays(
            self._context,
            _FILE,
            "find_parallel",
            "bbbQQbbb",
            items,
            csr.neighbours,
            csr.run_offsets,
            csr.run_starts,
            csr.node_count,
            words,
            np.zeros(1, dtype=np.uint32),
            np.zeros(items * words, dtype=np.uint32),
            found,
        )
        return bool(found[0])
