"""Random relationships of graphs for comparisons: R-MAT, meshes, and kinds by a power law."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Ends = tuple[NDArray[np.uint32], NDArray[np.uint32]]
    Pairs = NDArray[np.int64]

T = TypeVar("T")

__all__ = ["draw_kinds", "draw_mesh", "draw_rmat", "quadrants_for"]

_PIECE = 1 << 20
"""Number drawn at a time by one thread."""
_BATCH = 1 << 5
"""Pieces in memory at once, where not all are needed."""
_BLOCK = 1 << 16
"""Number drawn at a time in a piece: the arrays stay in the caches."""
_SPREAD = np.uint64(0x9E3779B1)
"""Low numbers are hubs: multiplied by this, they and those beyond the last are distributed."""


def quadrants_for(nodes: int, count: int, largest: int) -> tuple[float, float, float]:
    """R-MAT's a, b and c for which the lowest node has ``largest`` relationships.

    It is the start of ``count * (a + b) ** levels`` of them, and as often the end, as b = c. The
    bits of both ends are independent, which gives about the usual 0.57, 0.19, 0.19 for a + b = 0.76
    and 0.45, 0.22, 0.22 for 0.67.

    Example:
        >>> [round(each, 2) for each in quadrants_for(1 << 20, 1 << 24, 106_000)]
        [0.56, 0.19, 0.19]
    """
    lower = (largest / (2 * count)) ** (1 / (nodes - 1).bit_length())
    return lower**2, lower * (1 - lower), lower * (1 - lower)


def draw_rmat(
    rng: np.random.Generator, nodes: int, count: int, quadrants: tuple[float, float, float]
) -> Iterator[Ends]:
    """Yields sources and targets by R-MAT, in parts; no loops.

    Any number of nodes is possible, not only powers of two.
    """

    def draw(rng: np.random.Generator, count: int) -> Ends:
        starts, ends = _rmat_piece(rng, nodes, count, quadrants)
        return starts.astype(np.uint32), ends.astype(np.uint32)

    for pieces in _in_batches(rng, count, draw):
        yield _joined(pieces)


def _joined(pieces: Sequence[Ends]) -> Ends:
    starts, ends = zip(*pieces, strict=True)
    return np.concatenate(starts), np.concatenate(ends)


def _rmat_piece(
    rng: np.random.Generator, nodes: int, count: int, quadrants: tuple[float, float, float]
) -> tuple[Pairs, Pairs]:
    levels = (nodes - 1).bit_length()
    padding = -levels % 8
    # 16 random bits per level choose the quadrant.
    one, two, three = (round(each * 0x10000) for each in np.cumsum(quadrants))
    found = []
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        raw = rng.bit_generator.random_raw(-(-levels * size // 4)).view(np.uint16)
        drawn = raw[: levels * size].reshape(levels, size)
        # Few calls for all levels: with many, threads would wait for the interpreter's lock.
        bits = np.zeros((2, padding + levels, size), np.bool_)
        lower, right = bits[:, padding:]
        np.greater_equal(drawn, two, out=lower)
        np.not_equal(drawn >= one, drawn >= three, out=right)
        right ^= lower
        starts, ends = (_numbers(each) * _SPREAD % np.uint64(nodes) for each in bits)
        kept = starts != ends
        found.append((starts[kept].view(np.int64), ends[kept].view(np.int64)))
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _numbers(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Numbers from their bits, the highest first; there are a multiple of eight."""
    shifts = np.arange(7, -1, -1, dtype=np.uint8)[:, np.newaxis]
    found = np.zeros(bits.shape[1], np.uint64)
    for some in bits.view(np.uint8).reshape(-1, 8, bits.shape[1]):
        found <<= np.uint64(8)
        found |= np.bitwise_or.reduce(some << shifts, axis=0)
    return found


def _in_batches(
    rng: np.random.Generator, count: int, draw: Callable[[np.random.Generator, int], T]
) -> Iterator[list[T]]:
    """Draws in pieces on all processors; the result does not depend on their number."""
    if count <= _PIECE:
        yield [draw(rng, count)]
        return
    sizes = [min(_PIECE, count - first) for first in range(0, count, _PIECE)]
    each_rng = rng.spawn(len(sizes))
    with ThreadPoolExecutor() as pool:
        for first in range(0, len(sizes), _BATCH):
            some = slice(first, first + _BATCH)
            yield list(pool.map(draw, each_rng[some], sizes[some]))


def draw_mesh(rng: np.random.Generator, nodes: int, count: int) -> Iterator[Ends]:
    """Yields relationships between neighbours in a square grid, ``count`` of them."""
    side = max(2, int(nodes**0.5))
    at = np.arange(nodes, dtype=np.int64)
    right, below = at[at % side < side - 1], at[: max(nodes - side, 0)]
    starts = np.concatenate([right, below])
    ends = np.concatenate([right + 1, below + side])
    kept = rng.permutation(len(starts))[:count]
    kept = kept[ends[kept] < nodes]
    yield starts[kept].astype(np.uint32), ends[kept].astype(np.uint32)


def draw_kinds(rng: np.random.Generator, kinds: int, count: int) -> NDArray[np.int32]:
    """Random kinds whose frequency depends on their rank."""
    if kinds == 1:
        return np.zeros(count, np.int32)
    shares = 1 / np.arange(1, kinds + 1)
    shares /= shares.sum()

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.int32]:
        return rng.choice(kinds, size=count, p=shares).astype(np.int32)

    return np.concatenate([each for some in _in_batches(rng, count, draw) for each in some])
