"""Counting rows whose leaves are multiplied; launcher of ``leaf_products.cl``.

More than 300 lines: the words of a product lie beside the launcher that sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "SUM_WORDS",
    "BranchSums",
    "Factor",
    "GroupKey",
    "Leaves",
    "ProductArrays",
    "ProductKernels",
    "Shared",
    "group_words",
    "product_words",
    "shared_of",
]

SUM_WORDS = 3

_FILE = "leaf_products.cl"
_FACTOR_WORDS, _GROUP_WORDS, _KEY_WORDS = 4, 8, 3


@dataclass(frozen=True, slots=True)
class Leaves:
    """A group of like leaves of one anchor.

    Args:
        column: Of the anchor in the core's table.
        slot: Its place among the ways.
        count: How many leaves.
        outgoing: May their relationships start at the anchor?
        incoming: May they end there?
        candidate_row: Of the leaves in the matrix of candidates; None where every neighbour fits.
        adjacency: Place of the anchor's adjacency in the query's words.
        taken: Columns of start and end of the core's relationships that could be theirs.
    """

    column: int
    slot: int
    count: int
    outgoing: bool
    incoming: bool
    candidate_row: int | None
    adjacency: int
    taken: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Factor:
    """One group, or two.

    Args:
        groups: The groups.
        taken: Of the core's relationships those that could be both's.
        common: The column that holds how many relationships both could have; None where that is
            looked up.
    """

    groups: tuple[Leaves, ...]
    taken: tuple[tuple[int, int], ...] = ()
    common: int | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """What both groups of a factor could have, counted into a column.

    Args:
        anchor: Column of the first group's anchor.
        column: Where the number goes.
        outgoing: May the first group's relationships start at the anchor?
        incoming: May they end there?
        factor: Place of the factor in `product_words`.
    """

    anchor: int
    column: int
    outgoing: bool
    incoming: bool
    factor: int


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A query node that is grouped by: its column, its row of the matrix, and its candidates."""

    column: int
    row: int
    count: int


@dataclass(frozen=True, slots=True)
class BranchSums:
    """The sums of a branch: the place of the first word among the tables, and the roots."""

    place: int
    keys: tuple[GroupKey, ...]


