"""Lists as rows of their elements, and what is found for elements back at the rows of the lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.expressions.lists import EntityLists
from gpugda.expressions.made_columns import column_of
from gpugda.expressions.operands import (
    Fault,
    Flags,
    Operand,
    both,
    distinct_values,
    validity,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.errors import QueryError

__all__ = ["Exploded", "explode", "faults_of_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Exploded:
    """The elements of lists, those of a row together and in their order.

    Args:
        elements: One value per element.
        rows: ``int64`` per element: the row of its list.
        counts: ``int64`` per row: how many elements it has.
        valid: Rows that have a list; the others have no elements.
    """

    elements: Column
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    valid: Flags

    @property
    def starts(self) -> NDArray[np.int64]:
        """Per row the position of its first element."""
        return np.cumsum(self.counts) - self.counts


def explode(operand: Operand, row_count: int, sound: Flags) -> Exploded:
    """The elements of the list of each row; another value than a list is a list of itself.

    Args:
        operand: The lists.
        row_count: Number of rows.
        sound: Rows whose list has a meaning.
    """
    valid = both(validity(operand), sound)
    if isinstance(operand, Column) and isinstance(operand.dictionary, EntityLists):
        lists = operand.dictionary
        kind = ColumnKind.NODE if lists.of_nodes else ColumnKind.RELATIONSHIP
        places, firsts = operand.values, lists.offsets
        column = Column(kind, lists.indexes)
    else:
        places, values = distinct_values(operand, row_count)
        items = [_elements(value) for value in values]
        firsts = np.concatenate([[0], np.cumsum([len(each) for each in items])]).astype(np.int64)
        column = column_of([item for each in items for item in each])
    if len(firsts) == 1:
        return Exploded(column, _nothing(), np.zeros(row_count, np.int64), valid)
    counts = np.where(valid, np.diff(firsts)[places], 0)
    rows = np.repeat(np.arange(row_count), counts)
    inside = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Exploded(column.take(firsts[places[rows]] + inside), rows, counts, valid)


def _nothing() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _elements(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def faults_of_rows(
    faults: Iterable[Fault], counting: Flags, rows: NDArray[np.int64], row_count: int
) -> tuple[Fault, ...]:
    """Faults of elements as faults of the rows of their lists: the first of each row.

    Args:
        faults: Of elements.
        counting: Elements whose faults count.
        rows: Per element its row.
        row_count: Number of rows.
    """
    return tuple(
        _fault_of_rows(fault, counting, rows, row_count)
        for fault in faults
        if np.any(both(fault.rows, counting))
    )


def _fault_of_rows(fault: Fault, counting: Flags, rows: NDArray[np.int64], row_count: int) -> Fault:
    elements = np.flatnonzero(np.broadcast_to(both(fault.rows, counting), len(rows)))
    owners, first = np.unique(rows[elements], return_index=True)
    element_of = dict(zip(owners.tolist(), elements[first].tolist(), strict=True))
    failing = np.zeros(row_count, dtype=np.bool_)
    failing[owners] = True

    def error(row: int) -> QueryError:
        return fault.error(element_of[row])

    return Fault(failing, error)
