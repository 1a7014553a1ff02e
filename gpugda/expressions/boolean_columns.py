"""Three-valued logic on columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    Operand,
    both,
    distinct_values,
    either,
    inverted,
    validity,
    value_at,
)
from gpugda.types import value
from gpugda.values import describe, truth_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.errors import CypherTypeError

__all__ = [
    "ALWAYS",
    "NEVER",
    "UNKNOWN",
    "Truth",
    "and_",
    "not_",
    "null_test",
    "operand_of_truth",
    "or_",
    "pairwise",
    "truth_of_operand",
    "truth_of_value",
    "xor_",
]


@value(frozen=True, slots=True, eq=False)
class Truth:
    """A condition in each row: rows where it holds, rows where it fails; null in the others.

    Args:
        holds: True where the condition is true.
        fails: True where the condition is false.
        faults: Rows where the condition cannot be computed; they neither hold nor fail.
    """

    holds: Flags
    fails: Flags
    faults: tuple[Fault, ...] = ()


ALWAYS = Truth(True, False)
NEVER = Truth(False, True)
UNKNOWN = Truth(False, False)


def truth_of_value(value: bool | None) -> Truth:
    """The same truth value in each row."""
    return Truth(value is True, value is False)


# ------------------------------------------------------------------ operators
def not_(a: Truth) -> Truth:
    """NOT."""
    return Truth(a.fails, a.holds, a.faults)


def and_(a: Truth, b: Truth) -> Truth:
    """AND: false takes precedence over an error, an error over null."""
    fails = either(a.fails, b.fails)
    return Truth(both(a.holds, b.holds), fails, _outside(fails, a.faults + b.faults))


def or_(a: Truth, b: Truth) -> Truth:
    """OR: true takes precedence over an error, an error over null."""
    holds = either(a.holds, b.holds)
    return Truth(holds, both(a.fails, b.fails), _outside(holds, a.faults + b.faults))


def xor_(a: Truth, b: Truth) -> Truth:
    """XOR: an error takes precedence over null, null over the rest."""
    holds = either(both(a.holds, b.fails), both(a.fails, b.holds))
    fails = either(both(a.holds, b.holds), both(a.fails, b.fails))
    return Truth(holds, fails, a.faults + b.faults)


def _outside(decided: Flags, faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    if not faults:
        return ()
    undecided = inverted(decided)
    return tuple(Fault(both(fault.rows, undecided), fault.error) for fault in faults)


def null_test(operand: Operand, *, is_null: bool) -> Truth:
    """IS NULL, IS NOT NULL."""
    valid = validity(operand)
    return Truth(inverted(valid), valid) if is_null else Truth(valid, inverted(valid))


# ------------------------------------------------------------------ conversion
def operand_of_truth(truth: Truth) -> Operand:
    """A condition as a value."""
    holds, fails = truth.holds, truth.fails
    if isinstance(holds, bool) and isinstance(fails, bool):
        return Constant(True if holds else False if fails else None)
    holds, fails = np.broadcast_arrays(holds, fails)
    if holds.strides != (1,):
        holds = np.array(holds)
    # No row both holds and fails, so counting shows whether any is null.
    if np.count_nonzero(holds) + np.count_nonzero(fails) == len(holds):
        return Column(ColumnKind.BOOLEAN, holds, None)
    return Column(ColumnKind.BOOLEAN, holds, holds | fails)


def truth_of_operand(
    evaluated: Evaluated, row_count: int, error: Callable[[str], CypherTypeError]
) -> Truth:
    """A value used as a condition; ``error`` creates the error for a value that is no boolean."""
    operand = evaluated.operand

    def refuse(row: int) -> CypherTypeError:
        described = describe(value_at(operand, row))
        return error(f"Don't know how to treat that as a predicate: {described}")

    if isinstance(operand, Column) and operand.kind is ColumnKind.BOOLEAN:
        valid = validity(operand)
        for fault in evaluated.faults:  # values of faulty rows are undefined
            valid = both(valid, inverted(fault.rows))
        return Truth(both(operand.values, valid), both(~operand.values, valid), evaluated.faults)
    if isinstance(operand, Column) and operand.kind is not ColumnKind.OBJECT:
        valid = validity(operand)
        return Truth(False, False, (*evaluated.faults, Fault(valid, refuse)))
    places, values = distinct_values(operand, row_count)
    truth = _of_states(np.array([_state(value) for value in values], dtype=np.int8), places)
    refused = np.array([_state(value) == _REFUSED for value in values], dtype=np.bool_)
    sound: Flags = True
    for fault in evaluated.faults:
        sound = both(sound, inverted(fault.rows))
    faults = (Fault(both(refused[places], sound), refuse),) if refused.any() else ()
    holds, fails = both(truth.holds, sound), both(truth.fails, sound)
    return Truth(holds, fails, evaluated.faults + faults)


_FALSE, _TRUE, _NULL, _REFUSED = range(4)


def _state(value: Any) -> int:
    try:
        truth = truth_of(value)
    except TypeError:
        return _REFUSED
    return _NULL if truth is None else int(truth)


def _of_states(states: NDArray[np.int8], places: NDArray[np.int64]) -> Truth:
    return Truth((states == _TRUE)[places], (states == _FALSE)[places])


def pairwise(
    test: Callable[[Any, Any], bool | None], left: Operand, right: Operand, row_count: int
) -> Truth:
    """Applies a test to two operands, once per distinct pair of values."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return truth_of_value(test(left.value, right.value))
    left_places, left_values = distinct_values(left, row_count)
    right_places, right_values = distinct_values(right, row_count)
    pairs = left_places * len(right_values) + right_places
    used, places = np.unique(pairs, return_inverse=True)
    found = [
        test(left_values[p // len(right_values)], right_values[p % len(right_values)])
        for p in used.tolist()
    ]
    states = np.array([_NULL if truth is None else int(truth) for truth in found], dtype=np.int8)
    return _of_states(states, places.reshape(-1))
