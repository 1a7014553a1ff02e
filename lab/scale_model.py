"""A model of seconds on many places: work / places + upload + exchange, as `scale_table` found.

Degrees are those of R-MAT: a node of a graph of 2**levels nodes whose number has k bits set has
``(a + b)**(levels - k) * (c + d)**k`` of the relationships, and there are ``levels over k`` such
nodes. So a graph of 10**12 relationships is a list of 37 classes, and only its hubs are drawn.
Seeds are divided as `Exchange` does it: into consecutive runs with equal sums of degrees, which are
handed to places one after another. A seed's work grows with a power of its degree, which `Exchange`
does not know.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from math import comb, log2
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.match.exchange import ExchangeLimits
from lab.scale_table import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Balance", "Costs", "Degrees", "balance", "fitted", "loaded_lines", "model_table"]

_LOWER: Final = 0.76
"""R-MAT's a + b: the share of the relationships of the half of the nodes with more of them."""
_DEGREE: Final = 16
_HUB: Final = 1 / 64
"""Share of a task from which a seed is drawn by itself; all others are one density."""
_MOST_HUBS: Final = 2_000_000
_SECONDS_EACH: Final = 1e-9
"""Seconds of a place per relationship and power of work 1; a hundredth of a GPU's bandwidth."""
_BYTES_EACH: Final = 20
"""Bytes of a relationship on a device, both directions."""
_BYTES_PER_SECOND: Final = 10e9
"""Of a copy to a place: PCIe, or a network of 100 Gbit/s."""


class Degrees(NamedTuple):
    """Classes of nodes of equal degree, the largest first.

    Args:
        degrees: Degree of each class.
        counts: Number of its nodes.
    """

    degrees: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def of_rmat(cls, relationships: float) -> Degrees:
        """Expected degrees of a graph with so many relationships."""
        levels = max(1, round(log2(relationships / _DEGREE)))
        bits = range(levels + 1)
        shares = [_LOWER ** (levels - k) * (1 - _LOWER) ** k for k in bits]
        counts = [float(comb(levels, k)) for k in bits]
        return cls(2 * relationships * np.array(shares), np.array(counts))

    def work(self, power: float) -> float:
        """Work of all nodes."""
        return float((self.counts * self.degrees**power).sum())


class Balance(NamedTuple):
    """How seeds divide among places.

    Args:
        tasks: Number of tasks.
        longest: Work of the place with most, as a multiple of the mean.
        largest: Work of the largest task, as a multiple of the mean place's.
    """

    tasks: int
    longest: float
    largest: float


def balance(
    degrees: Degrees, places: int, power: float, seed: int = 1, parts: int | None = None
) -> Balance:
    """Divides seeds as `Exchange` does, and hands the tasks to places.

    Args:
        degrees: Degrees of the seeds.
        places: Number of places.
        power: Of the degree, which is a seed's work.
        seed: Of the order of the seeds.
        parts: Tasks per place; None for those of a long pattern.
    """
    count = places * (ExchangeLimits().parts if parts is None else parts)
    works = _works(degrees, count, power, np.random.default_rng(seed))
    busy = [0.0] * places
    for work in works:
        heapq.heapreplace(busy, busy[0] + float(work))
    mean = float(works.sum()) / places
    return Balance(len(works), max(busy) / mean, float(works.max()) / mean)


def _works(
    degrees: Degrees, count: int, power: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Work of each task, in the order of its seeds."""
    expected = degrees.degrees + 1
    total = float((expected * degrees.counts).sum())
    is_hub = (expected >= total / count * _HUB) & (np.cumsum(degrees.counts) <= _MOST_HUBS)
    hubs = np.repeat(expected[is_hub], degrees.counts[is_hub].astype(np.int64))
    hubs = rng.permutation(hubs)
    others = float((expected * degrees.counts)[~is_hub].sum())
    work_of_others = float((degrees.counts * degrees.degrees**power)[~is_hub].sum())
    # Positions of hubs among the others, and the sum of all before and with each.
    at = np.sort(rng.random(len(hubs)))
    ends = at * others + np.cumsum(hubs)
    cuts = total * np.arange(1, count) / count
    before = np.searchsorted(ends, cuts)
    summed = np.concatenate([[0.0], np.cumsum(hubs)])
    # A cut within a hub is moved before it: a seed is in one task.
    others_before = np.minimum(cuts - summed[before], _at(at, before) * others)
    edges = np.concatenate([[0.0], np.maximum.accumulate(others_before), [others]])
    hub_edges = np.concatenate([[0], before, [len(hubs)]])
    hub_work = np.concatenate([[0.0], np.cumsum((hubs - 1) ** power)])
    work = np.diff(hub_work[hub_edges]) + np.diff(edges) * (work_of_others / max(others, 1.0))
    found: NDArray[np.float64] = work[work > 0]
    return found


def _at(at: NDArray[np.float64], before: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.append(at, 1.0)[before]


# ------------------------------------------------------------------ the fit
@dataclass(frozen=True, slots=True)
class Costs:
    """What a run costs beside the work of the longest place.

    Args:
        fixed: Seconds of a query.
        task: Seconds of a task, of each place's tasks.
        byte: Seconds of a byte of answers.
    """

    fixed: float = 0.0
    task: float = 0.005
    byte: float = 1e-9

    def seconds(self, longest: float, tasks: int, places: int, moved: float) -> float:
        """Seconds of a query whose longest place takes ``longest``."""
        return longest + self.fixed + self.task * tasks / places + self.byte * moved


def loaded_lines(path: Path) -> list[Line]:
    """The lines that `scale_table` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [Line(**{**each, "places": tuple(each["places"])}) for each in content["lines"]]


def fitted(lines: Sequence[Line]) -> Costs:
    """The costs that explain best, with least squares, what divided runs took beside their work.

    Costs that would be negative are zero.
    """
    divided = [each for each in lines if each.tasks]
    if not divided:
        return Costs()
    rest = np.array([each.seconds - max(each.places) for each in divided])
    facts = np.array([[1.0, each.tasks / each.devices, each.moved] for each in divided])
    used = [0, 1, 2]
    while used:
        found, *_ = np.linalg.lstsq(facts[:, used], rest, rcond=None)
        if (found >= 0).all():
            break
        del used[int(np.argmin(found))]
    costs = [0.0, 0.0, 0.0]
    for place, value in zip(used, found if used else (), strict=True):
        costs[place] = float(value)
    return Costs(*costs)


# ------------------------------------------------------------------ the table
def model_table(costs: Costs, power: float, sizes: Sequence[float], places: Sequence[int]) -> str:
    """Seconds by number of relationships and of places, in Markdown."""
    return "\n".join([*_lines(costs, power, sizes, places), ""])


def _lines(
    costs: Costs, power: float, sizes: Sequence[float], places: Sequence[int]
) -> Iterator[str]:
    yield (
        "| relationships | places | seconds | times as fast | longest ÷ mean place | "
        "largest task ÷ mean place | upload |"
    )
    yield "|---|---|---|---|---|---|---|"
    for size in sizes:
        degrees = Degrees.of_rmat(size)
        work = degrees.work(power) * _SECONDS_EACH
        upload = size * _BYTES_EACH / _BYTES_PER_SECOND
        for count in places:
            found = balance(degrees, count, power)
            longest = found.longest * work / count
            seconds = costs.seconds(longest, found.tasks, count, 8.0 * found.tasks)
            yield (
                f"| {size:.0e} | {count:,} | {seconds:,.3g} | {work / seconds:,.3g} | "
                f"{found.longest:.2f} | {found.largest:.2f} | {upload:.3g} s |"
            )