def group_words(keys: Sequence[GroupKey]) -> NDArray[np.uint32]:
    """The keys as `group_of` reads them; the last one changes fastest in group numbers."""
    words = [word for each in keys for word in (each.column, each.row, each.count)]
    return np.array([len(keys), *words], dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class ProductArrays:
    """What rows are multiplied with.

    Args:
        filter: Of the query.
        matrix: Of candidates.
        product: ``uint32``, see `product_words`.
        ways: ``uint32[slots * nodes]``, per slot and node the relationships that fit.
        ranks: ``uint64[rows * words + 1]``, prefix sums of the bits of the matrix; anything where
            nothing is grouped and there is no branch.
        tables: ``uint32``, the sums of branches, `SUM_WORDS` each; anything where there is none.
    """

    filter: FilterArrays
    matrix: DeviceArray
    product: DeviceArray
    ways: DeviceArray
    ranks: DeviceArray
    tables: DeviceArray


def shared_of(words: NDArray[np.uint32], factors: Sequence[Factor]) -> list[Shared]:
    """The columns that factors read; ``words``: of these, as `product_words` made them."""
    found = []
    place = 3 + 2 * int(words[1])
    for _ in range(int(words[2])):
        place += 2 + 1 + _KEY_WORDS * int(words[place + 2])
    for factor in factors:
        first = factor.groups[0]
        if factor.common is not None:
            found.append(Shared(first.column, factor.common, first.outgoing, first.incoming, place))
        place += _FACTOR_WORDS + _GROUP_WORDS * len(factor.groups)
    return found


def product_words(
    factors: Sequence[Factor],
    weights: Sequence[tuple[int, int]] = (),
    branches: Sequence[BranchSums] = (),
) -> NDArray[np.uint32]:
    """What is multiplied as ``leaf_products.cl`` reads it.

    Args:
        factors: Of leaves.
        weights: Column with a number of ways, and how many like query nodes have it.
        branches: Where their sums are.
    """
    branch_words = [
        word
        for each in branches
        for word in (each.place & 0xFFFFFFFF, each.place >> 32, *group_words(each.keys).tolist())
    ]
    size = 3 + 2 * len(weights) + len(branch_words)
    size += sum(_FACTOR_WORDS + _GROUP_WORDS * len(each.groups) for each in factors)
    pairs: list[int] = []

    def placed(taken: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        place = size + len(pairs)
        pairs.extend(column for pair in taken for column in pair)
        return place, len(taken)

    words = [len(factors), len(weights), len(branches)]
    words.extend(word for pair in weights for word in pair)
    words.extend(branch_words)
    for factor in factors:
        common = NONE if factor.common is None else factor.common
        words.extend((len(factor.groups), *placed(factor.taken), common))
        for each in factor.groups:
            words.extend(
                (
                    each.column,
                    each.slot,
                    each.count,
                    int(each.outgoing) | int(each.incoming) << 1,
                    NONE if each.candidate_row is None else each.candidate_row,
                    each.adjacency,
                    *placed(each.taken),
                )
            )
    return np.array(words + pairs, dtype=np.uint32)


class ProductKernels:
    """Counts the ways of leaves, and multiplies them row by row."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._ways = get_kernel(context, _FILE, "count_ways", f"{GRAPH}bIbIbIIIIbQQbQ")
        self._common = get_kernel(context, _FILE, "count_common", f"{GRAPH}bbIbIbQQII")
        self._multiply = get_kernel(context, _FILE, "multiply_leaves", f"{GRAPH}bbIbbbbIbQQQb")

    @property
    def group_count(self) -> int:
        """The length of ``totals``."""
        return self._context.info.compute_units * self._context.profile.groups_per_unit

    def count_ways(
        self,
        arrays: FilterArrays,
        matrix: DeviceArray,
        leaves: Leaves,
        nodes: tuple[DeviceArray, int, int],
        ways: DeviceArray,
        *,
        by_length: bool,
        adds: bool = False,
    ) -> None:
        """Writes for some nodes how many of their relationships fit to a leaf.

        Args:
            arrays: Of the query.
            matrix: Of candidates.
            leaves: Which.
            nodes: The collected candidates of the anchor, the first one, and how many.
            ways: Where they go, to the slot of the leaf.
            by_length: Do all entries fit?
            adds: Are they added to what is there?
        """
        self._ways(
            nodes[2],
            *arrays.graph,
            arrays.query,
            leaves.adjacency,
            arrays.relationship_masks,
            arrays.relationship_words,
            matrix,
            arrays.words,
            NONE if leaves.candidate_row is None else leaves.candidate_row,
            int(by_length),
            int(adds),
            *nodes,
            ways,
            leaves.slot * arrays.node_count,
        )

    def count_common(
        self, arrays: ProductArrays, table: Table, shared: Shared, *, adds: bool
    ) -> None:
        """Writes for each row how many relationships both groups of a factor could have.

        Args:
            arrays: What rows are multiplied with.
            table: The rows, with the column.
            shared: Which.
            adds: Are they added to what is there?
        """
        self._common(
            table.row_count,
            *arrays.filter.graph,
            arrays.filter.query,
            arrays.matrix,
            arrays.filter.words,
            arrays.product,
            shared.factor,
            table.values,
            table.column_stride,
            table.row_count,
            shared.column,
            int(adds),
        )

    def multiply(
        self, arrays: ProductArrays, table: Table, modulus: int, totals: DeviceArray
    ) -> None:
        """Writes sums of the rows' products into ``totals``, ``uint64[group_count]``.

        Each product is taken modulo ``modulus``, a number below 2**31; with 0 all is modulo 2**64.
        """
        self._multiply.launch_groups(
            self.group_count,
            *arrays.filter.graph,
            arrays.filter.query,
            arrays.matrix,
            arrays.filter.words,
            arrays.product,
            arrays.ways,
            arrays.ranks,
            arrays.tables,
            arrays.filter.node_count,
            table.values,
            table.column_stride,
            table.row_count,
            modulus,
            totals,
        )
