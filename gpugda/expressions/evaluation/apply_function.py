"""Applies single-value functions to columns, once per distinct tuple of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column
from gpugda.deadline import checked
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    distinct_values,
    either,
    take,
    used_codes,
    value_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.expressions.operands import Operand
    from gpugda.query import ast

__all__ = ["apply_function", "apply_per_row", "faulty_rows", "with_position"]

_FEW_ENTRIES = 4
"""Rows per dictionary entry from which on all entries are computed, used or not."""


def apply_function(
    evaluator: Evaluator,
    node: ast.Expression,
    function: Callable[..., Any],
    arguments: Sequence[Evaluated],
) -> Evaluated:
    """``function(*values)`` in each row; its errors become faults with the node's position."""
    faults = tuple(fault for argument in arguments for fault in argument.faults)
    operands = [argument.operand for argument in arguments]
    if all(isinstance(operand, Constant) for operand in operands):
        return _constant(evaluator, node, function, operands, faults)
    rows = None
    if faults:  # values of faulty rows are undefined
        rows = np.flatnonzero(~np.broadcast_to(faulty_rows(faults), evaluator.row_count))
        operands = [take(operand, rows) for operand in operands]
    count = evaluator.row_count if rows is None else len(rows)
    if rows is None and (moving := _read_by_code(operands, count)) is not None:
        column, errors = _of_dictionary(evaluator, node, function, operands, moving)
        places, _ = _values_of(moving, count)
    else:
        places, tuples = _distinct(operands, count)
        results, errors = _results(function, tuples)
        column = column_of(results)
    return _gathered(evaluator, node, column, errors, places, rows, faults)


def apply_per_row(
    evaluator: Evaluator,
    node: ast.Expression,
    function: Callable[..., Any],
    arguments: Sequence[Evaluated],
) -> Evaluated:
    """As `apply_function` for a non-deterministic function: calls it for each row."""
    faults = tuple(fault for argument in arguments for fault in argument.faults)
    count = evaluator.row_count
    lists = [_in_rows(argument.operand, count) for argument in arguments]
    tuples = list(zip(*lists, strict=True)) if lists else [()] * count
    results, errors = _results(function, tuples)
    places = np.arange(count, dtype=np.int64)
    return _gathered(evaluator, node, column_of(results), errors, places, None, faults)


def _in_rows(operand: Operand, count: int) -> list[Any]:
    places, values = distinct_values(operand, count)
    return [values[place] for place in places.tolist()]


def faulty_rows(faults: Sequence[Fault]) -> Flags:
    """Rows with a fault."""
    found: Flags = False
    for fault in faults:
        found = either(found, fault.rows)
    return found


def with_position(error: QueryError, evaluator: Evaluator, node: ast.Expression) -> QueryError:
    """The error with its position in the query."""
    text = evaluator.environment.text
    if isinstance(error, UnsupportedQueryError):
        return UnsupportedQueryError(error.message, text, node.span, construct=error.construct)
    made = type(error)(error.message, text, node.span)
    made.code = error.code
    return made


# ------------------------------------------------------------------ constants
def _constant(
    evaluator: Evaluator,
    node: ast.Expression,
    function: Callable[..., Any],
    operands: Sequence[Any],
    faults: tuple[Fault, ...],
) -> Evaluated:
    if evaluator.row_count == 0 or faulty_rows(faults) is True:
        return Evaluated(Constant(None), faults)
    try:
        return Evaluated(Constant(function(*(operand.value for operand in operands))), faults)
    except QueryError as raised:
        error = with_position(raised, evaluator, node)
        return Evaluated(Constant(None), (*faults, Fault(True, lambda _: error)))


# ------------------------------------------------------------------ distinct tuples
def _distinct(
    operands: Sequence[Operand], row_count: int
) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """Distinct tuples of values, and each row's position among them."""
    found = [_values_of(operand, row_count) for operand in operands]
    moving = [n for n, operand in enumerate(operands) if isinstance(operand, Column)]
    places, count = found[moving[0]][0], len(found[moving[0]][1])
    if len(moving) == 1:
        return places, [_row(found, {moving[0]: place}) for place in range(count)]
    used = np.arange(count)
    parts = {moving[0]: used}
    for number in moving[1:]:
        more, values = found[number]
        used, places = used_codes(places * len(values) + more, count * max(len(values), 1))
        before = used // max(len(values), 1)
        parts = {known: part[before] for known, part in parts.items()}
        parts[number] = used % max(len(values), 1)
        count = len(used)
    positions = {number: part.tolist() for number, part in parts.items()}
    rows = range(count)
    return places, [
        _row(found, {number: part[row] for number, part in positions.items()}) for row in rows
    ]


