"""Figures over many measured queries."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpugda.bench.measure import Measured

__all__ = ["Group", "Spread", "break_even", "geometric_mean", "grouped", "regret", "spread"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Of some numbers: how many, mean, standard deviation (0 for one), median, 95th percentile."""

    count: int
    mean: float
    deviation: float
    median: float
    percentile_95: float


@dataclass(frozen=True, slots=True)
class Group:
    """Queries of one graph, density and number of nodes."""

    graph: str
    density: str
    nodes: int
    measured: tuple[Measured, ...]


def spread(numbers: Iterable[float | None]) -> Spread | None:
    """Of those that are there; None if none is."""
    some = sorted(number for number in numbers if number is not None)
    if not some:
        return None
    deviation = statistics.stdev(some) if len(some) > 1 else 0.0
    place = max(0, math.ceil(0.95 * len(some)) - 1)
    return Spread(
        len(some), statistics.fmean(some), deviation, statistics.median(some), some[place]
    )


def geometric_mean(numbers: Iterable[float | None]) -> float | None:
    """Of those that are there and above 0; None if none is."""
    some = [number for number in numbers if number is not None and number > 0]
    return statistics.geometric_mean(some) if some else None


def grouped(measured: Sequence[Measured]) -> list[Group]:
    """By graph, density and number of nodes, in this order."""
    groups: dict[tuple[str, str, int], list[Measured]] = {}
    for each in measured:
        case = each.case
        groups.setdefault((case.graph, case.density, case.nodes), []).append(each)
    return [Group(*key, tuple(found)) for key, found in sorted(groups.items())]


def regret(measured: Sequence[Measured]) -> float | None:
    """Time that ``auto`` took, divided by that of the better engine in hindsight."""
    taken = best = 0.0
    for each in measured:
        times = [t for t in (each.device_again, each.native_again) if t is not None]
        if each.auto_again is not None and times:
            taken += each.auto_again
            best += min(times)
    return taken / best if best else None


def break_even(measured: Sequence[Measured], load_seconds: float) -> float | None:
    """After how many new queries reading the snapshot has paid; None if never."""
    gains = [
        each.native_new - each.device_new
        for each in measured
        if each.native_new is not None and each.device_new is not None
    ]
    gain = statistics.fmean(gains) if gains else 0.0
    return load_seconds / gain if gain > 0 else None
