"""Statistics of samples: mean, standard deviation, median, 95th percentile, geometric mean."""

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
    """Statistics of a sample; NaN if it is empty.

    Args:
        count: Number of values.
        mean: Mean of the values.
        deviation: Standard deviation of the sample (n - 1), 0 for one value.
        median: Median of the values.
        percentile_95: 95th percentile.
        least: The minimum.
        largest: The maximum.
    """

    count: int
    mean: float
    deviation: float
    median: float
    percentile_95: float
    least: float
    largest: float


def figures_of(values: Sequence[float]) -> Figures:
    """The statistics of a sample."""
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
    """The percentile by linear interpolation between adjacent values; NaN if there are none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product of positive values; NaN if there are none."""
    if not values:
        return math.nan
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def break_even(once: float, before: float, after: float) -> float:
    """The number of queries after which a one-time cost is paid off; infinite if never.

    Args:
        once: The one-time cost in seconds.
        before: Mean seconds per query without it.
        after: Mean seconds per query with it.
    """
    if math.isnan(before) or math.isnan(after):
        return math.nan
    return math.ceil(once / (before - after)) if before > after else math.inf
