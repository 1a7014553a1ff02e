"""Seeds, needed nodes, relationships across partitions and remapped rows; ``pbe_search.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda_strategies.launch.gsi_join import Places, Rows

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["GivenRows", "PbeSearch"]

_FILE = "gpugda_strategies/opencl/pbe_search.cl"
_WARPS = 8
_GIVEN = "bbbQI"


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows from which seeds are made; all arrays ``uint32[count]``.

    Args:
        starts: Start nodes, or the nodes.
        ends: End nodes; None for single nodes.
        relationships: Indexes; None for single nodes.
        count: The number of rows.
        turns: 2 if each stands for two rows, the second with its ends exchanged; else 1.
    """

    starts: DeviceArray
    ends: DeviceArray | None
    relationships: DeviceArray | None
    count: int
    turns: int = 1

    @property
    def row_count(self) -> int:
        """Maximum number of seeds."""
        return self.count * self.turns

    def arguments(self) -> tuple[DeviceArray | int | None, ...]:
        """The first arguments of the kernels."""
        return self.starts, self.ends, self.relationships, self.count, self.turns


class PbeSearch:
    """Makes seeds, marks nodes, drops entries, remaps rows."""

    def __init__(self, context: DeviceContext) -> None:
        self._by_warps = not context.is_cpu
        self._check = get_kernel(context, _FILE, "check_seeds", f"{_GIVEN}bQQbb")
        self._write = get_kernel(context, _FILE, "write_seeds", f"{_GIVEN}bbIbQ")
        self._mark = get_kernel(context, _FILE, "mark_needed", "bQQQIb")
        self._drop = get_kernel(context, _FILE, "drop_smaller", "bQQQbIIbbbQbb")
        self._remap = get_kernel(context, _FILE, "remap_rows", "bQQbIIb")

    def check_seeds(
        self,
        given: GivenRows,
        bits: tuple[DeviceArray, int, int],
        mask: DeviceArray | None,
        flags: DeviceArray,
    ) -> None:
        """Writes which rows pass.

        Args:
            given: The rows.
            bits: Candidate matrix, and the words where the rows of the first and the second node
                begin.
            mask: Bitmap of relationships that pass the predicates, None for all.
            flags: ``uint32[given.row_count]``, 1 or 0.
        """
        self._check(given.row_count, *given.arguments(), *bits, mask, flags)

    def write_seeds(
        self, given: GivenRows, sums: DeviceArray, sources: DeviceArray, seeds: Table
    ) -> None:
        """Writes the rows that passed.

        Args:
            given: The rows.
            sums: Prefix sums of the flags.
            sources: ``uint32`` per column: 0 for the first node, 1 for the second, 2 for the
                relationship.
            seeds: Output table.
        """
        self._write(
            given.row_count,
            *given.arguments(),
            sums,
            sources,
            seeds.width,
            seeds.values,
            seeds.column_stride,
        )

    def mark_needed(self, rows: Rows, column: int, bits: DeviceArray) -> None:
        """Sets the bit of each node of a column."""
        self._mark(rows.count, *rows.arguments(), column, bits)

    def drop_smaller(
        self,
        rows: Rows,
        columns: tuple[DeviceArray, int, int],
        partition_of: DeviceArray,
        neighbours: DeviceArray,
        places: Places,
    ) -> None:
        """Removes entries that make a smaller relationship across partitions.

        Args:
            rows: The rows.
            columns: ``uint32``; position in it of the columns of the row's first crossing
                relationship, followed by those of the nodes that the added one is joined to; number
                of the latter.
            partition_of: ``uint16`` per data node.
            neighbours: Node at the other end of each entry.
            places: The entries of each row.
        """
        arguments = (
            *rows.arguments(),
            *columns,
            partition_of,
            neighbours,
            places.sums,
            places.stride,
            places.entries,
            places.counts,
        )
        if self._by_warps:
            self._drop.launch_groups(-(-rows.count // _WARPS), *arguments)
        else:
            self._drop(rows.count, *arguments)

    def remap(self, table: Table, order: tuple[DeviceArray, int], remapped: Table) -> None:
        """Copies columns; ``order``: array, and position in it of the new columns' old ones."""
        self._remap(
            table.row_count,
            table.values,
            table.column_stride,
            table.row_count,
            *order,
            remapped.width,
            remapped.values,
        )
