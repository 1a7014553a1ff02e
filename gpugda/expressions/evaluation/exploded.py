"""Flattens lists into element rows, and maps results of elements back to the rows of the lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.runs import are_consecutive, places_in_runs
from gpugda.data.values.columns import Column
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import (
    Fault,
    Flags,
    Operand,
    both,
    distinct_values,
    validity,
)
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.errors import QueryError
    from gpugda.expressions.evaluation.evaluator import Evaluator

__all__ = ["Exploded", "Lists", "faults_of_rows", "is_of_element", "lists_of", "with_elements"]

_OF_ELEMENTS: Final = (
    ast.Binary,
    ast.Comparison,
    ast.Literal,
    ast.Parameter,
    ast.Property,
    ast.Unary,
)


@dataclass(frozen=True, slots=True, eq=False)
class Exploded:
    """The elements of lists, grouped by row and in order.

    Args:
        elements: One value per element.
        rows: ``int64`` per element: the row of its list.
        counts: ``int64`` per row: number of elements.
        valid: Rows with a list; the others have no elements.
    """

    elements: Column
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    valid: Flags

    @property
    def starts(self) -> NDArray[np.int64]:
        """Per row, the position of its first element."""
        return np.cumsum(self.counts) - self.counts


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The lists of a set of rows.

    Args:
        column: The elements of all distinct lists, concatenated.
        firsts: ``int64[lists + 1]``: offset of each distinct list, and the end.
        places: Number of the list in each row.
        counts: ``int64`` per row: number of elements.
        valid: Rows with a list; the others have no elements.
    """

    column: Column
    firsts: NDArray[np.int64]
    places: NDArray[Any]
    counts: NDArray[np.int64]
    valid: Flags

    def _consecutive_elements(self) -> Column | None:
        """The elements if the rows hold consecutive lists, as collected ones do; else None."""
        places = self.places
        if self.valid is not True:
            return None
        if not are_consecutive(places):
            return None
        column, part = self.column, slice(self.firsts[places[0]], self.firsts[places[-1] + 1])
        valid = None if column.valid is None else column.valid[part]
        return Column(column.kind, column.values[part], valid, column.dictionary)

    def of_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Maps values of lists to rows."""
        return _at_places(values, self.places)

    def is_mostly_used(self) -> bool:
        """True if computing all elements pays: there are some, and at least half belong to rows."""
        return 0 < len(self.column) <= 2 * int(self.counts.sum())

    def at(self, rows: NDArray[np.int64], position: int) -> Column:
        """The elements at one position of the lists of these rows, which must be long enough."""
        return self.column.take(self.firsts[self.places[rows]] + position)

    def exploded(self) -> Exploded:
        """All elements."""
        counts = self.counts
        rows = np.repeat(np.arange(len(counts)), counts)
        elements = self._consecutive_elements()
        if elements is None:
            elements = self.elements_of(rows, counts)
        return Exploded(elements, rows, counts, self.valid)

    def elements_of(self, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> Column:
        """The elements of some rows; ``rows``: each as often as its list is long."""
        return self.column.take(self.firsts[self.places[rows]] + places_in_runs(counts))


def lists_of(operand: Operand, row_count: int, sound: Flags) -> Lists:
    """The list of each row; a value that is no list counts as a list of itself.

    Args:
        operand: The lists.
        row_count: Number of rows.
        sound: Rows without faults.
    """
    valid = both(validity(operand), sound)
    dictionary = operand.dictionary if isinstance(operand, Column) else None
    places: NDArray[Any]
    if isinstance(operand, Column) and isinstance(dictionary, ColumnLists):
        places, firsts, column = operand.values, dictionary.offsets, dictionary.elements
    else:
        places, values = distinct_values(operand, row_count)
        items = [_elements(value) for value in values]
        firsts = np.concatenate([[0], np.cumsum([len(each) for each in items])]).astype(np.int64)
        column = column_of([item for each in items for item in each])
    if len(firsts) == 1:
        counts = np.zeros(row_count, np.int64)
        return Lists(column, np.zeros(2, np.int64), np.zeros(row_count, np.int64), counts, valid)
    counts = _at_places(np.diff(firsts), places)
    if valid is not True:
        counts = np.where(valid, counts, 0)
    return Lists(column, firsts, places, counts, valid)


def _at_places(values: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    is_contiguous = are_consecutive(places)
    found: NDArray[Any] = values[slice(places[0], int(places[-1]) + 1) if is_contiguous else places]
    return found


def is_of_element(name: str, expression: ast.Expression) -> bool:
    """True if the expression depends on nothing but the element of this name."""
    for each in walk(expression):
        if isinstance(each, ast.Variable):
            if each.name != name:
                return False
        elif not isinstance(each, _OF_ELEMENTS):
            return False
    return True


def with_elements(evaluator: Evaluator, name: str, elements: Column) -> Evaluator:
    """An evaluator over elements, for expressions that satisfy `is_of_element`."""
    rows = np.broadcast_to(np.int64(0), len(elements))  # no outer variable is read
    return evaluator.inner(rows, {name: elements})


def _elements(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def faults_of_rows(
    faults: Iterable[Fault], counting: Flags, rows: NDArray[np.int64], row_count: int
) -> tuple[Fault, ...]:
    """Maps faults of elements to their rows: the first fault of each row.

    Args:
        faults: Faults of elements.
        counting: Elements whose faults count.
        rows: Row of each element.
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
