"""``+``, ``-``, ``*`` and ``/`` for temporal values and durations."""

from __future__ import annotations

from typing import Any

from gpugda.errors import CypherArgumentError, CypherArithmeticError, CypherTypeError
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import LARGEST, SMALLEST
from gpugda.expressions.temporal.calendar import (
    NANOS_PER_DAY,
    NANOS_PER_SECOND,
    SECONDS_PER_DAY,
    plus_months,
)
from gpugda.expressions.temporal.durations import approximate, floored, make_duration
from gpugda.expressions.temporal.moments import (
    Moment,
    at_instant,
    at_wall,
    moment_of,
    value_of_moment,
)
from gpugda.values import describe

__all__ = ["add", "divide", "multiply", "plus_days_in", "plus_months_in", "subtract"]

_LARGEST_DAYS = 365_250_000_000


def add(left: Any, right: Any) -> Any:
    """``left + right``, one of them a duration.

    Raises:
        CypherTypeError: Neither side is a duration.
        CypherArgumentError: The result is out of range.
    """
    if kind_of_value(right) != "duration":
        left, right = right, left
    if kind_of_value(right) != "duration":
        raise CypherTypeError(f"+ is not defined for {describe(left)} and {describe(right)}")
    return _plus(left, *floored(right))


def subtract(left: Any, right: Any) -> Any:
    """``left - right``; ``right`` is a duration."""
    months, days, seconds, nanos = floored(right)
    return _plus(left, -months, -days, -seconds, -nanos)


def _plus(value: Any, months: int, days: int, seconds: int, nanos: int) -> Any:
    if kind_of_value(value) == "duration":
        own = floored(value)
        return make_duration(own[0] + months, own[1] + days, own[2] + seconds, own[3] + nanos)
    moment = moment_of(value)
    if moment.days is not None:
        _check_range(months, days)
    ticks = seconds * NANOS_PER_SECOND + nanos
    if moment.nanos is None:
        assert moment.days is not None
        # Of the seconds only whole days count, truncated.
        whole = abs(seconds) // SECONDS_PER_DAY
        days += whole if seconds >= 0 else -whole
        return value_of_moment(Moment(plus_months(moment.days, months) + days))
    if moment.days is None:
        nanos_of_day = (moment.nanos + ticks) % NANOS_PER_DAY
        return value_of_moment(Moment(None, nanos_of_day, moment.zone, moment.offset))
    return value_of_moment(_plus_ticks(plus_days_in(plus_months_in(moment, months), days), ticks))


def _check_range(months: int, days: int) -> None:
    if abs(months) > _LARGEST_DAYS // 28 or abs(days) > 2 * _LARGEST_DAYS:
        raise CypherArgumentError("the result is out of the range of dates")


def plus_months_in(moment: Moment, months: int) -> Moment:
    """The same wall-clock time some months later; keeps the offset where possible."""
    assert moment.days is not None
    return _on(moment, plus_months(moment.days, months)) if months else moment


def plus_days_in(moment: Moment, days: int) -> Moment:
    """The same wall-clock time some days later; keeps the offset where possible."""
    assert moment.days is not None
    return _on(moment, moment.days + days) if days else moment


def _on(moment: Moment, days: int) -> Moment:
    if moment.zone is None:
        return Moment(days, moment.nanos)
    return at_wall(days, moment.nanos or 0, moment.zone, moment.offset)


def _plus_ticks(moment: Moment, ticks: int) -> Moment:
    if moment.zone is not None:
        return at_instant(moment.instant + ticks, moment.zone)
    return Moment(*divmod(moment.instant + ticks, NANOS_PER_DAY))


def multiply(duration: Any, factor: int | float) -> Any:
    """``duration * factor``.

    Raises:
        CypherArithmeticError: A part is too large.
    """
    months, days, seconds, nanos = floored(duration)
    if isinstance(factor, float):
        return approximate(months * factor, days * factor, seconds * factor, nanos * factor)
    parts = (months * factor, days * factor, seconds * factor, nanos * factor)
    if not all(SMALLEST <= part <= LARGEST for part in parts):
        raise CypherArithmeticError("long overflow: a part of a duration is too large")
    return make_duration(*parts)


def divide(duration: Any, divisor: float) -> Any:
    """``duration / divisor``.

    Raises:
        CypherArgumentError: A part is too large.
    """
    parts = [_quotient(float(part), float(divisor)) for part in floored(duration)]
    try:
        return approximate(*parts)
    except CypherArithmeticError as error:
        raise CypherArgumentError(error.message) from None


def _quotient(part: float, divisor: float) -> float:
    if divisor:
        return part / divisor
    return part * float("inf")
