"""Equality and order of date and datetime columns, for all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.data.values.columns import Column
from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.operands import both, inverted, validity
from gpugda.expressions.temporal.moment_columns import moments_of_operand

if TYPE_CHECKING:
    from gpugda.expressions.operands import Flags, Operand
    from gpugda.expressions.temporal.rows import MomentRows

__all__ = ["moments_equal", "moments_less"]


def moments_equal(left: Operand, right: Operand) -> Truth | None:
    """``left = right``; None unless both sides have one kind and one offset from UTC."""
    sides = _sides(left, right)
    if sides is None:
        return None
    a, b = sides
    return _known((a.seconds == b.seconds) & (a.fractions == b.fractions), left, right)


def moments_less(left: Operand, right: Operand, *, or_equal: bool) -> Truth | None:
    """``left < right`` or ``left <= right``; None as `moments_equal`."""
    sides = _sides(left, right)
    if sides is None:
        return None
    a, b = sides
    rest = a.fractions <= b.fractions if or_equal else a.fractions < b.fractions
    return _known((a.seconds < b.seconds) | ((a.seconds == b.seconds) & rest), left, right)


def _known(holds: Flags, left: Operand, right: Operand) -> Truth:
    valid = both(validity(left), validity(right))
    return Truth(both(holds, valid), both(inverted(holds), valid))


def _sides(left: Operand, right: Operand) -> tuple[MomentRows, MomentRows] | None:
    if not (isinstance(left, Column) or isinstance(right, Column)):
        return None
    a = moments_of_operand(left)
    b = None if a is None else moments_of_operand(right)
    if a is None or b is None or (a.kind, a.offset) != (b.kind, b.offset):
        return None
    return a, b
