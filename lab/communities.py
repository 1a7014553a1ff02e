"""Draws simple graphs with communities, as a plan says (`community_plan`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.threads import in_threads, in_threads_ahead
from lab.community_plan import plan_communities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from lab.community_plan import CommunityPlan, SocialShape

    Ends = tuple[NDArray[np.uint32], NDArray[np.uint32]]
    Pairs = NDArray[np.uint64]
    Draw = Callable[[np.random.Generator], Pairs]

__all__ = ["draw_communities"]

_PIECE = 1 << 20
"""Pairs drawn at a time by one thread, if there are not more than a few hundred pieces."""
_MAX_PIECES = 1 << 9
_BLOCK = 1 << 16
"""Pairs drawn at a time in a piece: the arrays stay in the caches."""
_SPREAD = np.uint64(0x9E3779B1)
"""A prime beyond all numbers of nodes: multiplied by it, ranks become scattered node numbers."""
_MORE_DRAWN, _DEVIATIONS = 0.002, 4.0
"""More than the expected number is drawn, by this share and standard deviations; the rest is
dropped at random."""


def draw_communities(rng: np.random.Generator, shape: SocialShape, scale: float) -> Iterator[Ends]:
    """Yields the two ends of each relationship, at most one between two nodes, in parts.

    There are ``scale * shape.relationships``, rarely fewer. Takes about 17 bytes of memory per
    relationship at most. The result does not depend on the number of threads.
    """
    plan = plan_communities(shape, scale)
    count = max(16, round(scale * shape.relationships))
    piece = max(_PIECE, count // _MAX_PIECES)
    draws = [*_outside(plan, count, piece), *_inside(plan, piece)]
    rngs = rng.spawn(len(draws))
    drawn = in_threads(lambda at: draws[at](rngs[at]), range(len(draws)))
    parts = _distinct(drawn)
    dropped = _shares(parts, count)
    rngs = rng.spawn(len(parts))
    nodes = np.uint64(plan.firsts[-1])

    def ends(at: int) -> Ends:
        pairs, parts[at] = parts[at], parts[at][:0]
        pairs = np.delete(pairs, rngs[at].choice(len(pairs), dropped[at], replace=False))
        starts = pairs // nodes
        return starts.astype(np.uint32), (pairs - starts * nodes).astype(np.uint32)

    yield from in_threads_ahead(ends, range(len(parts)))


def _numbered(ones: Pairs, others: Pairs, nodes: int) -> Pairs:
    """Sorted numbers of pairs of ranks that differ: the lower node's number comes first."""
    size = np.uint64(nodes)
    some, more = ones * _SPREAD % size, others * _SPREAD % size
    kept = some != more
    pairs: Pairs = (np.minimum(some, more) * size + np.maximum(some, more))[kept]
    return pairs


# ------------------------------------------------------------------ outside of communities
def _outside(plan: CommunityPlan, count: int, piece: int) -> Iterator[Draw]:
    more = _MORE_DRAWN + _DEVIATIONS / count**0.5
    left = round(plan.drawn + more * count)
    table = _AliasTable(plan)
    while left > 0:
        yield partial(_draw_outside, table, min(left, piece))
        left -= piece


def _draw_outside(table: _AliasTable, count: int, rng: np.random.Generator) -> Pairs:
    found = []
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        ones, others = (table.draw(rng.bit_generator.random_raw(size)) for _ in range(2))
        found.append(_numbered(ones, others, table.nodes))
    pairs = np.concatenate(found)
    pairs.sort()
    return pairs


