"""Aggregates, each defined by a start, a step per value and a finish."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError
from gpugda.expressions.checks import number, type_error
from gpugda.expressions.functions.registry import Aggregate, signature
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import LARGEST, SMALLEST
from gpugda.expressions.temporal import arithmetic
from gpugda.expressions.temporal.calendar import SECONDS_PER_DAY
from gpugda.expressions.temporal.durations import approximate, floored, make_duration
from gpugda.values import order_key

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AGGREGATES"]


# ------------------------------------------------------------------ count, collect, min, max
def _append(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _extreme(name: str, *, largest: bool) -> Aggregate:
    def step(best: Any, item: Any) -> Any:
        if best is None:
            return item
        key, best_key = order_key(item), order_key(best)
        return item if (key > best_key if largest else key < best_key) else best

    return Aggregate(name, signature("any -> any"), lambda: None, step, lambda best: best)


# ------------------------------------------------------------------ sum and avg
def _summed(total: Any, item: Any) -> Any:
    kind = kind_of_value(item)
    if kind == "duration" and (total == 0 or kind_of_value(total) == "duration"):
        return item if not isinstance(total, tuple) else arithmetic.add(total, item)
    if kind not in ("integer", "float") or isinstance(total, tuple):
        raise type_error("sum()", "only numbers or only durations", item)
    if kind == "integer" and isinstance(total, int) and SMALLEST <= total + item <= LARGEST:
        return total + item
    # An integer sum that exceeds 64 bits continues as a float.
    return float(total) + float(item)


@dataclass(slots=True)
class _Mean:
    """A running mean, with one part for numbers and four for durations."""

    count: int = 0
    parts: list[float] = field(default_factory=list)


def _averaged(mean: _Mean, item: Any) -> _Mean:
    kind = kind_of_value(item)
    if kind == "duration":
        parts = [float(part) for part in floored(item)]
    else:
        parts = [float(number("avg()", item))]
    if mean.parts and len(mean.parts) != len(parts):
        raise type_error("avg()", "only numbers or only durations", item)
    mean.count += 1
    before = mean.parts or [0.0] * len(parts)
    mean.parts = [_moved(a, b, mean.count) for a, b in zip(before, parts, strict=True)]
    return mean


def _moved(mean: float, item: float, count: int) -> float:
    """Updates the mean with an item; an infinite mean remains unless it meets its opposite."""
    if math.isinf(mean) and math.isfinite(item):
        return mean
    moved = mean + (item - mean) / count
    if math.isnan(moved) and mean == item:
        return mean
    return moved


def _mean_of(mean: _Mean) -> Any:
    if not mean.count:
        return None
    if len(mean.parts) == 1:
        return mean.parts[0]
    months, days, seconds, nanos = floored(approximate(*mean.parts))
    whole = abs(seconds) // SECONDS_PER_DAY * (1 if seconds >= 0 else -1)
    return make_duration(months, days + whole, seconds - whole * SECONDS_PER_DAY, nanos)


# ------------------------------------------------------------------ standard deviation
@dataclass(slots=True)
class _Spread:
    """Running mean and sum of squared deviations, by Welford's method."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0


def _deviation(name: str, less: int) -> Aggregate:
    def step(state: _Spread, item: Any) -> _Spread:
        new = float(number(f"{name}()", item))
        state.count += 1
        mean = state.mean + (new - state.mean) / state.count
        state.squares += (new - state.mean) * (new - mean)
        state.mean = mean
        return state

    def finish(state: _Spread) -> float:
        return math.sqrt(state.squares / (state.count - less)) if state.count > 1 else 0.0

    return Aggregate(name, signature("float -> float"), _Spread, step, finish)


# ------------------------------------------------------------------ percentiles
@dataclass(slots=True)
class _Percentile:
    """Numbers and the requested percentile, which is checked once there is a number."""

    name: str
    percentile: Any
    items: list[Any] = field(default_factory=list)


def _percentile(name: str, evaluate: Callable[[list[Any], float], Any], result: str) -> Aggregate:
    def start(percentile: Any) -> _Percentile:
        return _Percentile(name, percentile)

    def finish(state: _Percentile) -> Any:
        if not state.items:
            return None
        return evaluate(sorted(state.items, key=order_key), state.percentile)

    types = signature(f"number, float -> {result}")
    return Aggregate(name, types, start, _number_kept, finish)


def _number_kept(state: _Percentile, item: Any) -> _Percentile:
    found = number(f"{state.name}()", item)
    if not state.items:
        state.percentile = _share(state)
    state.items.append(found)
    return state


def _share(state: _Percentile) -> float:
    share = float(number(f"{state.name}()", state.percentile))
    if not 0 <= share <= 1:
        raise CypherArgumentError(f"{state.name}() takes a percentile from 0 to 1, not {share}")
    return share


def _discrete(items: list[Any], share: float) -> Any:
    place = share * len(items)
    whole = int(place)
    return items[whole - 1 if whole and place == whole else whole]


def _continuous(items: list[Any], share: float) -> Any:
    place = share * (len(items) - 1)
    low = int(place)
    high = math.ceil(place)
    if low == high or len(items) == 1:
        return items[low]
    return float(items[low]) * (high - place) + float(items[high]) * (place - low)


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate(
        "count",
        signature("any -> integer"),
        lambda: 0,
        lambda total, _item: total + 1,
        lambda total: total,
    ),
    Aggregate("collect", signature("any -> list"), list, _append, lambda items: items),
    _extreme("min", largest=False),
    _extreme("max", largest=True),
    Aggregate(
        "sum", signature("number duration -> number duration"), lambda: 0, _summed, lambda t: t
    ),
    Aggregate("avg", signature("number duration -> float duration"), _Mean, _averaged, _mean_of),
    _deviation("stDev", 1),
    _deviation("stDevP", 0),
    _percentile("percentileCont", _continuous, "number"),
    _percentile("percentileDisc", _discrete, "number"),
)
