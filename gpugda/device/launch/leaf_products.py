"""Counts and aggregates the rows of a join without writing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import MAX_WEIGHT, value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "SUM_WORDS",
    "BranchSums",
    "CommonColumn",
    "CountsPlace",
    "Factor",
    "GroupKernels",
    "GroupKey",
    "Leaves",
    "ProductArrays",
    "ProductKernels",
    "common_columns",
    "group_words",
    "product_words",
    "whole_sums",
]

SUM_WORDS = 3

_LEAF_PRODUCTS_FILE = "leaf_products.cl"
_LEAF = f"{GRAPH}bIbIbIIII"
_FACTOR_WORDS, _GROUP_WORDS, _KEY_WORDS = 6, 12, 3


@value(frozen=True, slots=True)
class CountsPlace:
    """The place of a group's relationship counts in the array of all counts.

    Args:
        first_byte: Offset of the first one; a multiple of ``width``.
        width: Bytes of a count: 1, 2 or 4.
        ranks: Offset of the ranks of the anchor's candidates, by which counts are indexed; None if
            they are indexed by node.
        anchor_row: Row of the anchor in the candidate matrix; only used with ranks.
    """

    first_byte: int
    width: int = 4
    ranks: int | None = None
    anchor_row: int = 0

    def words(self) -> tuple[int, int, int, int, int]:
        """The encoding in a product."""
        low, high = self.first_byte & 0xFFFFFFFF, self.first_byte >> 32
        return low, high, self.width, NONE if self.ranks is None else self.ranks, self.anchor_row


@value(frozen=True, slots=True)
class Leaves:
    """A group of equal leaves of one anchor.

    Args:
        column: Column of the anchor in the core's table.
        counts: Where the relationship counts of the group are.
        count: The number of leaves.
        outgoing: True if their relationships may start at the anchor.
        incoming: True if they may end there.
        candidate_row: Row of the leaves in the candidate matrix; None if every neighbour fits.
        adjacency: Position of the anchor's adjacency in the query's words.
        taken: Columns of start and end of the core's relationships that the leaves could also
            match.
    """

    column: int
    counts: CountsPlace
    count: int
    outgoing: bool
    incoming: bool
    candidate_row: int | None
    adjacency: int
    taken: tuple[tuple[int, int], ...] = ()


@value(frozen=True, slots=True)
class Factor:
    """One group of leaves, or two that may share relationships.

    Args:
        groups: The groups.
        taken: Columns of the core's relationships that both groups could match.
        common: Column with the number of relationships that both could match; None to look it up.
        loops: Nodes with self-loops, ascending, and their numbers of loops, if both groups have one
            anchor and can share nothing else; then nothing is looked up in rows.
    """

    groups: tuple[Leaves, ...]
    taken: tuple[tuple[int, int], ...] = ()
    common: int | None = None
    loops: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None


@value(frozen=True, slots=True)
class CommonColumn:
    """A column with the number of relationships that both groups of a factor could match.

    Args:
        anchor: Column of the first group's anchor.
        column: The column to write.
        outgoing: True if the first group's relationships may start at the anchor.
        incoming: True if they may end there.
        factor: Position of the factor in `product_words`.
    """

    anchor: int
    column: int
    outgoing: bool
    incoming: bool
    factor: int


@value(frozen=True, slots=True)
class GroupKey:
    """A grouping key (a query node): its column, candidate matrix row and number of candidates."""

    column: int
    row: int
    count: int


@value(frozen=True, slots=True)
class BranchSums:
    """The table of a branch's sums: position of its first word, and the root nodes as keys."""

    place: int
    keys: tuple[GroupKey, ...]


def group_words(keys: Sequence[GroupKey]) -> NDArray[np.uint32]:
    """Encodes keys for `group_of`; the last one changes fastest in group numbers."""
    words = [word for each in keys for word in (each.column, each.row, each.count)]
    return np.array([len(keys), *words], dtype=np.uint32)


@value(frozen=True, slots=True, eq=False)
class ProductArrays:
    """Arrays for the factors of rows.

    Args:
        filter: Arrays of the query.
        matrix: The candidate matrix.
        product: ``uint32``, see `product_words`.
        leaf_counts: Bytes of the numbers of fitting relationships of all groups (`CountsPlace`).
        anchor_ranks: ``uint64``, prefix sums of the bits of matrix rows by which these are indexed;
            unused if all are indexed by node.
        ranks: ``uint64[rows * words + 1]``, prefix sums of the matrix's bits; unused without
            grouping keys and branches.
        tables: ``uint32``, the sums of branches, `SUM_WORDS` each; unused without branches.
    """

    filter: FilterArrays
    matrix: DeviceArray
    product: DeviceArray
    leaf_counts: DeviceArray
    anchor_ranks: DeviceArray
    ranks: DeviceArray
    tables: DeviceArray


def common_columns(words: NDArray[np.uint32], factors: Sequence[Factor]) -> list[CommonColumn]:
    """The columns that factors read; ``words``: their encoding by `product_words`."""
    found = []
    place = 3 + 2 * int(words[1])
    for _ in range(int(words[2])):
        place += 2 + 1 + _KEY_WORDS * int(words[place + 2])
    for factor in factors:
        first = factor.groups[0]
        if factor.common is not None:
            found.append(
                CommonColumn(first.column, factor.common, first.outgoing, first.incoming, place)
            )
        place += _FACTOR_WORDS + _GROUP_WORDS * len(factor.groups)
    return found