class _AliasTable:
    """Draws ranks in proportion to their weights (Walker, 1977; classes of equal weight)."""

    def __init__(self, plan: CommunityPlan) -> None:
        self.nodes = int(plan.firsts[-1])
        shares = plan.weights * plan.counts
        self._bits = max(1, (len(shares) - 1).bit_length())
        slots = 1 << self._bits
        left = np.zeros(slots)
        left[: len(shares)] = shares * (slots / shares.sum())
        self._others = np.arange(slots, dtype=np.uint8 if slots <= 256 else np.uint16)
        limits = np.ones(slots)
        low, high = (list(np.flatnonzero(each)) for each in (left < 1, left >= 1))
        while low and high:
            one, other = low.pop(), high[-1]
            limits[one], self._others[one] = left[one], other
            left[other] -= 1 - left[one]
            if left[other] < 1:
                low.append(high.pop())
        if low and not high and left[low].min() < 0.5:
            limits[low] = left[low]
        within = 32 - self._bits
        self._limits = np.minimum(limits * (1 << within), (1 << within) - 1).astype(np.uint32)
        firsts = np.zeros((2, slots), np.uint64)
        firsts[0, : len(shares)] = plan.firsts[:-1]
        firsts[1, : len(shares)] = plan.counts
        self._firsts, self._counts = firsts

    def draw(self, raw: NDArray[np.uint64]) -> Pairs:
        """Ranks from 64 random bits each."""
        high = (raw >> np.uint64(32)).astype(np.uint32)
        within = np.uint32(32 - self._bits)
        slots = high >> within
        is_other = (high & ((np.uint32(1) << within) - np.uint32(1))) >= self._limits[slots]
        kinds = np.where(is_other, self._others[slots], slots)
        among = (raw & np.uint64(0xFFFFFFFF)) * self._counts[kinds] >> np.uint64(32)
        found: Pairs = self._firsts[kinds] + among
        return found


# ------------------------------------------------------------------ within communities
def _inside(plan: CommunityPlan, piece: int) -> Iterator[Draw]:
    nodes = int(plan.firsts[-1])
    for first, count, size in zip(plan.firsts[:-1], plan.counts, plan.sizes, strict=True):
        if not size:
            continue
        whole, rest = divmod(int(count), int(size))
        together = max(1, 2 * piece // int(size) ** 2)
        for at in range(0, whole, together):
            begin, some = int(first + at * size), min(together, whole - at)
            yield partial(_draw_inside, nodes, begin, some, int(size), plan.joined)
        if rest > 1:
            yield partial(_draw_inside, nodes, int(first + whole * size), 1, rest, plan.joined)


def _draw_inside(
    nodes: int, first: int, communities: int, size: int, joined: float, rng: np.random.Generator
) -> Pairs:
    """Pairs of nodes of successive communities of one size."""
    ones, others = (each.astype(np.uint64) for each in np.triu_indices(size, 1))
    limit, found = round(joined * 0x10000), []
    together = max(1, _BLOCK // len(ones))
    for at in range(0, communities, together):
        some = min(together, communities - at)
        raw = rng.bit_generator.random_raw(-(-some * len(ones) // 4)).view(np.uint16)
        chosen = raw[: some * len(ones)].reshape(some, len(ones)) < limit
        which, pair = np.nonzero(chosen)
        base = which.astype(np.uint64) * np.uint64(size) + np.uint64(first + at * size)
        found.append(_numbered(base + ones[pair], base + others[pair], nodes))
    pairs = np.concatenate(found)
    pairs.sort()
    return pairs


# ------------------------------------------------------------------ all of them
def _distinct(parts: list[Pairs]) -> list[Pairs]:
    """The distinct numbers of all parts, each of which is sorted; by range of numbers.

    The given list is emptied.
    """
    # Borders are quantiles of a sample, so that the ranges take the threads as long.
    sample = np.sort(np.concatenate([each[:: 1 + len(each) // 1024] for each in parts]))
    borders = unique_values(sample[:: 1 + len(sample) // len(parts)])[1:]
    places = [[0, *np.searchsorted(each, borders).tolist(), len(each)] for each in parts]

    def distinct(number: int) -> Pairs:
        some = [each[at[number] : at[number + 1]] for each, at in zip(parts, places, strict=True)]
        return unique_values(np.concatenate(some))

    found = in_threads(distinct, range(len(borders) + 1))
    parts.clear()
    return found


def _shares(parts: Sequence[Pairs], count: int) -> list[int]:
    """How many numbers to drop of each part, so that ``count`` are left."""
    lengths = np.array([len(each) for each in parts])
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    left = np.diff((ends * (min(count, total) / max(1, total))).astype(np.int64), prepend=0)
    dropped: list[int] = (lengths - left).tolist()
    return dropped
