"""Builds rows of both directions on the host's processor; launcher of ``range_rows.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.fast_sort import has_fast_sort
from gpugda.data.node_ranges import bits_for, range_borders
from gpugda.data.threads import in_threads, pieces_of
from gpugda.device.memory.host_arrays import launch_on_arrays
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.sorting import Unsorted
    from gpugda.device.context import DeviceContext

__all__ = ["RangeRows"]

_FILE: Final = "range_rows.cl"
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
        launch_on_arrays(self._context, _FILE, name, parameters, groups, *arguments)


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