def _row(found: Sequence[tuple[Any, list[Any]]], positions: dict[int, int]) -> tuple[Any, ...]:
    return tuple(values[positions.get(number, 0)] for number, (_, values) in enumerate(found))


def _values_of(operand: Operand, row_count: int) -> tuple[NDArray[np.int64], list[Any]]:
    dictionary = operand.dictionary if isinstance(operand, Column) else None
    if dictionary is None or not 0 < len(dictionary) * _FEW_ENTRIES <= row_count:
        return distinct_values(operand, row_count)
    assert isinstance(operand, Column)
    values = dictionary.values(np.arange(len(dictionary), dtype=np.int32))
    if operand.valid is None:
        return operand.values, values
    return np.where(operand.valid, operand.values, len(values)), [*values, None]


# ------------------------------------------------------------------ dictionary codes
_MAX_KEPT = 64


def _read_by_code(operands: Sequence[Operand], row_count: int) -> Column | None:
    """The only column among the operands, if all entries of its dictionary are to be computed."""
    moving = [operand for operand in operands if isinstance(operand, Column)]
    if len(moving) != 1 or moving[0].dictionary is None:
        return None
    small = 0 < len(moving[0].dictionary) * _FEW_ENTRIES <= row_count
    return moving[0] if small else None


def _of_dictionary(
    evaluator: Evaluator,
    node: ast.Expression,
    function: Callable[..., Any],
    operands: Sequence[Operand],
    moving: Column,
) -> tuple[Column, dict[int, QueryError]]:
    """The results for all entries and for null, cached for the next batch of rows."""
    kept = evaluator.cache.setdefault("applied", {})
    # Keep the objects alive, so that their ids are not reused.
    constants = [each.value for each in operands if isinstance(each, Constant)]
    named = [node, moving.dictionary, *constants]
    key = tuple(map(id, named))
    if key not in kept:
        everything = np.arange(len(moving.dictionary or ()), dtype=np.int32)
        values = [*(moving.dictionary.values(everything) if moving.dictionary else ()), None]
        tuples = [
            tuple(value if each is moving else value_at(each, 0) for each in operands)
            for value in checked(values)
        ]
        results, errors = _results(function, tuples)
        if len(kept) >= _MAX_KEPT:
            kept.clear()
        kept[key] = column_of(results), errors, named
    column, errors, _ = kept[key]
    return column, errors


def _results(
    function: Callable[..., Any], tuples: Sequence[tuple[Any, ...]]
) -> tuple[list[Any], dict[int, QueryError]]:
    results: list[Any] = []
    errors: dict[int, QueryError] = {}
    for number, arguments in enumerate(checked(tuples)):
        try:
            results.append(function(*arguments))
        except QueryError as error:
            errors[number] = error
            results.append(None)
    return results, errors


# ------------------------------------------------------------------ back to rows
def _gathered(
    evaluator: Evaluator,
    node: ast.Expression,
    results: Column,
    errors: dict[int, QueryError],
    places: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    faults: tuple[Fault, ...],
) -> Evaluated:
    if not len(results):
        return Evaluated(Constant(None), faults)
    if rows is not None:
        everywhere = np.zeros(evaluator.row_count, dtype=np.int64)
        everywhere[rows] = places
        places = everywhere
    column = results.take(places)
    if not errors:
        return Evaluated(column, faults)
    failed = np.zeros(len(results), dtype=np.bool_)
    failed[list(errors)] = True
    failing: Flags = failed[places]
    if rows is not None:
        sound = np.zeros(evaluator.row_count, dtype=np.bool_)
        sound[rows] = True
        failing = failing & sound

    def error(row: int) -> QueryError:
        return with_position(errors[int(places[row])], evaluator, node)

    return Evaluated(column, (*faults, Fault(failing, error)))