def product_words(
    factors: Sequence[Factor],
    weights: Sequence[tuple[int, int]] = (),
    branches: Sequence[BranchSums] = (),
) -> NDArray[np.uint32]:
    """Encodes a product for ``leaf_products.cl``.

    Args:
        factors: Factors of leaves.
        weights: Columns with numbers of matches, each with the number of equal query nodes that
            share it.
        branches: Tables of branch sums.
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

    taken = [some for each in factors for some in (each.taken, *(g.taken for g in each.groups))]
    first_loop = size + 2 * sum(map(len, taken))
    listed: list[NDArray[np.uint32]] = []

    def placed_loops(factor: Factor) -> tuple[int, int]:
        if factor.loops is None:
            return 0, 0
        place = first_loop + sum(map(len, listed))
        listed.extend(factor.loops)
        return place, len(factor.loops[0])

    words = [len(factors), len(weights), len(branches)]
    words.extend(word for pair in weights for word in pair)
    words.extend(branch_words)
    for factor in factors:
        common = NONE if factor.common is None else factor.common
        words.extend((len(factor.groups), *placed(factor.taken), common, *placed_loops(factor)))
        for each in factor.groups:
            words.extend(
                (
                    each.column,
                    *each.counts.words(),
                    each.count,
                    int(each.outgoing) | int(each.incoming) << 1,
                    NONE if each.candidate_row is None else each.candidate_row,
                    each.adjacency,
                    *placed(each.taken),
                )
            )
    return np.concatenate([np.array(words + pairs, dtype=np.uint32), *listed])


class ProductKernels:
    """Counts the relationships of leaves, and multiplies them row by row."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count_matches = get_kernel(
            context, _LEAF_PRODUCTS_FILE, "count_matches", f"{_LEAF}bQQbQ"
        )
        self._count_packed = get_kernel(
            context, _LEAF_PRODUCTS_FILE, "count_packed", f"{_LEAF}QQbQIbII"
        )
        self._common = get_kernel(
            context, _LEAF_PRODUCTS_FILE, "count_common", f"{GRAPH}bbIbIbQQII"
        )
        self._multiply = get_kernel(
            context, _LEAF_PRODUCTS_FILE, "multiply_leaves", f"{GRAPH}bbIbbbbbbQQQb"
        )

    @property
    def group_count(self) -> int:
        """The length of ``totals``."""
        return self._context.info.compute_units * self._context.profile.groups_per_unit

    def count_matches(
        self,
        arrays: FilterArrays,
        matrix: DeviceArray,
        leaves: Leaves,
        nodes: tuple[DeviceArray, int, int],
        leaf_counts: DeviceArray,
        *,
        by_length: bool,
        adds: bool = False,
    ) -> None:
        """Writes for the given nodes the number of their relationships that fit a leaf.

        Args:
            arrays: Arrays of the query.
            matrix: The candidate matrix.
            leaves: The group of leaves, whose counts are indexed by node.
            nodes: The collected candidates of the anchor, the first one, and the number of them.
            leaf_counts: Output, at the leaf's place.
            by_length: True if all entries fit.
            adds: True to add to the previous values.
        """
        asked = _asked(arrays, matrix, leaves, by_length=by_length, adds=adds)
        self._count_matches(nodes[2], *asked, *nodes, leaf_counts, leaves.counts.first_byte)

    def count_packed(
        self,
        arrays: FilterArrays,
        matrix: DeviceArray,
        leaves: Leaves,
        nodes: tuple[int, int],
        leaf_counts: DeviceArray,
        anchor_ranks: DeviceArray,
        *,
        by_length: bool,
        adds: bool = False,
    ) -> None:
        """As `count_matches`, for the anchor's candidates in a range of nodes.

        Args: as `count_matches`, and
            nodes: The first node of the range, and the number of nodes.
            anchor_ranks: See `ProductArrays`.
        """
        asked = _asked(arrays, matrix, leaves, by_length=by_length, adds=adds)
        place = leaves.counts
        ranks = NONE if place.ranks is None else place.ranks
        counts = leaf_counts, place.first_byte, place.width
        self._count_packed(nodes[1], *asked, *nodes, *counts, anchor_ranks, ranks, place.anchor_row)

    def count_common(
        self, arrays: ProductArrays, table: Table, shared: CommonColumn, *, adds: bool
    ) -> None:
        """Writes for each row the number of relationships that both groups of a factor could match.

        Args:
            arrays: Arrays for the factors of rows.
            table: The rows, with the column.
            shared: The column to write.
            adds: True to add to the previous values.
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
        """Writes sums of the rows' products to ``totals``, ``uint64[group_count]``.

        Products are computed modulo ``modulus``, below 2**31; 0 stands for modulo 2**64.
        """
        self._multiply.launch_groups(
            self.group_count,
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
            table.row_count,
            modulus,
            totals,
        )


def _asked(
    arrays: FilterArrays, matrix: DeviceArray, leaves: Leaves, *, by_length: bool, adds: bool
) -> tuple[Any, ...]:
    """Arguments for ``LEAF_PARAMETERS``."""
    return (
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
    )


_ROW_GROUPS_FILE = "row_groups.cl"
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
        self._sum = get_kernel(context, _ROW_GROUPS_FILE, "sum_groups", f"{_CORE}QQbbQ")
        self._mark = get_kernel(context, _ROW_GROUPS_FILE, "mark_groups", f"{_CORE}QQbb")
        self._weigh = get_kernel(context, _ROW_GROUPS_FILE, "weigh_rows", f"{_CORE}QQb")
        self._largest = get_kernel(context, _ROW_GROUPS_FILE, "largest_sum", "bQQb")
        self._weigh_sums = get_kernel(context, _ROW_GROUPS_FILE, "weigh_sums", "bQQbQbIIb")

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
