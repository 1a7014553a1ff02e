"""Figures of samples: mean and standard deviation, median and 95th percentile, geometric mean."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Figures", "break_even", "figures_of", "geometric_mean", "percentile"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a sample; NaN where it is empty.

    Args:
        count: Values.
        mean: Their mean.
        deviation: Standard deviation of the sample (n - 1), 0 for one value.
        median: Their median.
        percentile_95: 95 of 100 are not above it.
        least: The smallest.
        largest: The largest.
    """

    count: int
    mean: float
    deviation: float
    median: float
    percentile_95: float
    least: float
    largest: float


def figures_of(values: Sequence[float]) -> Figures:
    """The figures of a sample."""
    if not values:
        return Figures(0, *[math.nan] * 6)
    return Figures(
        len(values),
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else 0.0,
        statistics.median(values),
        percentile(values, 95),
        min(values),
        max(values),
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """Between the two values next to the place, linearly; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; NaN of nothing. Values are above zero."""
    if not values:
        return math.nan
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def break_even(once: float, before: float, after: float) -> float:
    """After how many queries something that costs once has paid; infinite if never.

    Args:
        once: Seconds, once.
        before: Mean seconds a query without it.
        after: Mean seconds a query with it.
    """
    if math.isnan(before) or math.isnan(after):
        return math.nan
    return math.ceil(once / (before - after)) if before > after else math.inf
