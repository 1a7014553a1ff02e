"""Aggregates rows of a join by grouped nodes; launcher of ``row_groups.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.leaf_products import SUM_WORDS
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import MAX_WEIGHT

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import ProductArrays
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["GroupKernels", "whole_sums"]

_FILE = "row_groups.cl"
_CORE = f"{GRAPH}bbIbbbbbbQ"


def whole_sums(words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """``uint64`` per group from three words each; saturates at `MAX_WEIGHT`."""
    low, middle, high = words.reshape(-1, SUM_WORDS).T
    sums = low.astype(np.uint64) | middle.astype(np.uint64) << np.uint64(32)
    sums[(high > 0) | (middle >> np.uint32(31) > 0)] = MAX_WEIGHT
    return sums


class GroupKernels:
    """Adds up, or marks, groups of rows; weighs single rows."""

    def __init__(self, context: DeviceContext) -> None:
        self._launched = context.info.compute_units * context.profile.groups_per_unit
        self._sum = get_kernel(context, _FILE, "sum_groups", f"{_CORE}QQbbQ")
        self._mark = get_kernel(context, _FILE, "mark_groups", f"{_CORE}QQbb")
        self._weigh = get_kernel(context, _FILE, "weigh_rows", f"{_CORE}QQb")
        self._largest = get_kernel(context, _FILE, "largest_sum", "bQQb")
        self._weigh_sums = get_kernel(context, _FILE, "weigh_sums", "bQQbQbIIb")

    @property
    def total_words(self) -> int:
        """The length of the ``totals`` of `weigh_sums`."""
        return 2 * self._launched

    def sum(
        self,
        arrays: ProductArrays,
        table: Table,
        rows: tuple[int, int],
        keys: DeviceArray,
        sums: DeviceArray,
        first_word: int = 0,
    ) -> None:
        """Adds each row's product to its group's sum, three words of ``sums`` (`whole_sums`).

        Args:
            arrays: Arrays for the factors of rows.
            table: The rows.
            rows: The first one and the one after the last.
            keys: From `group_words`.
            sums: ``uint32``.
            first_word: Position of the first group in it.
        """
        self._sum.launch_groups(
            self._launched, *_core(arrays, table), *_counted(rows), keys, sums, first_word
        )

    def mark(
        self,
        arrays: ProductArrays,
        table: Table,
        rows: tuple[int, int],
        keys: DeviceArray,
        marks: DeviceArray,
    ) -> None:
        """Writes 1 for the groups of all these rows whose product is not 0."""
        self._mark.launch_groups(
            self._launched, *_core(arrays, table), *_counted(rows), keys, marks
        )

    def weigh(
        self, arrays: ProductArrays, table: Table, rows: tuple[int, int], weights: DeviceArray
    ) -> None:
        """Writes the products of these rows."""
        self._weigh.launch_groups(self._launched, *_core(arrays, table), *_counted(rows), weights)

    def largest(self, sums: DeviceArray, first_word: int, count: int, most: DeviceArray) -> None:
        """Raises the two words of ``most`` to the maximum high and low word of these sums."""
        self._largest(count, sums, first_word, count, most)

    def weigh_sums(
        self,
        sums: tuple[DeviceArray, int],
        nodes: tuple[DeviceArray, int, int],
        factors: tuple[DeviceArray, int, int],
        totals: DeviceArray,
    ) -> None:
        """Multiplies each sum with the factors of its node; adds these up, 128 bits per work group.

        Args:
            sums: Sums of three words each, and the first word.
            nodes: The nodes of the groups, the position of the first, and the number of them.
            factors: ``uint32[slots * nodes]`` per node of the data graph, slots, nodes.
            totals: ``uint64[total_words]``, low and high words.
        """
        listed, first, count = nodes
        self._weigh_sums.launch_groups(
            self._launched, *sums, count, listed, first, *factors, totals
        )


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
        arrays.leaf_counts,
        arrays.anchor_ranks,
        arrays.ranks,
        arrays.tables,
        table.values,
        table.column_stride,
    )
