"""Random draws for the generated graph: weights, skewed ranks, neighbours, values of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indexes = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Lists", "Order", "drawn", "popularity", "skewed"]


class Order:
    """Persons in an order in which persons with something in common are close to each other."""

    def __init__(self, activity: Floats, order: Indexes) -> None:
        self.order = order
        self.last = np.cumsum(activity[order])
        self.place = np.empty(len(order), np.int64)
        self.place[order] = np.arange(len(order))

    def near(self, rng: np.random.Generator, whom: Indexes, far: float | Floats) -> Indexes:
        """Draws a person near each given one; active ones more often; the order is circular."""
        total = self.last[-1]
        at = self.last[self.place[whom]] + rng.laplace(0.0, 1.0, len(whom)) * far
        found = np.searchsorted(self.last, at % total)
        person: Indexes = self.order[np.minimum(found, len(self.order) - 1)]
        return person


class Lists:
    """Values by owner, to draw from at random."""

    def __init__(self, owner: Indexes, values: Indexes, owners: int) -> None:
        self.values = values[np.argsort(owner, kind="stable")]
        self.sizes = np.bincount(owner, minlength=owners)
        self.first = np.cumsum(self.sizes) - self.sizes

    def any_of(self, rng: np.random.Generator, owners: Indexes) -> Indexes:
        """Draws one of each owner's values; -1 if it has none."""
        size = self.sizes[owners]
        if not len(self.values):
            return np.full(len(owners), -1, np.int64)
        at = self.first[owners] + (rng.random(len(owners)) * size).astype(np.int64)
        return np.where(size > 0, self.values[np.minimum(at, len(self.values) - 1)], -1)


def popularity(rng: np.random.Generator, count: int, deviation: float) -> Floats:
    """Log-normal weights with mean 1."""
    return rng.lognormal(-deviation * deviation / 2, deviation, count)


def drawn(rng: np.random.Generator, weights: NDArray[Any], count: int) -> Indexes:
    """Draws indexes with the given weights, with replacement."""
    last = np.cumsum(weights)
    found = np.searchsorted(last, rng.random(count) * last[-1], side="right")
    place: Indexes = np.minimum(found, len(weights) - 1)
    return place


def skewed(rng: np.random.Generator, size: int, count: int, exponent: float) -> Indexes:
    """Draws indexes whose frequency falls with a power of their rank."""
    return drawn(rng, np.arange(1.0, size + 1) ** -exponent, count)
