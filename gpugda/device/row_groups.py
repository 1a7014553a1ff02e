"""Rows of a join by the nodes that they are grouped by; launcher of ``row_groups.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import MOST_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from gpugda.device.buffers import DeviceArray
    from gpugda.device.context import DeviceContext
    from gpugda.device.join import Table
    from gpugda.device.leaf_products import ProductArrays

__all__ = ["SUM_WORDS", "GroupKernels", "GroupKey", "group_words", "whole_sums"]

SUM_WORDS = 3

_FILE = "row_groups.cl"
_CORE = f"{GRAPH}bbIbbIbQ"
_GROUPS_PER_UNIT = 16


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A query node that is grouped by: its column, its row of the matrix, and its candidates."""

    column: int
    row: int
    count: int


def group_words(keys: Sequence[GroupKey]) -> NDArray[np.uint32]:
    """The keys as ``row_groups.cl`` reads them; the last one changes fastest in group numbers."""
    words = [word for each in keys for word in (each.column, each.row, each.count)]
    return np.array([len(keys), *words], dtype=np.uint32)


def whole_sums(words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """``uint64`` per group from three words each; `MOST_WEIGHT` for all that is more."""
    low, middle, high = words.reshape(-1, SUM_WORDS).T
    sums = low.astype(np.uint64) | middle.astype(np.uint64) << np.uint64(32)
    sums[(high > 0) | (middle >> np.uint32(31) > 0)] = MOST_WEIGHT
    return sums


class GroupKernels:
    """Adds up, or marks, groups of rows; weighs single rows."""

    def __init__(self, context: DeviceContext) -> None:
        self._launched = context.info.compute_units * _GROUPS_PER_UNIT
        self._sum = get_kernel(context, _FILE, "sum_groups", f"{_CORE}QQbbb")
        self._mark = get_kernel(context, _FILE, "mark_groups", f"{_CORE}QQbbb")
        self._weigh = get_kernel(context, _FILE, "weigh_rows", f"{_CORE}QQb")
        self._ways = get_kernel(context, _FILE, "write_ways", "bQQbbQIb")

    def sum(
        self,
        arrays: ProductArrays,
        table: Table,
        rows: tuple[int, int],
        keys: DeviceArray,
        ranks: DeviceArray,
        sums: DeviceArray,
    ) -> None:
        """Adds each row's product to its group's sum, three words of ``sums`` (`whole_sums`).

        ``rows``: the first one and the one after the last.
        """
        self._sum.launch_groups(
            self._launched, *_core(arrays, table), *_counted(rows), keys, ranks, sums
        )

    def mark(
        self,
        arrays: ProductArrays,
        table: Table,
        rows: tuple[int, int],
        keys: DeviceArray,
        ranks: DeviceArray,
        marks: DeviceArray,
    ) -> None:
        """Writes 1 for the groups of all these rows whose product is not 0."""
        self._mark.launch_groups(
            self._launched, *_core(arrays, table), *_counted(rows), keys, ranks, marks
        )

    def weigh(
        self, arrays: ProductArrays, table: Table, rows: tuple[int, int], weights: DeviceArray
    ) -> None:
        """Writes the products of these rows."""
        self._weigh.launch_groups(self._launched, *_core(arrays, table), *_counted(rows), weights)

    def write_ways(
        self,
        nodes: tuple[DeviceArray, int, int],
        sums: DeviceArray,
        ways: DeviceArray,
        slot: int,
        node_count: int,
        largest: DeviceArray,
    ) -> None:
        """Writes the sums of the groups of one query node where rows are multiplied with them.

        Args:
            nodes: Its collected candidates, the first one, and how many.
            sums: Of these, as from `sum`.
            ways: Of `ProductArrays`; a sum has two slots, that of its low and its high word.
            slot: The first one of them.
            node_count: Length of a slot.
            largest: ``uint32[2]``; no less than the high and the low word of any sum, in the end.
        """
        self._ways(nodes[2], *nodes, sums, ways, slot * node_count, node_count, largest)


def _counted(rows: tuple[int, int]) -> tuple[int, int]:
    first, last = rows
    return first, last - first


def _core(arrays: ProductArrays, table: Table) -> tuple[Any, ...]:
    return (
        *arrays.filter.graph,
        arrays.filter.query,
        arrays.matrix,
        arrays.filter.words,
        arrays.product,
        arrays.ways,
        arrays.filter.node_count,
        table.values,
        table.column_stride,
    )
