"""Temporal functions: constructors, truncation, clocks and durations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, CypherTypeError
from gpugda.expressions.checks import not_callable, string
from gpugda.expressions.functions.registry import Function, signature
from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.expressions.temporal import between, durations
from gpugda.expressions.temporal.building import Clock, converted, from_fields
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND
from gpugda.expressions.temporal.moments import at_instant, moment_of, value_of_moment
from gpugda.expressions.temporal.parsing import KINDS, parse_moment
from gpugda.expressions.temporal.truncation import truncate
from gpugda.expressions.temporal.zones import parse_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.expressions.context import Context

__all__ = ["FUNCTIONS"]

_CLOCKS = ("transaction", "statement", "realtime")


def _clock(context: Context, name: str = "statement") -> Clock:
    return Clock(context.instant(name), parse_zone(context.zone))


def _now(kind: str, clock: Clock) -> Any:
    return value_of_moment(converted(kind, at_instant(clock.instant, clock.zone), clock))


# ------------------------------------------------------------------ constructors
def _constructor(kind: str) -> Callable[..., Any]:
    def construct(context: Context, given: Any = ...) -> Any:
        clock = _clock(context)
        if given is ...:
            return _now(kind, clock)
        given_kind = kind_of_value(given)
        if given_kind == "string":
            return value_of_moment(parse_moment(kind, given, clock.zone))
        if given_kind == "map":
            return value_of_moment(from_fields(kind, given, clock))
        if given_kind in TEMPORAL:
            return value_of_moment(converted(kind, moment_of(given), clock))
        raise not_callable(f"{kind}()", given)

    return construct


def _reader(kind: str, clock_name: str) -> Callable[..., Any]:
    def read(context: Context, zone: Any = ...) -> Any:
        clock = _clock(context, clock_name)
        if zone is not ...:
            clock = Clock(clock.instant, parse_zone(string(f"{kind}.{clock_name}()", zone)))
        return _now(kind, clock)

    return read


def _truncation(kind: str) -> Callable[..., Any]:
    name = f"{kind}.truncate()"

    def evaluate(context: Context, unit: Any, given: Any = ..., fields: Any = None) -> Any:
        clock = _clock(context)
        if given is ...:
            given = _now("datetime", clock)
        if unit is None or kind_of_value(given) not in TEMPORAL:
            raise not_callable(name, given)
        if fields is not None and kind_of_value(fields) != "map":
            raise CypherTypeError(f"the fields of {name} must be a map")
        return value_of_moment(truncate(kind, string(name, unit), moment_of(given), fields, clock))

    return evaluate


def _family(kind: str) -> tuple[Function, ...]:
    readers = (
        Function(
            f"{kind}.{clock}",
            signature(f"string -> {kind}", 1),
            _reader(kind, clock),
            deterministic=clock != "realtime",
            contextual=True,
        )
        for clock in _CLOCKS
    )
    return (
        Function(kind, signature(f"any -> {kind}", 1), _constructor(kind), contextual=True),
        Function(
            f"{kind}.truncate",
            signature(f"string, any, map -> {kind}", 2),
            _truncation(kind),
            null_in_null_out=False,
            contextual=True,
        ),
        *readers,
    )


# ------------------------------------------------------------------ epochs
def _whole(name: str, given: Any) -> int:
    if given is None or isinstance(given, float):
        raise not_callable(name, given)
    if kind_of_value(given) != "integer":
        raise CypherTypeError(f"{name} takes an integer, not {given!r}")
    return int(given)


def _from_epoch(seconds: Any, nanos: Any) -> Any:
    whole, rest = (_whole("datetime.fromepoch()", given) for given in (seconds, nanos))
    if not 0 <= rest < NANOS_PER_SECOND:
        raise CypherArgumentError(f"nanoseconds must be 0 to 999999999, not {rest}")
    return value_of_moment(at_instant(whole * NANOS_PER_SECOND + rest, 0))


def _from_epoch_millis(millis: Any) -> Any:
    return value_of_moment(at_instant(_whole("datetime.fromepochmillis()", millis) * 10**6, 0))


# ------------------------------------------------------------------ durations
def _duration(given: Any) -> Any:
    kind = kind_of_value(given)
    if kind == "string":
        return durations.from_text(given)
    if kind == "map":
        return durations.from_map(given)
    raise not_callable("duration()", given)


def _between(name: str, evaluate: Callable[[Any, Any], Any]) -> Function:
    def evaluated(start: Any, end: Any) -> Any:
        for given in (start, end):
            if kind_of_value(given) not in TEMPORAL:
                raise not_callable(f"{name}()", given)
        return evaluate(start, end)

    return Function(name, signature("any, any -> duration"), evaluated)


FUNCTIONS: tuple[Function, ...] = (
    *(function for kind in KINDS for function in _family(kind)),
    Function(
        "datetime.fromepoch",
        signature("number, number -> datetime"),
        _from_epoch,
        null_in_null_out=False,
    ),
    Function(
        "datetime.fromepochmillis",
        signature("number -> datetime"),
        _from_epoch_millis,
        null_in_null_out=False,
    ),
    Function("duration", signature("any -> duration"), _duration),
    _between("duration.between", between.between),
    _between("duration.inMonths", between.in_months),
    _between("duration.inDays", between.in_days),
    _between("duration.inSeconds", between.in_seconds),
    Function(
        "timestamp",
        signature("-> integer"),
        lambda context: context.instant("statement") // 10**6,
        contextual=True,
    ),
)
