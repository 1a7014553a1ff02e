"""``reduce(sum = initial, v IN list | sum + term)`` as a segmented sum over all lists at once.

The terms of all elements are computed together. Integers use prefix sums or reductions if no sum
can exceed 64 bits; floats are added element by element, in the order that the language defines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.evaluation.exploded import is_of_element, with_elements
from gpugda.expressions.operands import Constant, Operand, as_column
from gpugda.query import ast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.expressions.evaluation.exploded import Lists

__all__ = ["summed_reduce"]

_LARGEST: Final = 2**63 - 1
_WINDOW: Final = 1 << 16
"""Numbers that fit in the processor's cache while they are read twice."""
_SHORT: Final = 4
"""Lists with fewer elements on average are too short for a reduction per list."""
_LONG: Final = 64
"""A list with more elements is summed separately."""


def summed_reduce(
    evaluator: Evaluator, node: ast.Reduce, lists: Lists, initial: Operand
) -> Column | None:
    """The sum of each row; None if the expression is not such a sum of numbers.

    Args:
        evaluator: Evaluator of the rows.
        node: The whole expression.
        lists: Lists of the rows.
        initial: Initial value of each row.
    """
    term = _term(node)
    if term is None or not lists.is_mostly_used():
        return None
    numbers = _terms(evaluator, node, term, lists.column)
    if numbers is None or _kind_of(initial) is None:
        return None
    first = as_column(initial, 1).values  # a constant gives one value for all rows
    first = np.broadcast_to(first, len(lists.counts))
    if numbers.dtype == np.int64:
        sums = _sums_of_integers(numbers, first, lists)
    else:
        sums = _sums_of_floats(numbers, first, lists)
    if sums is None:
        return None
    valid = None if lists.valid is True else np.array(np.broadcast_to(lists.valid, len(sums)))
    kind = ColumnKind.INTEGER if sums.dtype == np.int64 else ColumnKind.FLOAT
    return Column(kind, sums, valid)


def _term(node: ast.Reduce) -> ast.Expression | None:
    """The term added in each step, if it depends on the element only; else None."""
    step = node.step
    if not isinstance(step, ast.Binary) or step.operator is not ast.BinaryOperator.ADD:
        return None
    if not isinstance(step.left, ast.Variable) or step.left.name != node.accumulator.name:
        return None
    name = node.variable.name
    return step.right if name != node.accumulator.name and is_of_element(name, step.right) else None


def _terms(
    evaluator: Evaluator, node: ast.Reduce, term: ast.Expression, elements: Column
) -> NDArray[Any] | None:
    """The term of each element; None if one is no number or fails."""
    found = with_elements(evaluator, node.variable.name, elements).value(term)
    if found.faults or _kind_of(found.operand) is None:
        return None
    return as_column(found.operand, len(elements)).values


def _kind_of(operand: Operand) -> ColumnKind | None:
    """INTEGER or FLOAT if all rows have such a number; else None."""
    if isinstance(operand, Constant):
        kinds = {int: ColumnKind.INTEGER, float: ColumnKind.FLOAT}
        return kinds.get(type(operand.value))
    is_number = operand.kind in (ColumnKind.INTEGER, ColumnKind.FLOAT)
    return operand.kind if is_number and operand.valid is None else None


def _sums_of_integers(
    numbers: NDArray[np.int64], first: NDArray[Any], lists: Lists
) -> NDArray[Any] | None:
    if first.dtype != np.int64:
        return None  # each integer is rounded when it is added to a float
    if _largest(numbers) * int(lists.counts.max()) + _largest(first) > _LARGEST:
        return None
    sums: NDArray[np.int64] = first + lists.of_rows(_sums_of_lists(numbers, lists.firsts))
    return sums


def _sums_of_lists(numbers: NDArray[np.int64], firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of each list, if no sum exceeds 64 bits."""
    if len(numbers) < _SHORT * len(firsts):
        # Prefix sums may wrap around, but their differences are right.
        total = np.empty(len(numbers) + 1, dtype=np.int64)
        total[0] = 0
        np.cumsum(numbers, out=total[1:])
        at_ends = total[firsts]
        return np.asarray(at_ends[1:] - at_ends[:-1])
    # reduceat returns the next list's first element for an empty list.
    starts, there = firsts[:-1], numbers[: firsts[-1]]
    filled = starts < firsts[1:]
    if filled.all():
        return np.add.reduceat(there, starts)
    sums = np.zeros(len(filled), dtype=np.int64)
    sums[filled] = np.add.reduceat(there, starts[filled])
    return sums


def _largest(numbers: NDArray[np.int64]) -> int:
    """Largest absolute value."""
    largest = 0
    for start in range(0, len(numbers), _WINDOW):
        part = numbers[start : start + _WINDOW]
        largest = max(largest, int(part.max()), -int(part.min()))
    return largest


def _sums_of_floats(
    numbers: NDArray[np.float64], first: NDArray[Any], lists: Lists
) -> NDArray[np.float64] | None:
    """Sequential sums; None if a row without elements keeps an integer initial value."""
    counts = lists.counts
    if first.dtype != np.float64 and ((counts == 0) & lists.valid).any():
        return None
    sums = first.astype(np.float64)
    firsts = lists.of_rows(lists.firsts[:-1])
    _add_long(sums, numbers, firsts, counts)
    rows = np.flatnonzero((counts > 0) & (counts <= _LONG))
    rows = rows[np.argsort(-counts[rows].astype(np.int8), kind="stable")]
    found, places, left = sums[rows], firsts[rows], counts[rows]
    # The longest lists come first, so those with another element are contiguous.
    for position in range(int(left[0]) if len(left) else 0):
        there = int(np.searchsorted(-left, -position, side="left"))
        found[:there] += numbers[places[:there] + position]
    sums[rows] = found
    return sums


def _add_long(
    sums: NDArray[np.float64],
    numbers: NDArray[np.float64],
    firsts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    for row in np.flatnonzero(counts > _LONG).tolist():
        begin = firsts[row]
        part = np.concatenate([sums[row : row + 1], numbers[begin : begin + counts[row]]])
        sums[row] = np.add.accumulate(part)[-1]
