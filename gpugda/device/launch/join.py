"""Joins candidate relationships on the device; launcher of ``join.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["Combination", "Join", "Product", "Table", "step_words"]

_FILE = "join.cl"
_COMBINATION = "bQQIIIIbQbQbbbbI"


@value(frozen=True, slots=True, eq=False)
class Table:
    """Partial embeddings: column c of row i at ``c * column_stride + i``.

    Args:
        values: ``uint32``; None if there are no columns.
        row_count: The number of rows.
        width: The number of columns.
        capacity: Number of rows that fit; 0 if it equals ``row_count``.
    """

    values: DeviceArray | None
    row_count: int
    width: int
    capacity: int = 0

    @property
    def column_stride(self) -> int:
        """Elements from one column to the next."""
        return self.capacity or self.row_count


@value(frozen=True, slots=True, eq=False)
class Combination:
    """The section of candidate relationships that partial rows are joined with.

    Args:
        candidates: The candidate matrix.
        ranks: ``uint64``, prefix sums of its bits.
        first_word: Word in both at which the bound query node's row begins.
        to_section: Offset from a candidate's rank to its row, modulo 2**64.
        offsets: ``uint64``, first entry of each row of all sections.
        end_nodes: ``uint32``, node at the other end per entry.
        relationships: ``uint32``, relationship index per entry.
        is_sorted: True if each row's entries are sorted by the node at the other end.
    """

    candidates: DeviceArray
    ranks: DeviceArray
    first_word: int
    to_section: int
    offsets: DeviceArray
    end_nodes: DeviceArray
    relationships: DeviceArray
    is_sorted: bool


@value(frozen=True, slots=True, eq=False)
class Product:
    """The other side of a cartesian product: nodes, or all entries of a section.

    Args:
        size: The number of nodes or entries.
        nodes: ``uint32``, the collected candidates.
        first_node: Position of the first one to use.
        section: First row of the section and the number of its rows; None for nodes.
        offsets: As in `Combination`; unused for nodes.
        end_nodes: As in `Combination`; unused for nodes.
        relationships: As in `Combination`; unused for nodes.
    """

    size: int
    nodes: DeviceArray
    first_node: int
    section: tuple[int, int] | None
    offsets: DeviceArray
    end_nodes: DeviceArray
    relationships: DeviceArray


def step_words(kept: Sequence[int], tests: Sequence[tuple[int, int, bool]]) -> list[int]:
    """Encodes the kept columns and tests of a step for ``partial_embeddings.h``."""
    words = [len(kept), len(tests), *kept]
    for left, right, equal in tests:
        words.extend((left, right, int(equal)))
    return words


class Join:
    """Counts and writes the rows of one step."""

    def __init__(self, context: DeviceContext) -> None:
        self._count_combinations = get_kernel(
            context, _FILE, "count_combinations", f"{_COMBINATION}b"
        )
        self._write_combinations = get_kernel(
            context, _FILE, "write_combinations", f"{_COMBINATION}bQQbQII"
        )
        self._write_product = get_kernel(context, _FILE, "write_product", "bQbIQQQbQIbQQbbbQIII")
        self._count_valid = get_kernel(context, _FILE, "count_valid", "bQQIbIb")
        self._write_valid = get_kernel(context, _FILE, "write_valid", "bQQbIbQQbQ")

    def count_combinations(
        self,
        table: Table,
        bound_column: int,
        other_column: int | None,
        combination: Combination,
        words: tuple[DeviceArray, int],
        counts: DeviceArray,
    ) -> None:
        """Writes the number of new rows of each row to ``counts``.

        Args:
            table: The partial embeddings.
            bound_column: Column of the node whose candidate relationships are joined.
            other_column: Column of the other end if that is bound too, else None.
            combination: The candidate relationships.
            words: Array and position of the step's words, see `step_words`.
            counts: ``uint32``, one per row.
        """
        self._count_combinations(
            table.row_count,
            *_combination(table, bound_column, other_column, combination, words),
            counts,
        )

    def write_combinations(
        self,
        table: Table,
        bound_column: int,
        other_column: int | None,
        combination: Combination,
        words: tuple[DeviceArray, int],
        sums: DeviceArray,
        window: tuple[int, int],
        extended: Table,
        columns: tuple[int | None, int | None],
    ) -> None:
        """Writes the new rows of a window.

        ``columns``: columns of the added node and the added relationship.
        """
        self._write_combinations(
            table.row_count,
            *_combination(table, bound_column, other_column, combination, words),
            sums,
            *window,
            extended.values,
            extended.row_count,
            *map(_column, columns),
        )

    def write_product(
        self,
        table: Table,
        product: Product,
        words: tuple[DeviceArray, int],
        window: tuple[int, int],
        extended: Table,
        columns: tuple[int | None, int | None, int | None],
    ) -> None:
        """Writes the new rows of a window.

        Args:
            table: The partial embeddings.
            product: The other side.
            words: Array and position of the step's words.
            window: First position and the one after the last.
            extended: The result, as long as the window.
            columns: Columns of the node (the end by which the section is looked up), the other end,
                and the relationship.
        """
        first_row, row_count = product.section or (0, 0)
        self._write_product(
            window[1] - window[0],
            table.values,
            table.column_stride,
            *words,
            product.size,
            *window,
            product.nodes,
            product.first_node,
            product.section is not None,
            product.offsets,
            first_row,
            row_count,
            product.end_nodes,
            product.relationships,
            extended.values,
            extended.row_count,
            *map(_column, columns),
        )

    def count_valid(
        self, table: Table, words: tuple[DeviceArray, int], counts: DeviceArray
    ) -> None:
        """Writes 1 for each row that passes the tests, else 0, to ``counts``."""
        self._count_valid(
            table.row_count,
            table.values,
            table.column_stride,
            table.row_count,
            table.width,
            *words,
            counts,
        )

    def write_valid(
        self,
        table: Table,
        words: tuple[DeviceArray, int],
        sums: DeviceArray,
        window: tuple[int, int],
        extended: Table,
    ) -> None:
        """Copies the rows of a window that passed."""
        self._write_valid(
            table.row_count,
            table.values,
            table.column_stride,
            table.row_count,
            *words,
            sums,
            *window,
            extended.values,
            extended.row_count,
        )


def _combination(
    table: Table,
    bound_column: int,
    other_column: int | None,
    combination: Combination,
    words: tuple[DeviceArray, int],
) -> tuple[Any, ...]:
    return (
        table.values,
        table.column_stride,
        table.row_count,
        table.width,
        bound_column,
        _column(other_column),
        combination.is_sorted,
        combination.candidates,
        combination.first_word,
        combination.ranks,
        combination.to_section,
        combination.offsets,
        combination.end_nodes,
        combination.relationships,
        *words,
    )


def _column(column: int | None) -> int:
    return NONE if column is None else column
