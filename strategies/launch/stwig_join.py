"""The pipelined hash join of STwigs on the device; launcher of ``stwig_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["HashTables", "ItemStates", "StwigJoin"]

_FILE = "gpugda_strategies/opencl/stwig_join.cl"


@dataclass(frozen=True, slots=True, eq=False)
class HashTables:
    """All hash tables, in two arrays.

    Args:
        words: ``uint32``, the encoded join; see ``stwig_join.cl``.
        level_count: The number of tables.
        pool: ``uint32``, records and the links of their chains.
        heads: ``uint32``, the first record of each chain.
    """

    words: DeviceArray
    level_count: int
    pool: DeviceArray
    heads: DeviceArray


@dataclass(frozen=True, slots=True, eq=False)
class ItemStates:
    """State of work items, kept from one launch to the next.

    Args:
        count: The number of work items, a multiple of the group's size.
        state: ``uint32[(levels + 1) * count]``, zeros before the first launch.
        values: ``uint32[slots * count]``.
        progress: ``uint32[3]``: next probe record, rows written, items with work left.
    """

    count: int
    state: DeviceArray
    values: DeviceArray
    progress: DeviceArray


class StwigJoin:
    """Marks bindings, builds hash tables and joins."""

    def __init__(self, context: DeviceContext) -> None:
        self._group_size = context.group_size
        self._mark = get_kernel(context, _FILE, "mark_bindings", "bQQIbQ")
        self._insert = get_kernel(context, _FILE, "insert_records", "bQQIbIbbQ")
        self._join = get_kernel(context, _FILE, "join_records", "bQIbIbbbbQbbIbI")

    def mark(self, table: Table, column: int, matrix: DeviceArray, first_word: int) -> None:
        """Sets the bits of a column's nodes in the bitmap that begins at a word of the matrix."""
        self._mark(
            table.row_count,
            table.values,
            table.column_stride,
            table.row_count,
            column,
            matrix,
            first_word,
        )

    def insert(self, table: Table, tables: HashTables, at: int, first_record: int) -> None:
        """Adds the rows of a table as records of the level whose words lie at ``at``."""
        self._insert(
            table.row_count,
            table.values,
            table.column_stride,
            table.row_count,
            table.width,
            tables.words,
            at,
            tables.pool,
            tables.heads,
            first_record,
        )

    def join(
        self,
        probe: Table,
        tables: HashTables,
        items: ItemStates,
        output: tuple[DeviceArray | None, int],
        counts: DeviceArray | None,
        max_steps: int,
    ) -> None:
        """Continues the join with a piece of the probe side.

        Args:
            probe: The piece.
            tables: Tables of the build sides.
            items: The work items' states.
            output: Output array, and the number of rows that fit.
            counts: ``uint64`` per item, added to; no rows are written then.
            max_steps: Maximum steps of each work item, so that the launch ends soon.
        """
        self._join.launch_groups(
            items.count // self._group_size,
            probe.values,
            probe.column_stride,
            probe.row_count,
            tables.words,
            tables.level_count,
            tables.pool,
            tables.heads,
            items.state,
            items.values,
            items.count,
            items.progress,
            *output,
            counts,
            max_steps,
        )
